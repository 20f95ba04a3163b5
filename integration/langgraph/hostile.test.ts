// Hostile arguments, values and names: a saver keeps them exactly or refuses them before it writes anything.
import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { ForkpointError, isForkpointError } from "forkpoint";
import { ForkpointSaver } from "forkpoint/langgraph";
import { afterAll, afterEach, beforeAll, describe, expect, it, test } from "vitest";
import { type Methods, nested, revoked, wrongAnswers } from "../../__test__/hostile-values.js";
import { type Kind, all, checkpoint, mainKinds, metadata, open, place, rejection, saver, thread } from "./helpers.js";

const [high, low] = ["\ud83d", "\ude00"];

/** Rejections that nobody handled. One of these would end a user's process. */
const unhandled: unknown[] = [];
const note = (error: unknown) => void unhandled.push(error);
beforeAll(() => void process.on("unhandledRejection", note));
afterAll(() => void process.off("unhandledRejection", note));
afterEach(async () => {
  await new Promise((resolve) => setImmediate(resolve));
  expect(unhandled).toEqual([]);
});

async function refused(promise: Promise<unknown>, ...texts: string[]): Promise<ForkpointError> {
  const error = await rejection(promise);
  expect([isForkpointError(error), error.code, (error as ForkpointError).retryable], error.stack).toEqual([
    true,
    "INVALID_ARGUMENT",
    false,
  ]);
  for (const text of texts) expect(error.message).toContain(text);
  return error as ForkpointError;
}

const isEmpty = async (checkpointer: ForkpointSaver) => {
  expect(await all(checkpointer.list({}))).toEqual([]);
  expect((await checkpointer.stats()).checkpoints).toBe(0);
};

const channels = (values: Record<string, unknown>) =>
  [
    checkpoint({
      channel_values: values,
      channel_versions: Object.fromEntries(Object.keys(values).map((k) => [k, 1])),
    }),
    Object.fromEntries(Object.keys(values).map((name) => [name, 1])),
  ] as const;

const put = (to: ForkpointSaver, values: Record<string, unknown>, config = thread()) => {
  const [checkpointed, versions] = channels(values);
  return to.put(config, checkpointed, metadata(), versions);
};

const config = () => ({
  configurable: { thread_id: "thread", checkpoint_ns: "", checkpoint_id: "id", expected_parent: false },
});
const step = () => ({ dryRun: true, onProgress() {}, signal: new AbortController().signal });

/** A saver that has nothing. What it returns is no argument, so it is not varied. */
class Empty {
  async getTuple() {}
  async *list() {}
  async put() {}
  async putWrites() {}
}

const calls: Record<string, () => unknown[]> = {
  getTuple: () => [config()],
  list: () => [config(), { limit: 2, before: config(), filter: { source: "loop" } }],
  put: () => [
    config(),
    { ...channels({ a: { b: 1 } })[0], versions_seen: { node: { a: 1 } } },
    metadata({ a: { b: 1 } }),
    { a: 1 },
  ],
  putWrites: () => [config(), [["a", { b: 1 }]], "task", "path"],
  deleteThread: () => ["other"],
  getDeltaChannelHistory: () => [{ config: config(), channels: ["a"] }],
  prune: () => [["thread"], { keepLastN: 5, olderThan: 1 }, step()],
  deleteForRuns: () => [["run"], step()],
  copyThread: () => ["thread", `copy-${Math.random()}`],
  listThreads: () => [{ limit: 1, cursor: null, order: "asc", filter: { a: 1 }, withNext: true }],
  status: () => ["thread"],
  importFrom: () => [new Empty(), { onProgress() {}, signal: new AbortController().signal }],
  exportTo: () => [new Empty(), { onProgress() {}, signal: new AbortController().signal }],
  importPostgresSaver: () => [{ pool: {} }, { onProgress() {}, signal: new AbortController().signal }],
  importSqliteSaver: () => ["no such file", { onProgress() {}, signal: new AbortController().signal }],
  check: () => [{ onProgress() {} }],
  stats: () => [{ largest: 1 }],
  lease: () => [{ space: "langgraph", run: `run-${Math.random()}`, ns: "ns" }, { ttlMs: 1_000 }],
};

