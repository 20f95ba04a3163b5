/** Reads the questions of tasks. */

import type { Kept, Questions } from "../../plugin/questions.js";
import type { Key } from "../../plugin/wire.js";
import { answerTask, readQuestions } from "./answer.js";
import { Checkpointer } from "./checkpointer.js";
import { readNamespace } from "./values.js";

const placeOf = ({ run, ns }: Key) => ({ threadId: run, namespace: readNamespace(ns) });

export const questions: Questions = {
  async live(context, key) {
    const read = await readQuestions(new Checkpointer<unknown>(context.store), placeOf(key));
    return (read?.waiting ?? []).map(({ id, node, question }) => ({ id, node, value: question, answered: null }));
  },
  async kept(context, key, row) {
    const checkpointId = row.id.split("\0")[0]!;
    const checkpointer = new Checkpointer<unknown>(context.store);
    const read = await readQuestions(checkpointer, { ...placeOf(key), checkpointId });
    const records = read?.records ?? [];
    if (records.length === 0) return [];
    const { threadId, namespace } = placeOf(key);
    const listed = await checkpointer.list(threadId, { namespace });
    const next = listed.find(({ parentCheckpointId }) => parentCheckpointId === checkpointId);
    // After an edit of the state, the tasks ask again, because their last answers are unused.
    const isEdited = next?.metadata["source"] === "update";
    const isUsed = ({ id, nth }: { id: string; nth: number }) =>
      !isEdited || records.some((later) => later.id === id && later.nth > nth);
    return records.filter(isUsed).map(({ id, node, question, value, by, at, program }): Kept => {
      return { id, node, value: question, answered: { value, by, at, ...(program !== undefined && { program }) } };
    });
  },
  answer: (context, _, key, task, answer, lease) =>
    answerTask(new Checkpointer<unknown>(context.store), placeOf(key), task, answer, lease),
  code: (run, task, answer) => `const answer = ${JSON.stringify(answer)};
await graph.resume(${JSON.stringify(run)}, { answers: { ${JSON.stringify(task)}: answer } });`,
};
