/** What a second import does, after the old database, this store or both have changed. For each kind of old saver. */

import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { ForkpointSaver, ImportOptions, ImportResult } from "forkpoint/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { type Kind, all, checkpoint, metadata, open, place, rejection, saver, thread } from "./helpers.js";

// The module is JavaScript, so that a script can run it without a build. `as string`: it has no types.
const graphs = (await import("./fixtures/moving.mjs" as string)) as Record<string, any>;
const { Command, chat, deltas, fan, nested, questions } = graphs;

/** A saver of LangGraph on a new database. */
export interface Old {
  saver: BaseCheckpointSaver;
  importInto(target: ForkpointSaver, options?: ImportOptions): Promise<ImportResult>;
}

const answer = (resume: string) => new Command({ resume });

/** Makes threads: one that waits, one whose node asks three questions, a failed one, one with a subgraph, a long one. */
export async function fill(old: BaseCheckpointSaver): Promise<void> {
  await chat(old).invoke({ messages: [], topic: "waiting" }, thread("waiting"));
  await chat(old).invoke({ messages: [], topic: "other" }, thread("other"));
  await questions(old).invoke({ notes: [] }, thread("questions"));
  await fan(old, () => true)
    .invoke({ notes: [] }, thread("failed"))
    .catch(() => {});
  await nested(old).invoke({ notes: [] }, thread("nested"));
  for (let turn = 0; turn < 5; turn++) await say(old, "long", `turn ${turn}`);
}

function say(saver: BaseCheckpointSaver, id: string, note: string): Promise<unknown> {
  return chat(saver).updateState(thread(id), { notes: [note] }, "say");
}

/** Returns the tuples of a thread, or of all threads, by their places. Pending writes have no order here. */
export async function tuplesOf(saver: BaseCheckpointSaver, id?: string): Promise<Map<string, object>> {
  const found = await all(saver.list(id === undefined ? {} : thread(id)));
  const shown = ({ config, checkpoint, metadata, parentConfig, pendingWrites = [] }: CheckpointTuple) =>
    [
      JSON.stringify(Object.entries(config.configurable!).toSorted()),
      {
        checkpoint: { ...checkpoint, channel_values: withoutBuffers(checkpoint.channel_values) },
        metadata,
        parent: parentConfig?.configurable?.["checkpoint_id"],
        // SqliteSaver reads bytes that are no UTF-8 as other bytes.
        writes: new Set(
          pendingWrites.map(([task, channel, value]) => [task, channel, value instanceof Uint8Array ? "bytes" : value]),
        ),
      },
    ] as const;
  return new Map(found.map(shown));
}

/** PostgresSaver reads bytes as a Buffer. */
function withoutBuffers(values: object): object {
  const plain = (value: unknown) => (value instanceof Uint8Array ? Buffer.from(value).toString("hex") : value);
  return Object.fromEntries(Object.entries(values).map(([channel, value]) => [channel, plain(value)]));
}

/** Imports, and expects that nothing is skipped and that both databases have the same. */
async function expectSame(old: Old, target: ForkpointSaver): Promise<void> {
  const result = await old.importInto(target);
  expect(result).toMatchObject({ skipped: 0, skippedThreads: [], threads: result.ofThreads });
  expect(await tuplesOf(target)).toEqual(await tuplesOf(old.saver));
  expect(await target.check()).toMatchObject({ ok: true, findings: [] });
}

