/** The questions of runs, for the page. Limits the size of answers for large questions. */

import { limitedJsonForm } from "../../ts/inspect/limit.js";
import { MAX_ANSWER, fitting } from "./answers.js";
import type { Query } from "./query.js";
import type { Inspector } from "../../ts/inspect/inspector.js";
import type { Question } from "../../ts/inspect/questions/views.js";

/** The maximum length of a question's text, and of its code, in characters. */
const [TEXT, CODE] = [8_000, 16_000];

const CHOICES = 50;

/** The limits of each value of a question. */
const VALUE = { depth: 8, items: 100, bytes: MAX_ANSWER / 16 };

const cut = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most).toWellFormed()}…` : text;

/** Cuts the text and the values of a question. Its id stays complete. Its code is complete or left out. */
export function shortQuestion(question: Question): Question {
  const { text, tool, choices, args, value, approve, reject, code, answered } = question;
  return {
    ...question,
    text: cut(text, TEXT),
    tool: tool === null ? null : cut(tool, TEXT),
    choices: choices.slice(0, CHOICES).map((choice) => cut(choice, TEXT)),
    args: args === null ? null : limitedJsonForm(args, VALUE),
    value: limitedJsonForm(value, VALUE),
    approve: limitedJsonForm(approve, VALUE),
    reject: limitedJsonForm(reject, VALUE),
    code: code.length > CODE ? "" : code,
    answered: answered && { ...answered, value: limitedJsonForm(answered.value, VALUE) },
  };
}

/** The questions of a run, or of one of its checkpoints. */
export async function questions(inspector: Inspector, query: Query): Promise<unknown> {
  const id = query.filter("id");
  const all = await inspector.questions({ ...query.run(), ...(id !== undefined && { id }) });
  const shown = fitting(all.map(shortQuestion), MAX_ANSWER);
  return { questions: shown, more: all.length - shown.length };
}
