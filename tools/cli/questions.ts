/** Shows the questions of runs, and their stored answers. */

import { traitsOf } from "../../ts/contracts/registry.js";
import { safeJson, safeText } from "../../ts/bridge/json-form/json-text.js";
import { describe } from "./errors.js";
import type { Output } from "./output.js";
import { cut } from "./table.js";
import { localTime } from "./units.js";
import { excerpt } from "./value-text.js";
import type { Question } from "../../ts/inspect/questions/views.js";
import type { CheckpointInfo, RunRef } from "../../ts/plugin/views.js";
import type { Inspector } from "../../ts/inspect/inspector.js";

/** The maximum length of a question and of an answer on a line, in characters. */
const [LONGEST, ANSWER] = [200, 80];

/** Returns a question on one line: the tool with its arguments, the text, and the choices. */
export function questionLine(question: Question, { style, width }: Pick<Output, "style" | "width">): string {
  const { tool, text, choices, value } = question;
  const most = Math.min(LONGEST, width - 4);
  const asked =
    tool !== null
      ? style("green", cut(safeText(`${callText(question)} ${text.split("\n", 1)[0]!}`.trim()), most))
      : excerpt(text === "" ? value : text.split("\n", 1)[0]!, style, most);
  const listed = choices.length === 0 ? "" : ` ${style("dim", `[${cut(safeText(choices.join(", ")), ANSWER)}]`)}`;
  return asked + listed;
}

const callText = ({ tool, args }: Question): string => (args === null ? tool! : `${tool}(${JSON.stringify(args)})`);

/** Returns the author, the time and the value of an answer. */
export function answerLine(question: Question, output: Pick<Output, "style" | "width">): string {
  const { value, by, at, program } = question.answered!;
  const { style } = output;
  const who = program ? " by the program" : by === null ? "" : ` by ${style("bold", safeText(by))}`;
  return `${questionLine({ ...question, choices: [] }, output)} ${style("green", "✓")} ${excerpt(value, style, ANSWER)}${who}, ${localTime(at)}`;
}

/** The maximum number of checkpoints that are searched for answers. */
const SEARCHED = 200;

/** A stored answer of a checkpoint. */
export interface StepAnswer {
  step: number;
  question: Question;
}

/** Reads the stored answers of checkpoints, together with the checkpoints' values. */
export async function answersOf(
  inspector: Inspector,
  checkpoints: readonly CheckpointInfo[],
  signal: AbortSignal,
): Promise<StepAnswer[]> {
  const found: StepAnswer[] = [];
  if (traitsOf(checkpoints[0]?.space ?? "").answers !== true) return found;
  for (const { space, run, ns, id, step } of checkpoints.slice(-SEARCHED)) {
    signal.throwIfAborted();
    const questions = await readQuestions(inspector, { space, run, ns, id });
    for (const question of questions) if (question.answered !== null) found.push({ step, question });
  }
  return found;
}

/** Reads questions. Returns none for a damaged checkpoint. */
export async function readQuestions(inspector: Inspector, ref: RunRef & { id?: string }): Promise<Question[]> {
  try {
    return await inspector.questions(ref);
  } catch (error) {
    if (["CORRUPT", "UNSUPPORTED"].includes(describe(error).code)) return [];
    throw error;
  }
}

/** Returns the value of an answer as a text for a message. */
export const valueText = (value: unknown): string => cut(safeText(safeJson(value)), ANSWER);
