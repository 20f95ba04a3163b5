// copyStore with LangGraph's threads: they are resumed on the other side, as if nothing had happened.
import { Annotation, interrupt } from "@langchain/langgraph";
import { copyStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { ForkpointSaver } from "forkpoint/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
// @ts-expect-error The module is JavaScript, so that the script that makes the database runs without a build.
import * as graphs from "./fixtures/moving.mjs";
import { type Kind, all, everyKind, mainKinds, place, rejection, sequence, thread, openShared } from "./helpers.js";

const { Command, chat, fan, fillAll, nested, writeEarly } = graphs;

const Notes = Annotation.Root({ notes: Annotation<string[]> });

async function store(kind: Kind) {
  const opened = await openShared(place(kind));
  return { opened, saver: new ForkpointSaver(opened) };
}

async function fill(saver: ForkpointSaver): Promise<void> {
  await fillAll(saver);
  await writeEarly(saver, "waiting");
  await saver.copyThread("answered", "a copy");
  await saver.prune(["branches"], { keepLastN: 2 });
}

async function contentOf(saver: ForkpointSaver) {
  const { threads } = await saver.listThreads({ withNext: true });
  const tuples = await all(saver.list({}));
  const ids = ["waiting", "branches", "nested", "failed", "a copy"];
  const histories = await Promise.all(ids.map((id) => all(saver.list(thread(id)))));
  return { threads, tuples, histories, early: (await saver.check()).findings };
}

describe.each(everyKind)("from %s", (from) => {
  it.each(everyKind)("to %s: threads are the same, and are resumed on the other side", async (to) => {
    const [source, destination] = [await store(from), await store(to)];
    await fill(source.saver);
    const before = await contentOf(source.saver);
    await copyStore(source.opened, destination.opened);
    expect(await contentOf(destination.saver)).toEqual(before);

    for (const { saver } of [source, destination]) {
      const { messages } = await chat(saver).invoke(new Command({ resume: "yes" }), thread("waiting"));
      expect(messages.map(({ content }: { content: string }) => content)).toEqual(["waiting? yes", "said 1"]);
      // The branches that worked are not repeated.
      const { notes } = await fan(saver, () => false).invoke(null, thread("failed"));
      expect(notes).toEqual(["planned", "worked 0", "worked 1", "worked 2"]);
      const inner = await nested(saver).invoke(new Command({ resume: "inside" }), thread("nested"));
      expect(inner.notes).toEqual(["first", "inside", "last"]);
    }
  });
});

describe.each(["whole", "by run"] as const)("a second copy, %s,", (how) => {
  const options = how === "whole" ? {} : { space: "langgraph" as const };

  it.each(mainKinds)("to %s brings what was saved since: answers, resumed threads, new threads", async (to) => {
    const [source, destination] = [await store("memory"), await store(to)];
    await fill(source.saver);
    const two = [thread("two questions"), thread("two, one answered")];
    for (const config of two) await asksTwice(source.saver).invoke({ notes: [] }, config);
    const copied = () => copyStore(source.opened, destination.opened, options);
    await copied();
    for (const next of [
      () => asksTwice(source.saver).invoke(new Command({ resume: "a" }), two[1]!),
      () => chat(source.saver).invoke(new Command({ resume: "yes" }), thread("waiting")),
      () => nested(source.saver).invoke(new Command({ resume: "inside" }), thread("nested")),
      () => fan(source.saver, () => false).invoke(null, thread("failed")),
      async () => {
        for (const config of two) await asksTwice(source.saver).invoke(new Command({ resume: "b" }), config);
        await chat(source.saver).invoke({ messages: [], topic: "new" }, thread("new"));
      },
    ]) {
      await next();
      await copied();
      const threads = async ({ saver }: typeof source) => (await saver.listThreads({ withNext: true })).threads;
      expect((await threads(destination)).toSorted(byId)).toEqual((await threads(source)).toSorted(byId));
      // Nothing is left for another copy.
      const counts = async () => {
        const { checkpoints, effects, lineages, records, logicalBytes } = await destination.opened.stats();
        return { checkpoints, effects, lineages, records, logicalBytes };
      };
      const before = await counts();
      await copied();
      expect(await counts()).toEqual(before);
    }
    for (const id of ["waiting", "nested", "failed", "two questions", "two, one answered", "new"]) {
      expect(await all(destination.saver.list(thread(id)))).toEqual(await all(source.saver.list(thread(id))));
      expect(await destination.saver.status(id)).toEqual(await source.saver.status(id));
    }
    const { notes } = await asksTwice(destination.saver).invoke(new Command({ resume: "c" }), two[0]!);
    expect(notes).toEqual(["b", "c"]);
  });
});

const byId = (a: { threadId: string }, b: { threadId: string }) => (a.threadId < b.threadId ? -1 : 1);

/** A graph whose node asks two questions. */
function asksTwice(checkpointer: ForkpointSaver) {
  return sequence(Notes, {
    ask: () => ({ notes: [interrupt<string, string>("first?"), interrupt<string, string>("second?")] }),
  }).compile({ checkpointer });
}

describe("a checkpoint whose channels came in several saves", () => {
  const State = Annotation.Root({ a: Annotation<string>, b: Annotation<string>, c: Annotation<string> });
  const graph = (saver: ForkpointSaver, length: number) =>
    sequence(State, {
      one: () => ({ a: "a".repeat(length) }),
      two: () => ({ b: "b".repeat(length) }),
      three: () => ({ c: "c".repeat(length) }),
    }).compile({ checkpointer: saver });

  it.each(mainKinds)("on %s takes more than maxPayloadBytes, and is copied", async (kind) => {
    const small = async (to: Kind) => {
      const opened = await openShared(place(to), { maxPayloadBytes: 10_000 });
      return { opened, saver: new ForkpointSaver(opened) };
    };
    const [source, destination, text, back] = await Promise.all([kind, kind, "jsonl" as const, kind].map(small));
    await graph(source!.saver, 8_000).invoke({}, thread("large"));
    const runs = [{ space: "langgraph" as const, run: "large" }];
    await source!.saver.copyThread("large", "copy");
    const inspector = await openInspector(source!.opened, { write: true });
    onTestFinished(() => inspector.close());
    const newest = (await source!.saver.getTuple(thread("large")))!.checkpoint.id;
    const forked = await inspector.fork({ space: "langgraph", run: "copy", id: newest });
    expect(forked.id).not.toBe(newest);
    for (const id of ["copy", "large"]) {
      const { values } = await graph(source!.saver, 8_000).getState(thread(id));
      expect(values.a.length + values.b.length + values.c.length).toBe(24_000);
    }
    await copyStore(source!.opened, destination!.opened);
    await copyStore(source!.opened, text!.opened, { runs });
    await copyStore(text!.opened, back!.opened);
    for (const { saver } of [destination!, text!, back!]) {
      const { values } = await graph(saver, 8_000).getState(thread("large"));
      expect(values.a.length + values.b.length + values.c.length).toBe(24_000);
    }
  });

  it("an error of its size names the thread and the checkpoint", { timeout: 120_000 }, async () => {
    const { saver } = await store("sqlite");
    const inherited = await rejection(
      graph(saver, 33 * 2 ** 20).invoke({}, { ...thread("my thread"), durability: "sync" }),
    );
    expect(inherited.message).toMatch(
      /^checkpoint "[0-9a-f-]{36}" of thread "my thread": all parts together take \d+ bytes/,
    );
    const big = await rejection(graph(saver, 1).updateState(thread("other"), { a: "a".repeat(65 * 2 ** 20) }));
    expect(big.message).toMatch(/checkpoint "[0-9a-f-]{36}" of thread "other"/);
    for (const { message } of [inherited, big]) expect(message).not.toMatch(/"\d+:/);
  });
});