const ways = [false, true].flatMap((lease) => Object.keys(calls).map((method) => ({ method, lease })));

test.each(ways)("$method() rejects hostile arguments with an error of this package, lease: $lease", async (way) => {
  const { method, lease } = way;
  const checkpointer = saver("memory", { lease });
  await put(checkpointer, { a: 1 });
  const subject = checkpointer as unknown as Methods;
  const { calls: made, wrong } = await wrongAnswers(subject, method, calls[method]!, isForkpointError);
  expect(wrong, `${made} calls`).toEqual([]);
  // Everything that was accepted can be read.
  for (const { metadata: read } of await all(checkpointer.list({}))) expect(read).toBeDefined();
  // A write may come before its checkpoint.
  expect((await checkpointer.check()).findings.filter(({ severity }) => severity !== "note")).toEqual([]);
});

test("the constructor throws an error of this package for hostile options", () => {
  const hostile = [
    revoked(),
    { serde: revoked() },
    { expectedParent: revoked() },
    { keepLastN: revoked() },
    { lease: revoked() },
    { lease: { ttlMs: revoked() } },
    Object.defineProperty({}, "serde", { enumerable: true, get: () => revoked().toString() }),
  ];
  for (const options of hostile) {
    let thrown: unknown;
    try {
      void new ForkpointSaver("memory:", options as never).close();
    } catch (error) {
      thrown = error;
    }
    expect(isForkpointError(thrown)).toBe(true);
  }
});

