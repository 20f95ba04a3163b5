/** Reads the questions of LangGraph's threads. */

import { ANSWERS, type AnswerRecord } from "../../contracts/langgraph/answered.js";
import { answerThread } from "../../contracts/langgraph/answer.js";
import { questionsOf } from "../../contracts/langgraph/questions.js";
import { type Found, langgraph as langgraphCalls, openFound } from "../../contracts/langgraph/wire.js";
import type { Context } from "../context.js";
import { readFound } from "../detail.js";
import { saverOf } from "../status.js";
import { readValue } from "../values.js";
import type { Key, Row } from "../wire.js";
import type { Kept, Live, Source } from "./source.js";

/** False if the checkpoint was made by an edit or by an input: then no task has used the answers before it. */
async function isOfStep(context: Context, { run, ns }: Key, id: string): Promise<boolean> {
  const { native } = context.engine;
  const found: Found | null = await langgraphCalls.find(native, "get", { threadId: run, namespace: ns, id }, openFound);
  if (found === null) return true;
  const { value } = readValue(context, found.header.metadata);
  return (value as { source?: unknown } | null)?.source === "loop";
}

export const langgraph: Source = {
  async live(context, { run, ns }): Promise<Live[]> {
    const questions = await questionsOf(saverOf(context), run);
    return questions
      .filter(({ levels }) => ns === "" || levels.some(({ found }) => found.header.namespace === ns))
      .map(({ id, node, value, answered }) => ({ id, node, value, answered }));
  },
  async kept(context: Context, key: Key, row: Row): Promise<Kept[]> {
    const found = await readFound(context, row);
    const records: Array<AnswerRecord & { claimedBy: string | null }> = [];
    for (const { part, claimedBy } of found?.writes ?? []) {
      if (part.name !== ANSWERS.channel) continue;
      const { value, readable } = readValue(context, part);
      if (readable && typeof value === "object" && value !== null)
        records.push({ ...(value as AnswerRecord), claimedBy });
    }
    const used: AnswerRecord[] = [];
    for (const { claimedBy, ...record } of records) {
      // A task that has asked again has used its earlier answers.
      const later = records.some(({ task, nth }) => task === record.task && nth > record.nth);
      if (claimedBy === null || later || (await isOfStep(context, key, claimedBy))) used.push(record);
    }
    return used.map(({ id, node, question, value, by, at, program }) => {
      return { id, node, value: question, answered: { value, by, at, ...(program !== undefined && { program }) } };
    });
  },
  answer: (context, native, { run }, id, answer) => answerThread(saverOf(context), native, run, id, answer),
};
