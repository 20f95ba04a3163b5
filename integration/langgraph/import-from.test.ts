// `importFrom`: the threads of any checkpointer of LangGraph, through its public methods.
import { type BaseCheckpointSaver, type CheckpointTuple, MemorySaver } from "@langchain/langgraph-checkpoint";
import type { ForkpointSaver } from "forkpoint/langgraph";
import { describe, expect, it } from "vitest";
import { fill } from "./export-to.js";
import { importAgain, tuplesOf } from "./import-again.js";
import { all, checkpoint, kinds, mainKinds, metadata, rejection, saver, thread } from "./helpers.js";
import { otherSavers, salted } from "./other-savers.js";

/** MemorySaver reads all writes as JSON, so bytes need a serializer that makes JSON of them. */
function jsonOnly(saver: BaseCheckpointSaver): void {
  const { serde } = saver;
  saver.serde = {
    dumpsTyped: async (value) =>
      serde.dumpsTyped(value instanceof Uint8Array ? { hex: Buffer.from(value).toString("hex") } : value),
    loadsTyped: async (type, bytes) => {
      const value = await serde.loadsTyped(type, bytes);
      return typeof value?.hex === "string" ? new Uint8Array(Buffer.from(value.hex, "hex")) : value;
    },
  };
}

for (const { name, make } of otherSavers) {
  const of = name === "MemorySaver" ? kinds : kinds.slice(0, 1);
  describe(`from ${name}`, () =>
    importAgain(of, async () => {
      const old = await make();
      if (name === "MemorySaver") jsonOnly(old);
      return { saver: old, importInto: (target, options) => target.importFrom(old, options) };
    }));
}

/** A MemorySaver with something different about its reads. */
class Peculiar extends MemorySaver {
  lists: object[] = [];

  override async *list(config: any, options?: any): AsyncGenerator<CheckpointTuple> {
    this.lists.push({ config, options });
    for await (const tuple of super.list(config, options)) yield this.shown(tuple);
  }

  shown(tuple: CheckpointTuple): CheckpointTuple {
    return tuple;
  }
}

async function expectImported(target: ForkpointSaver, old: BaseCheckpointSaver): Promise<void> {
  const like = new MemorySaver();
  Object.assign(like, { storage: (old as MemorySaver).storage, writes: (old as MemorySaver).writes });
  expect(await tuplesOf(target)).toEqual(await tuplesOf(like));
}