export function importAgain(kinds: readonly Kind[], make: () => Promise<Old> | Old): void {
  let old: Old;
  beforeEach(async () => {
    old = await make();
    await fill(old.saver);
  });

  /** A store with everything of the old one. */
  async function imported(kind: Kind): Promise<ForkpointSaver> {
    const target = saver(kind);
    await expectSame(old, target);
    return target;
  }

  describe.each(kinds)("into %s", (kind) => {
    it("nothing new: nothing is stored", async () => {
      const target = await imported(kind);
      const [listed, stats] = [await target.listThreads(), await target.stats()];
      await expectSame(old, target);
      expect(await target.listThreads()).toEqual(listed);
      // The memory that is kept for saves is given back after a while.
      expect({ ...(await target.stats()), keptBytes: 0 }).toEqual({ ...stats, keptBytes: 0 });
    });

    it("the old program goes on: what is new is added", async () => {
      const target = await imported(kind);
      await chat(old.saver).invoke(answer("yes"), thread("waiting"));
      await fan(old.saver, () => false).invoke(null, thread("failed"));
      await nested(old.saver).invoke(answer("inside"), thread("nested"));
      await say(old.saver, "long", "turn 5");
      await chat(old.saver).invoke({ messages: [], topic: "new" }, thread("new"));
      await expectSame(old, target);
      // A branch of an old checkpoint, and a branch of that branch.
      const history = await all(chat(old.saver).getStateHistory(thread("long")));
      const branch = await chat(old.saver).updateState((history as any)[2].config, { notes: ["branch"] }, "say");
      await expectSame(old, target);
      await chat(old.saver).updateState(branch, { notes: ["more"] }, "say");
      await chat(old.saver).updateState((history as any)[2].config, { notes: ["another"] }, "say");
      await expectSame(old, target);
      // The thread that changed last comes first, and each thread can be continued.
      expect((await target.listThreads({ limit: 1 })).threads[0]).toMatchObject({ threadId: "long", checkpoints: 9 });
      await chat(target).invoke(answer("fine"), thread("new"));
      expect((await chat(target).getState(thread("new"))).next).toEqual([]);
    });

    it("the old program answers questions at the same checkpoint: its writes are replaced", async () => {
      const target = await imported(kind);
      for (const said of ["one", "two"]) {
        await questions(old.saver).invoke(answer(said), thread("questions"));
        await expectSame(old, target);
        const { interrupts } = (await target.status("questions"))!;
        expect(interrupts).toMatchObject([{ value: said === "one" ? "second?" : "third?" }]);
      }
      const { notes } = await questions(target).invoke(answer("three"), thread("questions"));
      expect(notes).toEqual(["one", "two", "three"]);
      // Only this program has gone on: nothing is missing.
      const before = await tuplesOf(target, "questions");
      expect(await old.importInto(target)).toMatchObject({ skipped: 0 });
      expect(await tuplesOf(target, "questions")).toEqual(before);
    });

    it("delta channels: each state reads as in the old database, also after more was added", async () => {
      const target = saver(kind);
      const notesOf = async (one: BaseCheckpointSaver, config: object): Promise<string[]> =>
        (await deltas(one).getState(config)).values.notes;
      const expectSameNotes = async () => {
        expect(await old.importInto(target, { threads: ["deltas"] })).toMatchObject({ threads: 1, skipped: 0 });
        for (const { config } of await all(old.saver.list(thread("deltas")))) {
          expect(await notesOf(target, config)).toEqual(await notesOf(old.saver, config));
        }
      };
      const run = (topic: string, rest: object = {}) =>
        deltas(old.saver).invoke({ notes: [topic], topic }, { ...thread("deltas"), ...rest });
      for (const topic of ["a", "b"]) await run(topic);
      await expectSameNotes();
      await run("c", { interruptBefore: ["two"] });
      await expectSameNotes();
      const leaf = (await target.getTuple(thread("deltas")))!.config;
      const before = await notesOf(target, leaf);
      await deltas(old.saver).updateState(thread("deltas"), { notes: ["update"] }, "one");
      await expectSameNotes();
      await deltas(old.saver).invoke(null, thread("deltas"));
      await run("d");
      await expectSameNotes();
      // A branch of the checkpoint that was the last one at the second import.
      const branch = await deltas(target).updateState(leaf, { notes: ["branch"] }, "one");
      expect(await notesOf(target, branch)).toEqual([...before, "branch"]);
      await target.deleteThread("deltas");
      await expectSameNotes();
      await target.prune(["deltas"], { keepLastN: 1 });
      expect(await notesOf(target, thread("deltas"))).toEqual(await notesOf(old.saver, thread("deltas")));
    });

    it("only the new program goes on: nothing is missing, and its thread stays as it is", async () => {
      const target = await imported(kind);
      await chat(target).invoke(answer("yes"), thread("waiting"));
      await questions(target).invoke(answer("one"), thread("questions"));
      await fan(target, () => false).invoke(null, thread("failed"));
      await target.prune(["long"], { keepLastN: 2 });
      await say(target, "long", "turn 5");
      const before = await tuplesOf(target);
      const result = await old.importInto(target);
      expect(result).toMatchObject({ threads: 6, ofThreads: 6, skipped: 0, skippedThreads: [] });
      expect(await tuplesOf(target)).toEqual(before);
    });

    it("both go on: the thread is skipped, all others are imported", async () => {
      const target = await imported(kind);
      for (const [one, said] of [
        [old.saver, "old"],
        [target, "new"],
      ] as const) {
        await chat(one).invoke(answer("yes"), thread("waiting"));
        await questions(one).invoke(answer(said), thread("questions"));
      }
      await say(old.saver, "long", "turn 5");
      await chat(old.saver).invoke({ messages: [], topic: "new" }, thread("new"));
      const before = await tuplesOf(target);
      const error = await rejection(old.importInto(target, { onConflict: "fail" }));
      expect(error).toMatchObject({ code: "CONFLICT", message: expect.stringContaining("Nothing was imported") });
      expect(await tuplesOf(target)).toEqual(before);
      const progress: number[] = [];
      const result = await old.importInto(target, { onProgress: ({ skipped }) => progress.push(skipped) });
      expect(result).toMatchObject({ threads: 5, ofThreads: 7, skipped: 2 });
      expect(progress.at(-1)).toBe(2);
      expect(new Set(result.skippedThreads)).toEqual(
        new Set(
          ["waiting", "questions"].map((threadId) => ({
            threadId,
            why: "changed in both",
            message: expect.stringContaining(`thread "${threadId}" has changed in both databases`),
          })),
        ),
      );
      const after = await tuplesOf(target);
      for (const [key, tuple] of before) if (!key.includes('"long"')) expect(after.get(key)).toEqual(tuple);
      for (const id of ["new", "long"]) expect(await tuplesOf(target, id)).toEqual(await tuplesOf(old.saver, id));
      expect(await old.importInto(target)).toMatchObject({ threads: 5, skipped: 2 });
      // The old database's version of one, after the new version was copied.
      await target.copyThread("waiting", "waiting, from the new program");
      await target.deleteThread("waiting");
      expect(await old.importInto(target, { threads: ["waiting"] })).toMatchObject({ threads: 1, skipped: 0 });
      expect(await tuplesOf(target, "waiting")).toEqual(await tuplesOf(old.saver, "waiting"));
      expect(await old.importInto(target)).toMatchObject({ threads: 6, skipped: 1 });
    });

    it("a thread that was removed here comes back, and one that the old program began again is replaced", async () => {
      const target = await imported(kind);
      await target.deleteThread("waiting");
      await old.saver.deleteThread("long");
      for (const note of ["again", "and again"]) await say(old.saver, "long", note);
      await expectSame(old, target);
      await say(target, "long", "from here");
      await old.saver.deleteThread("long");
      await say(old.saver, "long", "a third time");
      const before = await tuplesOf(target);
      expect(await old.importInto(target)).toMatchObject({ skippedThreads: [{ threadId: "long" }] });
      expect(await tuplesOf(target)).toEqual(before);
      // A thread that only the old database has removed stays.
      await old.saver.deleteThread("other");
      expect(await old.importInto(target)).toMatchObject({ ofThreads: 5 });
      expect(await tuplesOf(target)).toEqual(before);
    });

    it("a part of a thread that carries no mark is completed", async () => {
      const target = saver(kind);
      await old.importInto(target);
      await target.copyThread("long", "copy");
      await target.deleteThread("long");
      await target.copyThread("copy", "long");
      await target.prune(["long"], { keepLastN: 2 });
      await target.deleteThread("copy");
      await expectSame(old, target);
      await expectSame(old, target);
    });

    it("only some threads", async () => {
      const target = saver(kind);
      expect(await old.importInto(target, { threads: ["long", "none", "waiting", "long"] })).toMatchObject({
        threads: 2,
        ofThreads: 2,
      });
      expect(await old.importInto(target, { threads: [] })).toMatchObject({ threads: 0, ofThreads: 0 });
      const listed = (await target.listThreads()).threads.map(({ threadId }) => threadId);
      expect(listed).toEqual(["long", "waiting"]);
      await chat(target).invoke(answer("yes"), thread("waiting"));
      await chat(target).invoke({ messages: [], topic: "" }, thread("none"));
      expect(await old.importInto(target, { threads: ["none", "waiting"] })).toMatchObject({ threads: 1, skipped: 0 });
      expect(await old.importInto(target)).toMatchObject({ threads: 6, skipped: 0 });
    });

    it("two imports at the same time", async () => {
      const target = saver(kind);
      const twice = () => Promise.all([old.importInto(target), old.importInto(target), old.importInto(target)]);
      for (const result of await twice()) expect(result).toMatchObject({ threads: 6, skipped: 0 });
      await chat(old.saver).invoke(answer("yes"), thread("waiting"));
      await questions(old.saver).invoke(answer("one"), thread("questions"));
      await say(old.saver, "long", "turn 5");
      for (const result of await twice()) expect(result).toMatchObject({ threads: 6, skipped: 0 });
      await expectSame(old, target);
      // No write was stored twice.
      const { writes } = (await target.check()).checked;
      const other = saver("memory");
      await expectSame(old, other);
      expect(writes).toBeLessThanOrEqual(2 * (await other.check()).checked.writes);
    });

    it("imports while the new program works on the threads: no checkpoint of it is lost", async () => {
      const target = saver(kind);
      await old.importInto(target);
      for (let round = 0; round < 10; round++) {
        await say(old.saver, "long", `old ${round}`);
        const mine: string[] = [];
        const [, result] = await Promise.all([
          say(target, "long", `new ${round}`).then(async () => {
            mine.push((await target.getTuple(thread("long")))!.checkpoint.id);
          }),
          old.importInto(target),
        ]);
        expect(result.ofThreads).toBe(6);
        const values = (await all(chat(target).getStateHistory(thread("long")))) as Array<{ values: any }>;
        expect(values.some(({ values: { notes } }) => notes?.at(-1) === `new ${round}`)).toBe(true);
        expect(mine).toHaveLength(1);
        // Begin again with the same thread in both.
        await target.deleteThread("long");
        await old.importInto(target);
        expect(await tuplesOf(target, "long")).toEqual(await tuplesOf(old.saver, "long"));
      }
    });

    it("with leases, a thread that is being run is skipped", async () => {
      const where = place(kind);
      const target = open(where, { lease: true });
      await expectSame(old, target);
      const lease = await target.lease({ space: "langgraph", run: "waiting" });
      await chat(old.saver).invoke(answer("yes"), thread("waiting"));
      await say(old.saver, "long", "turn 5");
      const result = await old.importInto(target);
      expect(result).toMatchObject({ threads: 5, skipped: 1 });
      expect(result.skippedThreads).toMatchObject([
        { threadId: "waiting", why: "at work", message: expect.stringContaining('run "waiting" is leased by') },
      ]);
      expect(await rejection(old.importInto(target, { onConflict: "fail" }))).toMatchObject({ code: "CONFLICT" });
      await lease.release();
      await expectSame(old, target);
      expect((await target.listThreads()).threads.every(({ lease: held }) => held === null)).toBe(true);
    });

    it("into a store that keeps few checkpoints", async () => {
      const target = saver(kind, { keepLastN: 2 });
      expect(await old.importInto(target)).toMatchObject({ threads: 6, skipped: 0 });
      const { threads } = await target.listThreads();
      expect(threads.find(({ threadId }) => threadId === "long")!.checkpoints).toBe(2);
      expect((await chat(target).getState(thread("long"))).values).toEqual(
        (await chat(old.saver).getState(thread("long"))).values,
      );
      await say(target, "long", "from here");
      await say(target, "long", "and on");
      await chat(old.saver).invoke(answer("yes"), thread("waiting"));
      expect(await old.importInto(target)).toMatchObject({ threads: 5, skippedThreads: [{ threadId: "long" }] });
    });
  });

  it("a checkpoint that another saver has replaced is found", async () => {
    const target = await imported("memory");
    const tip = (await target.getTuple(thread("long")))!;
    await target.put(tip.parentConfig!, { ...checkpoint(), id: tip.checkpoint.id }, metadata(), {});
    await say(old.saver, "long", "turn 5");
    expect(await old.importInto(target)).toMatchObject({ skippedThreads: [{ threadId: "long" }] });
  });
}
