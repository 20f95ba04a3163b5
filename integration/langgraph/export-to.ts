/** What `exportTo` writes, for each kind of other saver. */

import { Annotation, Command, START, Send, StateGraph, interrupt } from "@langchain/langgraph";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { ForkpointSaver } from "forkpoint/langgraph";
import { describe, expect, it } from "vitest";
import { tuplesOf } from "./import-again.js";
import { type Kind, Log, all, saver, says, sequence, thread } from "./helpers.js";
import type { OtherSaver } from "./other-savers.js";

// The module is JavaScript, so that a script can run it without a build. `as string`: it has no types.
const graphs = (await import("./fixtures/moving.mjs" as string)) as Record<string, any>;
const { deltas, nested, questions } = graphs;

const Chat = Annotation.Root({
  messages: Annotation<object[]>({ reducer: (before, said) => [...before, ...said], default: () => [] }),
});

/** Asks a person before it answers. */
export const chat = (checkpointer: BaseCheckpointSaver) =>
  sequence(Chat, {
    ask: () => ({
      messages: [new HumanMessage({ content: interrupt<string, string>("well?"), id: "asked" })],
    }),
    say: ({ messages }) => ({
      messages: [new AIMessage({ content: `said ${messages.length}`, id: "said" })],
    }),
  }).compile({ checkpointer });

/** Three tasks of `Send`. One fails the first time, and the writes of the others wait for it. */
const fan = (checkpointer: BaseCheckpointSaver, isBroken: () => boolean) =>
  new StateGraph(Log)
    .addNode("plan", says("planned"))
    .addNode("work", ({ n }: any) => {
      if (n === 2 && isBroken()) throw new Error("broken");
      return { log: [`worked ${n}`] };
    })
    .addEdge(START, "plan")
    .addConditionalEdges("plan", () => [0, 1, 2].map((n) => new Send("work", { n })))
    .compile({ checkpointer });

const answer = (resume: string): any => new Command({ resume });

/** Makes threads that wait, failed, have a subgraph, are long, or have delta channels. */
export async function fill(ours: BaseCheckpointSaver, loses: readonly string[] = []): Promise<void> {
  await chat(ours).invoke({ messages: [] }, thread("waiting"));
  await questions(ours).invoke({ notes: [] }, thread("questions"));
  await questions(ours).invoke(answer("one"), thread("questions"));
  await fan(ours, () => true)
    .invoke({ log: [] }, thread("failed"))
    .catch(() => {});
  await nested(ours).invoke({ notes: [] }, thread("nested"));
  for (let turn = 0; turn < 12; turn++) {
    await chat(ours).updateState(thread("long"), { messages: [new AIMessage({ content: `turn ${turn}` })] }, "say");
  }
  if (loses.includes("deltas")) return;
  for (const topic of ["a", "b", "c"]) await deltas(ours).invoke({ notes: [topic], topic }, thread("deltas"));
}

const contents = ({ messages }: { messages: object[] }) => messages.map((message) => (message as AIMessage).content);

/** Reads a thread as a graph does. */
async function statesOf(checkpointer: BaseCheckpointSaver, id: string): Promise<unknown[]> {
  const states = await all(chat(checkpointer).getStateHistory(thread(id), { limit: 100 }));
  return states.map(({ values, next, metadata }) => [contents(values), next, metadata]);
}

/** Expects that each checkpoint of the store is the same in the other saver. */
async function expectSame(ours: ForkpointSaver, other: BaseCheckpointSaver): Promise<void> {
  for (const { config } of await all(ours.list({}))) {
    const [a, b] = [(await ours.getTuple(config))!, (await other.getTuple(config))!];
    const plain = ({ checkpoint, metadata, parentConfig, pendingWrites = [] }: CheckpointTuple) =>
      JSON.parse(
        JSON.stringify({
          checkpoint: {
            ...checkpoint,
            channel_values: Object.fromEntries(Object.entries(checkpoint.channel_values).toSorted()),
          },
          metadata,
          parent: parentConfig?.configurable?.["checkpoint_id"],
          writes: pendingWrites.map((write) => JSON.stringify(write)).toSorted(),
        }),
      );
    expect(plain(b)).toEqual(plain(a));
  }
}