describe.each<Kind>(mainKinds)("%s", (kind) => {
  it.each([
    ["a function", () => () => 1],
    ["a symbol", () => Symbol("s")],
    ["an object that becomes a function", () => ({ toJSON: () => () => 1 })],
  ])("%s is refused as a channel's value, as a write and as metadata, and nothing is stored", async (_, make) => {
    const checkpointer = saver(kind);
    await refused(put(checkpointer, { fine: 1, handler: make() }), 'channel "handler"', "cannot be stored");
    await refused(checkpointer.put(thread(), checkpoint(), make() as never, {}), "the metadata");
    await isEmpty(checkpointer);
    const at = await put(checkpointer, { fine: 1 });
    const writes = [["fine", 1] as [string, unknown], ["handler", make()] as [string, unknown]];
    await refused(checkpointer.putWrites(at, writes, "task"), 'the write to channel "handler"');
    expect((await checkpointer.getTuple(at))!.pendingWrites).toEqual([]);
  });

  it("whatever nesting is accepted can be read, and deeper nesting is refused with the channel's name", async () => {
    const checkpointer = saver(kind);
    const bottoms = { data: () => 1, "a Map": () => new Map([[1, 2]]), text: () => '"lc":' };
    let refusals = 0;
    for (const [name, bottom] of Object.entries(bottoms)) {
      for (const depth of [100, 1_000, 2_000, 3_000, 3_500, 4_000, 4_500, 5_000, 8_000, 20_000, 100_000]) {
        const config = thread(`${name} ${depth}`);
        const value = nested(depth, bottom());
        const error = await put(checkpointer, { deep: value }, config).catch((thrown: unknown) => thrown as Error);
        if (error instanceof Error) {
          refusals += 1;
          expect([isForkpointError(error), (error as ForkpointError).code], error.stack).toEqual([
            true,
            "INVALID_ARGUMENT",
          ]);
          expect(error.message).toContain('channel "deep"');
          expect(depth).toBeGreaterThan(1_000);
          continue;
        }
        let inner = (await checkpointer.getTuple(config))!.checkpoint.channel_values["deep"];
        for (let at = 0; at < depth; at++) inner = (inner as { deeper: unknown }).deeper;
        expect(inner).toEqual(bottom());
      }
    }
    expect(refusals).toBeGreaterThanOrEqual(9);
    await refused(checkpointer.put(thread("m"), checkpoint(), nested(5_000) as never, {}), "the metadata");
    const at = thread("w", { checkpoint_id: "id" });
    await refused(checkpointer.putWrites(at, [["deep", nested(5_000)]], "task"), 'the write to channel "deep"');
    expect(await checkpointer.getTuple(thread("m"))).toBeUndefined();
  });

  it("half of a surrogate pair is refused in every name that is written, and the names stay apart", async () => {
    const checkpointer = saver(kind);
    for (const half of [high, low, `a${high}`, `${low}a`, `${low}${high}`]) {
      await refused(put(checkpointer, { fine: 1, [half]: 2 }), "channel", "surrogate");
      await refused(put(checkpointer, {}, thread(half)), "thread_id");
      await refused(put(checkpointer, {}, thread("t", { checkpoint_ns: half })), "checkpoint_ns");
      await refused(put(checkpointer, {}, thread("t", { checkpoint_id: half })), "checkpoint_id");
      await refused(checkpointer.put(thread(), checkpoint({ id: half }), metadata(), {}), "checkpoint.id");
      const version = checkpoint({ channel_values: { a: 1 }, channel_versions: { a: half } });
      await refused(checkpointer.put(thread(), version, metadata(), { a: half }), 'version of channel "a"');
      const at = thread("t", { checkpoint_id: "id" });
      await refused(checkpointer.putWrites(at, [[half, 1]], "task"), "channel");
      await refused(checkpointer.putWrites(at, [["a", 1]], half), "taskId");
      await refused(checkpointer.putWrites(at, [["a", 1]], "task", half), "taskPath");
      await refused(checkpointer.putWrites(thread("t", { checkpoint_id: half }), [["a", 1]], "task"), "checkpoint_id");
      await refused(checkpointer.putWrites(thread(half, { checkpoint_id: "id" }), [["a", 1]], "task"), "thread_id");
      await refused(checkpointer.copyThread("t", half), "targetThreadId");
    }
    await isEmpty(checkpointer);
  });

  it("half of a surrogate pair finds nothing in reads, and is kept in values, keys and metadata", async () => {
    const checkpointer = saver(kind);
    const value = { [high]: low, [low]: [high, `a${low}`] };
    const [given, versions] = channels({ a: value });
    const at = await checkpointer.put(thread(), given, metadata(value), versions);
    await checkpointer.putWrites(at, [["a", value]], "task");
    const read = (await checkpointer.getTuple(at))!;
    expect(read.checkpoint.channel_values).toEqual({ a: value });
    expect(read.metadata).toEqual(metadata(value));
    expect(read.pendingWrites).toEqual([["task", "a", value]]);
    expect(await all(checkpointer.list({}, { filter: { [high]: low } }))).toHaveLength(1);
    // The replacement character is another character.
    expect(await all(checkpointer.list({}, { filter: { "\ufffd": low } }))).toEqual([]);
    expect(await all(checkpointer.list({}, { filter: { [high]: "\ufffd" } }))).toEqual([]);

    for (const half of [high, low]) {
      expect(await checkpointer.getTuple(thread(half))).toBeUndefined();
      expect(await checkpointer.getTuple(thread("thread", { checkpoint_id: half }))).toBeUndefined();
      expect(await all(checkpointer.list(thread(half)))).toEqual([]);
      expect(await checkpointer.status(half)).toBeNull();
      expect(await checkpointer.getDeltaChannelHistory({ config: at, channels: [half, "a"] })).toEqual({
        [half]: { writes: [] },
        a: { writes: [] },
      });
      await checkpointer.deleteThread(half);
    }
    expect((await checkpointer.stats()).checkpoints).toBe(1);
  });

  it("metadata that is null is read back, and does not disturb listings and removals", async () => {
    const checkpointer = saver(kind);
    const at = await checkpointer.put(thread(), checkpoint(), null as never, {});
    expect((await checkpointer.getTuple(at))!.metadata).toBeNull();
    expect(await all(checkpointer.list({}, { filter: { source: "loop" } }))).toEqual([]);
    expect((await checkpointer.listThreads({ filter: { source: "loop" } })).threads).toEqual([]);
    expect(await checkpointer.deleteForRuns(["run"])).toEqual({ removed: 0, namespaces: 0 });
    expect((await checkpointer.listThreads()).threads).toHaveLength(1);
  });
});

