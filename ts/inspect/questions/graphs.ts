/** Reads the questions of AgentOS' human nodes and of TinyAgents' tasks. */

import { answerNode, answeredHere, humanNodes } from "../../contracts/agentos/answer.js";
import { restore } from "../../contracts/agentos/stored.js";
import type { Checkpoint } from "../../contracts/agentos/contract.js";
import { answerOf } from "../../contracts/agentos/status.js";
import { agentos as calls, openFound } from "../../contracts/agentos/wire.js";
import { answerTask, readQuestions } from "../../contracts/tinyagents/answer.js";
import { Checkpointer } from "../../contracts/tinyagents/checkpointer.js";
import { readNamespace } from "../../contracts/tinyagents/values.js";
import type { Context } from "../context.js";
import type { Key, Row } from "../wire.js";
import type { Kept, Live, Source } from "./source.js";

async function nodesOf({ engine }: Context, { id }: Row, pick: (checkpoint: Checkpoint) => string[]): Promise<Live[]> {
  const stored = await calls.find(engine.native, "get", { checkpointId: id }, openFound);
  if (stored === null) return [];
  const checkpoint = restore(engine, stored);
  return pick(checkpoint).map((node) => {
    const result = checkpoint.nodeResults[node]!;
    return { id: node, node, value: result.output, answered: answerOf(checkpoint, node) };
  });
}

export const agentos: Source = {
  live: (context, _, row) => nodesOf(context, row, humanNodes),
  /** The checkpoints after an answer have it too. It belongs to the first one, where the node has not completed. */
  async kept(context, _, row) {
    const all = await nodesOf(context, row, (checkpoint) => [...humanNodes(checkpoint), ...answeredHere(checkpoint)]);
    return all.filter((each): each is Kept => each.answered !== null);
  },
  answer: (context, native, { run }, node, answer) => answerNode({ ...context.engine, native }, run, node, answer),
};

const placeOf = ({ run, ns }: Key) => ({ threadId: run, namespace: readNamespace(ns) });

export const tinyagents: Source = {
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
    // After an edit of the state, the tasks ask again: they have not used their last answers.
    const isEdited = next?.metadata["source"] === "update";
    const isUsed = ({ id, nth }: { id: string; nth: number }) =>
      !isEdited || records.some((later) => later.id === id && later.nth > nth);
    return records.filter(isUsed).map(({ id, node, question, value, by, at, program }): Kept => {
      return { id, node, value: question, answered: { value, by, at, ...(program !== undefined && { program }) } };
    });
  },
  answer: (context, _, key, task, answer, lease) =>
    answerTask(new Checkpointer<unknown>(context.store), placeOf(key), task, answer, lease),
};
