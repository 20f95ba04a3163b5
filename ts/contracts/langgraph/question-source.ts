/** Reads the questions of LangGraph's threads. */

import type { Context } from "../../plugin/context.js";
import type { Kept, Live, Questions } from "../../plugin/questions.js";
import { readFound, readValue } from "../../plugin/values.js";
import type { Key, Row } from "../../plugin/wire.js";
import { answerThread } from "./answer-thread.js";
import { ANSWERS, type AnswerRecord } from "./answer-records.js";
import { saverOf } from "./plain.js";
import { questionsOf } from "./questions.js";
import { type Found, langgraph, openFound } from "./wire.js";

/** False if an edit or an input made the checkpoint: no task has used the earlier answers. */
async function isOfStep(context: Context, { run, ns }: Key, id: string): Promise<boolean> {
  const { native } = context.engine;
  const found: Found | null = await langgraph.find(native, "get", { threadId: run, namespace: ns, id }, openFound);
  if (found === null) return true;
  const { value } = readValue(context, found.header.metadata);
  return (value as { source?: unknown } | null)?.source === "loop";
}

export const questions: Questions = {
  async live(context, { run, ns }): Promise<Live[]> {
    const asked = await questionsOf(saverOf(context), run);
    return asked
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
      // A task that asks again has used its earlier answers.
      const later = records.some(({ task, nth }) => task === record.task && nth > record.nth);
      if (claimedBy === null || later || (await isOfStep(context, key, claimedBy))) used.push(record);
    }
    return used.map(({ id, node, question, value, by, at, program }) => {
      return { id, node, value: question, answered: { value, by, at, ...(program !== undefined && { program }) } };
    });
  },
  answer: (context, native, { run }, id, answer) => answerThread(saverOf(context), native, run, id, answer),
  // An answer by id is for this question alone, and may be false.
  code: (run, id, answer) => `import { Command } from "@langchain/langgraph";

const answer = ${JSON.stringify(answer)};
await graph.invoke(new Command({ resume: ${/^[0-9a-f]{32}$/.test(id) ? `{ ${JSON.stringify(id)}: answer }` : "answer"} }), {
  configurable: { thread_id: ${JSON.stringify(run)} },
});`,
};