describe("savers that read in their own way", () => {
  it("lists few checkpoints unless it gets a limit, the last saved first", async () => {
    class Few extends Peculiar {
      override async *list(config: any, { limit = 3, ...options }: any = {}): AsyncGenerator<CheckpointTuple> {
        yield* (await all(super.list(config, { limit, ...options }))).toReversed();
      }
    }
    const old = new Few();
    await fill(old);
    const target = saver("memory");
    expect(await target.importFrom(old)).toMatchObject({ threads: 6, ofThreads: 6, skipped: 0 });
    await expectImported(target, old);
    // The thread that was active last comes first.
    expect((await target.listThreads({ limit: 1 })).threads[0]).toMatchObject({ threadId: "deltas" });
  });

  it("lists a thread only: the ids must be given", async () => {
    class OneThread extends Peculiar {
      override async *list(config: any, options?: any): AsyncGenerator<CheckpointTuple> {
        if (config.configurable?.thread_id === undefined) throw new Error("thread_id is required");
        yield* super.list(config, options);
      }
    }
    const old = new OneThread();
    await fill(old);
    const target = saver("memory");
    const error = await rejection(target.importFrom(old));
    expect(error).toMatchObject({
      code: "UNAVAILABLE",
      message:
        "cannot read the saver to import: Error: thread_id is required. If it cannot list all threads, pass the ids of the " +
        'threads as the option "threads"',
      cause: expect.objectContaining({ message: "thread_id is required" }),
    });
    expect(await all(target.list({}))).toEqual([]);
    const threads = ["waiting", "questions", "failed", "nested", "long", "deltas", "no such thread"];
    expect(await target.importFrom(old, { threads })).toMatchObject({ threads: 6, ofThreads: 6, skipped: 0 });
    await expectImported(target, old);
  });

  it("lists one namespace of a thread, leaves parents or the writes out", async () => {
    class Lacking extends Peculiar {
      override async *list(config: any, options?: any): AsyncGenerator<CheckpointTuple> {
        const isOne = config.configurable?.thread_id !== undefined;
        for await (const tuple of super.list(config, options)) {
          const { checkpoint_ns } = tuple.config.configurable!;
          if (isOne && (checkpoint_ns !== "" || tuple.checkpoint.id.endsWith("3"))) continue;
          const { pendingWrites, ...rest } = tuple;
          expect(pendingWrites).toBeDefined();
          yield rest;
        }
      }
    }
    const old = new Lacking();
    await fill(old);
    const target = saver("memory");
    expect(await target.importFrom(old)).toMatchObject({ threads: 6, skipped: 0 });
    await expectImported(target, old);
  });

  it("fails in the middle: what was imported stays, and the next import adds the rest", async () => {
    class Failing extends Peculiar {
      left = 12;
      override shown(tuple: CheckpointTuple): CheckpointTuple {
        if (tuple.config.configurable!["thread_id"] === "nested" && (this.left -= 1) < 0)
          throw new Error("socket closed");
        return tuple;
      }
    }
    const old = new Failing();
    await fill(old);
    old.left = 4;
    const target = saver("memory");
    expect(await rejection(target.importFrom(old))).toMatchObject({
      code: "UNAVAILABLE",
      retryable: true,
      message: expect.stringContaining("cannot read the saver to import: Error: socket closed"),
    });
    old.left = 1_000;
    expect(await target.importFrom(old)).toMatchObject({ threads: 6, skipped: 0 });
    await expectImported(target, old);
  });

  it("the program goes on while a large thread is read", async () => {
    const config = thread("large");
    const big = () => "x".repeat(6 << 20);
    class Growing extends Peculiar {
      reads = 0;
      override async getTuple(of: any): Promise<CheckpointTuple | undefined> {
        const tuple = await super.getTuple(of);
        this.reads += 1;
        if (tuple === undefined) return undefined;
        const at = { ...config.configurable, checkpoint_ns: "", checkpoint_id: tuple.checkpoint.id };
        await this.putWrites({ configurable: at }, [["log", this.reads]], `task ${this.reads}`);
        return tuple;
      }
    }
    const old = new Growing();
    let parent = {};
    for (let n = 0; n < 6; n++) {
      const next = checkpoint({ channel_values: { text: `${n}${big()}` }, channel_versions: { text: n + 1 } });
      await old.put(thread("large", parent), next, metadata());
      parent = { checkpoint_id: next.id };
    }
    const target = saver("memory");
    expect(await target.importFrom(old)).toMatchObject({ threads: 1, checkpoints: 6, skipped: 0 });
    expect(old.reads).toBeGreaterThan(12);
    expect(
      (await all(target.list(config))).map(({ checkpoint: { channel_values } }) => channel_values["text"]),
    ).toEqual([5, 4, 3, 2, 1, 0].map((n) => `${n}${big()}`));
  });

  it("takes checkpoints before version 4, with their pending sends", async () => {
    const old = new MemorySaver();
    const first = { ...checkpoint({ channel_versions: { a: 1 }, channel_values: { a: 1 } }), v: 3 };
    await old.put(thread("old"), first, metadata());
    const at = { configurable: { ...thread("old").configurable, checkpoint_ns: "", checkpoint_id: first.id } };
    await old.putWrites(at, [["__pregel_tasks", { lg_name: "Send", node: "work", args: 1 }]], "task");
    const second = { ...checkpoint({ channel_versions: { a: 1 }, channel_values: { a: 1 } }), v: 3 };
    await old.put(at, second, metadata());
    const target = saver("memory");
    expect(await target.importFrom(old)).toMatchObject({ threads: 1, checkpoints: 2, writes: 1 });
    await expectImported(target, old);
    const other = new MemorySaver();
    expect(await target.exportTo(other)).toMatchObject({ threads: 1, skipped: 0 });
    expect(await tuplesOf(other)).toEqual(await tuplesOf(old));
  });
});

describe.each(mainKinds)("into %s", (kind) => {
  it("with a serializer that writes other bytes each time", async () => {
    const old = new MemorySaver();
    await fill(old);
    const target = saver(kind, { serde: salted() });
    const first = await target.importFrom(old);
    expect(first).toMatchObject({ threads: 6, skipped: 0 });
    expect(await target.importFrom(old)).toEqual(first);
    await expectImported(target, old);
    const other = new MemorySaver();
    expect(await target.exportTo(other)).toEqual(first);
    expect(await tuplesOf(other)).toEqual(await tuplesOf(old));
  });

  it("refuses what is no other saver, wrong options, and values that it cannot hold", async () => {
    const target = saver(kind);
    for (const wrong of [undefined, null, 1, "redis://localhost", {}, { getTuple() {}, list() {}, put() {} }]) {
      for (const call of ["importFrom", "exportTo"] as const) {
        const error = await rejection(target[call](wrong as never));
        expect(error).toMatchObject({ name: "TypeError", code: "INVALID_ARGUMENT" });
        expect(error.message).toContain("must be a checkpointer of LangGraph with a method");
      }
    }
    for (const call of ["importFrom", "exportTo"] as const) {
      expect(await rejection(target[call](target as never))).toMatchObject({
        code: "INVALID_ARGUMENT",
        message: expect.stringContaining("is this saver itself"),
      });
      expect(await rejection(target[call](new MemorySaver(), { thread: [] } as never))).toMatchObject({
        name: "TypeError",
        message: expect.stringContaining('Unknown option "thread"'),
      });
    }
    const old = new MemorySaver({
      dumpsTyped: async (value: unknown) => ["json", value] as never,
      loadsTyped: async (_: string, value: unknown) => value,
    });
    await old.put(thread("big"), checkpoint({ channel_values: { n: 1n }, channel_versions: { n: 1 } }), metadata());
    const error = await rejection(target.importFrom(old));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(error.message).toMatch(
      /^checkpoint ".*" of thread "big" cannot be imported: channel "n" cannot be stored: /,
    );
    expect(await all(target.list({}))).toEqual([]);
    await target.close();
    expect(await rejection(target.importFrom(new MemorySaver()))).toMatchObject({ code: "CLOSED" });
    expect(await rejection(target.exportTo(new MemorySaver()))).toMatchObject({ code: "CLOSED" });
  });
});