describe("a serde", () => {
  const plain: SerializerProtocol = {
    dumpsTyped: async (value) => ["mine", new TextEncoder().encode(JSON.stringify(value))],
    loadsTyped: async (_, data) =>
      JSON.parse(typeof data === "string" ? data : new TextDecoder().decode(data)) as unknown,
  };

  it.each<[string, () => never]>([
    ["an error", () => fail(new Error("mine"))],
    ["no error", () => fail(revoked())],
  ])("that throws %s fails the call with INVALID_ARGUMENT, and nothing is stored", async (_, throws) => {
    for (const dumpsTyped of [throws, async () => throws()]) {
      const checkpointer = open("memory:", { serde: { ...plain, dumpsTyped } });
      await refused(put(checkpointer, { a: 1 }), "cannot be stored: the serializer threw");
      await refused(checkpointer.putWrites(thread("t", { checkpoint_id: "id" }), [["a", 1]], "task"), 'channel "a"');
      await isEmpty(checkpointer);
    }
  });

  it.each<[string, unknown]>([
    ["undefined", undefined],
    ["no list", 7],
    ["a text in place of bytes", ["mine", "text"]],
    ["a type that is no text", [7, new Uint8Array()]],
    ["a type with a NUL", ["a\0b", new Uint8Array()]],
    ["a type with half of a surrogate pair", [high, new Uint8Array()]],
  ])("that returns %s fails the call, and nothing is stored", async (_, made) => {
    const checkpointer = open("memory:", { serde: { ...plain, dumpsTyped: async () => made as never } });
    await refused(put(checkpointer, { a: 1 }));
    await isEmpty(checkpointer);
  });

  it("that cannot read rejects with CORRUPT, which names what was read, and nothing else is disturbed", async () => {
    const target = place("sqlite");
    const first = open(target, { serde: plain });
    const at = await put(first, { a: 1 });
    await first.putWrites(at, [["w", 1]], "task");
    const mine = new SyntaxError("mine");
    const cases: Array<[text: string, breaks: (value: unknown) => boolean]> = [
      ["the metadata of checkpoint", (value) => typeof value === "object" && value !== null && "source" in value],
      ['channel "a" of checkpoint', (value) => value === 1],
      ["checkpoint", (value) => typeof value === "object" && value !== null && "channel_versions" in value],
    ];
    for (const [text, breaks] of cases) {
      const loadsTyped = async (type: string, data: Uint8Array | string) => {
        const value: unknown = await plain.loadsTyped(type, data);
        return breaks(value) ? fail(mine) : value;
      };
      const second = open(target, { serde: { ...plain, loadsTyped } });
      const error = await rejection(second.getTuple(at));
      expect([isForkpointError(error), error.code, error.cause], error.stack).toEqual([true, "CORRUPT", mine]);
      expect(error.message).toContain(text);
      expect(error.message).toContain("cannot be read");
      await second.close();
    }
    const filtering = open(target, { serde: { ...plain, loadsTyped: async () => fail(mine) } });
    for (const listing of [
      () => all(filtering.list({}, { filter: { source: "loop" } })),
      () => filtering.listThreads({ filter: { source: "loop" } }),
      () => filtering.deleteForRuns(["run"]),
    ])
      expect(await rejection(listing())).toMatchObject({ code: "CORRUPT", cause: mine });
    expect((await first.getTuple(at))!.pendingWrites).toEqual([["task", "w", 1]]);
  });

  it("writes metadata that LangGraph's serializer cannot parse: an error with a code", async () => {
    const target = place("sqlite");
    const broken = open(target, {
      serde: { ...plain, dumpsTyped: async () => ["json", new TextEncoder().encode("{")] },
    });
    const at = await put(broken, { a: 1 });
    const reader = open(target);
    for (const read of [
      () => reader.getTuple(at),
      () => all(reader.list({})),
      () => all(reader.list({}, { filter: { a: 1 } })),
    ]) {
      const error = await rejection(read());
      expect([isForkpointError(error), error.code, error.cause instanceof SyntaxError]).toEqual([
        true,
        "CORRUPT",
        true,
      ]);
    }
    expect((await reader.listThreads()).threads).toMatchObject([{ threadId: "thread", status: "unknown" }]);
  });
});

function fail(thrown: unknown): never {
  throw thrown;
}
