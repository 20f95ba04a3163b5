// `listThreads`: the order of activity, pages, filters and statuses.
import { statSync } from "node:fs";
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Command, MessagesAnnotation, interrupt } from "@langchain/langgraph";
import { openStore } from "forkpoint";
import { ForkpointSaver } from "forkpoint/langgraph";
import { describe, expect, it } from "vitest";
import { Log, checkpoint, kinds, metadata, open, place, rejection, saver, says, sequence, thread } from "./helpers.js";

const put = (on: ForkpointSaver, id: string, fields: object = {}, checkpoint_ns = "") =>
  on.put(thread(id, { checkpoint_ns }), checkpoint(), metadata(fields), {});

const ids = async (on: ForkpointSaver, options?: Parameters<ForkpointSaver["listThreads"]>[0]) =>
  (await on.listThreads(options)).threads.map(({ threadId }) => threadId);

/** Lists all pages, and runs something between two pages. */
async function paged(
  on: ForkpointSaver,
  options: Parameters<ForkpointSaver["listThreads"]>[0],
  between: () => Promise<unknown> = async () => {},
): Promise<string[][]> {
  const pages: string[][] = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    if (pages.length > 0) await between();
    const page = await on.listThreads({ ...options, cursor });
    pages.push(page.threads.map(({ threadId }) => threadId));
    cursor = page.cursor;
  }
  return pages;
}