export function exportTests(others: readonly OtherSaver[], kinds: readonly Kind[]): void {
  describe.each(others)("to $name", ({ make, loses }) => {
    it.each(kinds)("from %s: everything, and back", async (kind) => {
      const [ours, other] = [saver(kind), await make()];
      await fill(ours, loses);
      const progress: number[] = [];
      const result = await ours.exportTo(other, { onProgress: ({ threads }) => progress.push(threads) });
      const count = 6 - (loses?.length ?? 0);
      expect(result).toMatchObject({ threads: count, ofThreads: count, skipped: 0, skippedThreads: [] });
      const tuples = await all(ours.list({}));
      expect(result.checkpoints).toBe(tuples.length);
      expect(result.writes).toBe(tuples.reduce((sum, { pendingWrites }) => sum + pendingWrites!.length, 0));
      expect(progress).toEqual([1, 2, 3, 4, 5, 6].slice(0, count));
      await expectSame(ours, other);
      // Again: nothing changes.
      expect(await ours.exportTo(other)).toEqual(result);
      await expectSame(ours, other);

      const back = saver(kind);
      expect(await back.importFrom(other)).toEqual(result);
      expect(await tuplesOf(back)).toEqual(await tuplesOf(ours));
      expect(await back.importFrom(other)).toEqual(result);
      const [{ findings }, { findings: theirs }] = await Promise.all([back.check(), ours.check()]);
      expect(findings).toEqual(theirs);
    });

    it("each thread goes on there as it does here", async () => {
      const [ours, other] = [saver(kinds[0]!), await make()];
      await fill(ours, loses);
      await ours.exportTo(other);
      const [here, there] = await Promise.all(
        [ours, other].map(async (one) => {
          const ran: string[] = [];
          const failed = fan(one, () => {
            ran.push("work 2");
            return false;
          });
          return {
            waiting: contents(await chat(one).invoke(answer("fine"), thread("waiting"))),
            questions: (await questions(one).invoke(answer("two"), thread("questions"))).__interrupt__?.[0]?.value,
            nested: (await nested(one).invoke(answer("inside"), thread("nested"))).notes,
            failed: (await failed.invoke(null, thread("failed"))).log,
            ran,
            long: await statesOf(one, "long"),
            deltas: loses?.includes("deltas") || (await deltas(one).getState(thread("deltas"))).values,
          };
        }),
      );
      expect(there).toEqual(here);
      expect(here).toMatchObject({ waiting: ["fine", "said 1"], nested: ["first", "inside", "last"], ran: ["work 2"] });
      expect(here!.long).toHaveLength(12);
    });

    it("one side goes on: what is new is added, and nothing is replaced", async () => {
      const [ours, other] = [saver(kinds[0]!), await make()];
      await fill(ours, loses);
      await ours.exportTo(other);
      await chat(ours).invoke(answer("yes"), thread("waiting"));
      await questions(ours).invoke(answer("two"), thread("questions"));
      await chat(ours).updateState(thread("long"), { messages: [new AIMessage("more")] }, "say");
      const result = await ours.exportTo(other);
      // The answer of the questions replaces the one before, at the same checkpoint.
      expect(result.skippedThreads.map(({ threadId, why }) => [threadId, why])).toEqual([["questions", "differs"]]);
      expect(contents((await chat(other).getState(thread("waiting"))).values)).toEqual(["yes", "said 1"]);
      expect(await statesOf(other, "long")).toEqual(await statesOf(ours, "long"));

      await nested(other).invoke(answer("there"), thread("nested"));
      const before = await all(other.list(thread("nested")));
      expect(await ours.exportTo(other, { threads: ["nested"] })).toMatchObject({ threads: 1, skipped: 0 });
      expect(await all(other.list(thread("nested")))).toHaveLength(before.length);
      await nested(ours).invoke(answer("here"), thread("nested"));
      const both = await ours.exportTo(other, { threads: ["nested", "no such thread"] });
      expect(both).toMatchObject({ threads: 0, ofThreads: 1, skipped: 1 });
      expect(both.skippedThreads).toMatchObject([{ threadId: "nested", why: "changed in both" }]);
      expect((await nested(other).getState(thread("nested"))).values.notes).toEqual(["first", "there", "last"]);
    });
  });
}
