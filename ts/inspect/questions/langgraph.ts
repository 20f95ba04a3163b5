/** Reads the questions of LangGraph's threads. */

import { ANSWERS, type AnswerRecord } from "../../contracts/langgraph/answered.js";
import { answerThread } from "../../contracts/langgraph/answer.js";
import { questionsOf } from "../../contracts/langgraph/questions.js";
import type { Context } from "../context.js";
import { readFound } from "../detail.js";
import { saverOf } from "../status.js";
import { readValue } from "../values.js";
import type { Key, Row } from "../wire.js";
import type { Kept, Live, Source } from "./source.js";

export const langgraph: Source = {
  async live(context, { run, ns }): Promise<Live[]> {
    const questions = await questionsOf(saverOf(context), run);
    return questions
      .filter(({ levels }) => ns === "" || levels.some(({ found }) => found.header.namespace === ns))
      .map(({ id, node, value, answered }) => ({ id, node, value, answered }));
  },
  async kept(context: Context, _: Key, row: Row): Promise<Kept[]> {
    const found = await readFound(context, row);
    const records = (found?.writes ?? []).filter(({ part }) => part.name === ANSWERS.channel);
    return records.flatMap(({ part }) => {
      const { value, readable } = readValue(context, part);
      if (!readable || typeof value !== "object" || value === null) return [];
      const { id, node, question, value: answer, by, at } = value as AnswerRecord;
      return [{ id, node, value: question, answered: { value: answer, by, at } }];
    });
  },
  answer: (context, native, { run }, id, answer) => answerThread(saverOf(context), native, run, id, answer),
};