describe.each(kinds)("on %s", (kind) => {
  it("the thread that was active last comes first", async () => {
    const on = saver(kind);
    const began = Date.now();
    for (const id of ["a", "b", "c"]) await put(on, id);
    expect(await ids(on)).toEqual(["c", "b", "a"]);
    await put(on, "a");
    expect(await ids(on)).toEqual(["a", "c", "b"]);
    expect(await ids(on, { order: "desc" })).toEqual(["a", "c", "b"]);
    expect(await ids(on, { order: "asc" })).toEqual(["b", "c", "a"]);
    // Neither a subgraph's checkpoint nor a pending write is an activity of the graph itself.
    await put(on, "b", {}, "sub:1");
    await put(on, "only inside", {}, "sub:2");
    await on.putWrites(thread("c", { checkpoint_id: "to come" }), [["log", ["x"]]], "task");
    const config = (await on.getTuple(thread("b")))!.config;
    await on.putWrites(config, [["log", ["x"]]], "task");
    const { threads, cursor } = await on.listThreads();
    expect(cursor).toBe(null);
    expect(threads.map(({ threadId }) => threadId)).toEqual(["a", "c", "b"]);
    const latest = { checkpointId: config.configurable!["checkpoint_id"], checkpointNs: "" };
    const { updatedAt } = threads[2]!;
    const entry = {
      threadId: "b",
      checkpoints: 1,
      updatedAt,
      latest,
      status: "unknown",
      next: [],
      version: null,
      stopped: null,
      lease: null,
    };
    expect(threads[2]).toEqual(entry);
    expect((await on.listThreads({ withNext: false })).threads[2]).toMatchObject({ status: "unknown", next: null });
    expect(threads.map((one) => one.checkpoints)).toEqual([2, 1, 1]);
    for (const one of threads) expect(one.updatedAt).toBeGreaterThanOrEqual(began);
    expect(threads[0]!.updatedAt).toBeGreaterThanOrEqual(threads[2]!.updatedAt);
    expect(threads[0]!.updatedAt).toBeLessThanOrEqual(Date.now());
    await on.prune(["b", "c"]);
    expect(await ids(on)).toEqual(["a", "c", "b"]);
    await on.deleteThread("a");
    expect(await ids(on)).toEqual(["c", "b"]);
    await on.copyThread("b", "copy");
    expect(await ids(on)).toEqual(["copy", "c", "b"]);
  });

  it("pages neither repeat a thread nor leave one out while threads are active", async () => {
    const on = saver(kind);
    const all = Array.from({ length: 7 }, (_, at) => `t${at}`);
    for (const id of all) await put(on, id);
    for (const limit of [1, 2, 3, 7, 100]) {
      expect((await paged(on, { limit })).flat()).toEqual(all.toReversed());
      expect((await paged(on, { limit, order: "asc" })).flat()).toEqual(all);
    }
    const active = async () => {
      await put(on, "t6");
      await put(on, "new");
    };
    expect(await paged(on, { limit: 3 }, active)).toEqual([["t6", "t5", "t4"], ["t3", "t2", "t1"], ["t0"]]);
    expect(await ids(on)).toEqual(["new", "t6", "t5", "t4", "t3", "t2", "t1", "t0"]);
    let last = 2;
    const active2 = async () => last-- > 0 && (await put(on, "t1"));
    expect(await paged(on, { limit: 4, order: "asc" }, active2)).toEqual([
      ["t0", "t1", "t2", "t3"],
      ["t4", "t5", "t6", "new"],
      ["t1"],
    ]);
  });

  it("pages are full, whatever namespaces are in between, and go on where the cursor's thread was deleted", async () => {
    const on = saver(kind, { durability: "off" });
    const all: string[] = [];
    for (let i = 0; i < 120; i++) {
      all.unshift(`t${i}`);
      await put(on, `t${i}`);
      // Some threads have few namespaces, others more than fit in a page of threads.
      for (let n = 0; n < (i % 40 === 0 ? 30 : i % 3); n++) await put(on, `t${i}`, {}, `sub:${n}`);
      if (i % 10 === 0) await put(on, `only ${i}`, {}, "sub");
    }
    for (const limit of [7, 60, 119, 120, 121, 100_000]) {
      const pages = await paged(on, { limit });
      expect(pages.flat()).toEqual(all);
      // Every page except the last is full. The last page is never empty.
      expect(pages).toHaveLength(Math.ceil(120 / limit));
    }
    const { cursor } = await on.listThreads({ limit: 4 });
    // The last thread of the page, one before it and one after it.
    for (const id of ["t116", "t118", "t114"]) await on.deleteThread(id);
    expect(await ids(on, { limit: 2, cursor })).toEqual(["t115", "t113"]);
  });

  it("a filter compares literal keys of the newest checkpoint's metadata", async () => {
    const on = saver(kind);
    for (let at = 0; at < 250; at++)
      await put(on, `t${at}`, { user: at % 100 === 0 ? "ada" : "bob", tags: { at }, "a.b": at });
    expect(await ids(on, { filter: { user: "ada" } })).toEqual(["t200", "t100", "t0"]);
    expect(await paged(on, { filter: { user: "ada" }, limit: 2 })).toEqual([["t200", "t100"], ["t0"]]);
    expect(await paged(on, { filter: { user: "ada" }, limit: 1, order: "asc" })).toEqual([["t0"], ["t100"], ["t200"]]);
    expect(await ids(on, { filter: { "a.b": 7 } })).toEqual(["t7"]);
    expect(await ids(on, { filter: { tags: { at: 8 } } })).toEqual(["t8"]);
    expect(await ids(on, { filter: { user: "ada", "a.b": 100 } })).toEqual(["t100"]);
    expect(await ids(on, { filter: { none: undefined }, limit: 1 })).toEqual(["t249"]);
    expect(await ids(on, { filter: { toString: 1 } })).toEqual([]);
    await put(on, "t0", { user: "bob" });
    expect(await ids(on, { filter: { user: "ada" } })).toEqual(["t200", "t100"]);
  });

  it("a thread whose checkpoint cannot be read is listed without its next nodes", async () => {
    const target = place(kind);
    const shared = kind === "memory" ? await openStore(target) : undefined;
    const on = open((shared ?? target) as string);
    await sequence(Log, { a: says("a") })
      .compile({ checkpointer: on })
      .invoke({ log: [] }, thread());
    const blind = {
      dumpsTyped: on.serde.dumpsTyped.bind(on.serde),
      loadsTyped: () => Promise.reject(new Error("wrong key")),
    };
    const other = open((shared ?? target) as string, { serde: blind } as never);
    expect((await other.listThreads()).threads).toMatchObject([{ threadId: "thread", status: "finished", next: null }]);
    await on.close();
    await shared?.close();
  });

  it("threads are listed by their status", async () => {
    const on = saver(kind);
    const graph = sequence(Log, {
      ask: ({ log }) => {
        if (log[0] === "fail") throw new Error("no");
        return { log: log[0] === "ask" ? [interrupt("sure?")] : [] };
      },
    }).compile({ checkpointer: on });
    for (const first of ["done", "ask", "fail"])
      await graph.invoke({ log: [first] }, thread(first)).catch((error: Error) => expect(error.message).toBe("no"));
    expect((await on.listThreads()).threads.map(({ threadId, status, next }) => [threadId, status, next])).toEqual([
      ["fail", "failed", ["ask"]],
      ["ask", "waiting", ["ask"]],
      ["done", "finished", []],
    ]);
    expect(await ids(on, { status: "waiting" })).toEqual(["ask"]);
    expect(await ids(on, { status: ["waiting", "failed"], withNext: false })).toEqual(["fail", "ask"]);
    expect(await ids(on, { status: ["waiting", "failed"], limit: 1 })).toEqual(["fail"]);
    expect(await ids(on, { status: "unfinished" })).toEqual([]);
    expect(await ids(on, { status: [] })).toEqual(["fail", "ask", "done"]);
    await graph.invoke(new Command({ resume: "yes" }), thread("ask"));
    expect(await ids(on, { status: "waiting" })).toEqual([]);
    expect(await ids(on, { status: "finished" })).toEqual(["ask", "done"]);
  });

  it("wrong options are refused", async () => {
    const on = saver(kind);
    const refused = async (options: object) => (await rejection(on.listThreads(options as never))).message;
    expect(await refused({ ordr: "asc" })).toMatch(/Did you mean "order"/);
    expect(await refused({ status: "open" })).toMatch(/"status" must be "waiting", "failed", /);
    expect(await refused({ status: ["waiting", 1] })).toMatch(/"status" must be "waiting", "failed", /);
    expect(await refused({ order: "up" })).toBe('option "order" must be "desc" or "asc", but is "up"');
    expect(await refused({ filter: 7 })).toMatch(/"filter" must be an object/);
    expect(await refused({ filter: [] })).toMatch(/"filter" must be an object/);
    expect(await refused({ withNext: 1 })).toMatch(/"withNext" must be true or false/);
    for (const cursor of ["x", "", "0", "-1", "1.5", 1, "1 OR 1=1"])
      expect(await refused({ cursor }), String(cursor)).toMatch(/cursor/);
    for (const limit of [0, -1, 1.5, Number.NaN, Infinity, "10", null, 100_001])
      expect(await refused({ limit }), String(limit)).toMatch(/"limit"/);
    for (const options of [null, 10, [10]])
      expect(await refused(options as never)).toMatch(/options must be an object/);
  });
});

it("20 short threads take fewer bytes than in SqliteSaver", async () => {
  // SqliteSaver 1.0.4 takes 86,016 bytes for the same threads: 21 pages.
  const path = place("sqlite");
  const on = new ForkpointSaver(path);
  const graph = sequence(MessagesAnnotation, {
    model: () => ({ messages: [new AIMessage("Hello there, how can I help?")] }),
  }).compile({ checkpointer: on });
  for (let i = 0; i < 20; i++) {
    const threadId = `thread-${i}`;
    await graph.invoke({ messages: [new HumanMessage(`Hi ${i}`)] }, { configurable: { thread_id: threadId } });
  }
  await on.close();
  expect(statSync(path).size).toBeLessThan(86_016);
});
