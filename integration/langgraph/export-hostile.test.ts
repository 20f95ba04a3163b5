// `exportTo` into savers that fail, lose or change something, in the middle of a thread, and again.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { deserialize, serialize } from "node:v8";
import { type CheckpointTuple, MemorySaver } from "@langchain/langgraph-checkpoint";
import { openStore } from "forkpoint";
import { ForkpointSaver } from "forkpoint/langgraph";
import { describe, expect, it } from "vitest";
import { Program } from "../../__test__/faults/faults.js";
import { fill } from "./export-to.js";
import { tuplesOf } from "./import-again.js";
import { all, checkpoint, folder, metadata, open, rejection, saver, thread } from "./helpers.js";

const script = fileURLToPath(new URL("fixtures/export.mjs", import.meta.url));

/** A store with two checkpoints in each of some threads, the second with a write. */
async function filled(ids = ["a", "b"]): Promise<ForkpointSaver> {
  const ours = saver("memory");
  for (const id of ids) {
    let parent = {};
    for (const n of [1, 2]) {
      const next = checkpoint({ channel_values: { text: `${n}` }, channel_versions: { text: n } });
      parent = (await ours.put(thread(id, parent), next, metadata({ step: n }), { text: n })).configurable!;
    }
    await ours.putWrites({ configurable: parent }, [["text", "3"]], "task");
    await ours.putWrites({ configurable: parent }, [["__interrupt__", { value: "well?" }]], "other task");
  }
  return ours;
}

/** A saver that does something wrong with the thread "a". */
class Wrong extends MemorySaver {
  isWrong = true;
  puts = 0;
  readonly how: string;

  constructor(how: string) {
    super();
    this.how = how;
  }

  is(how: string, config: any): boolean {
    return this.isWrong && this.how === how && config.configurable.thread_id === "a";
  }

  override async put(config: any, checkpoint: any, metadata: any, ...rest: unknown[]) {
    if (this.is("put throws", config) && (this.puts += 1) === 2) throw new Error("disk full");
    if (this.is("drops a checkpoint", config) && (this.puts += 1) === 1) return config;
    const [given, said] = [{ ...config }, { ...metadata }];
    if (this.is("forgets the parent", config)) given.configurable = { thread_id: "a", checkpoint_ns: "" };
    if (this.is("changes the metadata", config)) said.step = 0;
    return (super.put as any)(given, checkpoint, said, ...rest);
  }

  override async putWrites(config: any, writes: any, task: string) {
    if (this.is("putWrites throws", config)) throw "not even an error";
    if (this.is("drops a write", config) && task === "task") return;
    const more = this.is("adds a write", config) ? [...writes, ["more", 1]] : writes;
    return super.putWrites(config, more, task);
  }

  override async getTuple(config: any): Promise<CheckpointTuple | undefined> {
    const tuple = await super.getTuple(config);
    const id = config.configurable.checkpoint_id;
    if (tuple === undefined) return undefined;
    if (this.is("read throws", config)) throw new Error("cannot read");
    if (this.is("changes a value", config) && id) tuple.checkpoint.channel_values["text"] += "!";
    if (this.is("loses a value", config) && id) delete tuple.checkpoint.channel_values["text"];
    if (this.is("changes a write", config) && id) for (const write of tuple.pendingWrites!) write[2] = "other";
    if (this.is("changes a version", config) && id) tuple.checkpoint.channel_versions = { text: 9 };
    if (this.is("is not the newest", config) && !id && tuple.parentConfig) return super.getTuple(tuple.parentConfig);
    return tuple;
  }
}

describe("a saver that is wrong about one thread", () => {
  it.each([
    ["put throws", "refused", 'checkpoint ".*": put\\(\\) of the other saver failed: Error: disk full'],
    ["putWrites throws", "refused", "putWrites\\(\\) of the other saver failed: not even an error"],
    ["read throws", "refused", "getTuple\\(\\) of the other saver failed: Error: cannot read"],
    ["drops a checkpoint", "differs", "is missing: the other saver may keep only the newest one"],
    ["drops a write", "differs", 'a write to channel "text" of checkpoint ".*" is missing'],
    ["adds a write", "differs", "has more writes there"],
    ["forgets the parent", "differs", "the parent of checkpoint"],
    ["changes the metadata", "differs", "the metadata of checkpoint"],
    ["changes a value", "differs", 'channel "text" of checkpoint'],
    ["loses a value", "differs", 'channel "text" of checkpoint'],
    ["changes a write", "differs", 'a write to channel ".*" of checkpoint'],
    ["changes a version", "differs", 'the field "channel_versions" of checkpoint'],
    ["is not the newest", "differs", "is the newest one here, but not there"],
  ])("%s: it is reported, and the other thread is exported", async (how, why, message) => {
    const [ours, other] = [await filled(), new Wrong(how)];
    const result = await ours.exportTo(other);
    expect(result).toMatchObject({ threads: 1, ofThreads: 2, checkpoints: 2, writes: 2, skipped: 1 });
    expect(result.skippedThreads).toEqual([{ threadId: "a", why, message: expect.stringMatching(message) }]);
    expect(result.skippedThreads[0]!.message).toContain('thread "a"');
    expect(await tuplesOf(other, "b")).toEqual(await tuplesOf(ours, "b"));
    // The next export adds what is missing. What the other saver has is never replaced.
    other.isWrong = false;
    const again = await ours.exportTo(other);
    const isStored = ["forgets the parent", "changes the metadata"].includes(how);
    expect(again.skippedThreads.map(({ why: second }) => second)).toEqual(isStored ? ["differs"] : []);
    if (!isStored && how !== "adds a write") expect(await tuplesOf(other)).toEqual(await tuplesOf(ours));
  });
});

it("reports values that the other saver cannot hold", async () => {
  const structured = {
    dumpsTyped: async (value: unknown): Promise<[string, Uint8Array]> => ["v8", serialize(value)],
    loadsTyped: async (_: string, data: Uint8Array | string) => deserialize(data as Uint8Array),
  };
  const ours = saver("memory", { serde: structured });
  const ids: string[] = [];
  for (const [id, value] of [
    ["bigint", 1n],
    ["fine", { list: [1, { a: "ä" }], nothing: null }],
  ] as const) {
    const one = checkpoint({ channel_values: { value }, channel_versions: { value: 1 } });
    await ours.put(thread(id), one, metadata(), { value: 1 });
    ids.push(one.id);
  }
  const { threads, skippedThreads } = await ours.exportTo(new MemorySaver());
  expect(threads).toBe(1);
  expect(skippedThreads).toEqual([
    {
      threadId: "bigint",
      // MemorySaver writes the message of an error in place of the whole checkpoint.
      why: "refused",
      message: expect.stringMatching(
        new RegExp(
          `^thread "bigint", checkpoint "${ids[0]}": getTuple\\(\\) of the other saver failed: .*: it returned .* instead of a checkpoint$`,
        ),
      ),
    },
  ]);
});

it("a damaged thread is reported, and all others are exported", async () => {
  const where = join(folder(), "damaged.db");
  const broken = {
    ...new MemorySaver().serde,
    dumpsTyped: async (value: unknown): Promise<[string, Uint8Array]> => ["json", Buffer.from(JSON.stringify(value))],
    loadsTyped: async (_: string, data: Uint8Array | string) => {
      const text = Buffer.from(data as Uint8Array).toString();
      if (text.includes("poison")) throw new Error("wrong key");
      return JSON.parse(text);
    },
  };
  await using ours = new ForkpointSaver(where, { serde: broken });
  for (const text of ["poison", "fine"]) {
    const one = checkpoint({ channel_values: { text }, channel_versions: { text: 1 } });
    await ours.put(thread(text), one, metadata(), { text: 1 });
  }
  const { threads, skippedThreads } = await ours.exportTo(new MemorySaver());
  expect(threads).toBe(1);
  expect(skippedThreads).toMatchObject([{ threadId: "poison", why: "damaged" }]);
});

it("stops when it is aborted, when onProgress throws, and when the saver is closed", async () => {
  const ours = await filled(["a", "b", "c"]);
  const [first, reason] = [new MemorySaver(), new Error("enough")];
  const abort = new AbortController();
  const onProgress = ({ threads }: { threads: number }) => threads === 2 && abort.abort(reason);
  expect(await rejection(ours.exportTo(first, { signal: abort.signal, onProgress }))).toBe(reason);
  expect(Object.keys(first.storage)).toHaveLength(2);
  expect(await rejection(ours.exportTo(first, { signal: abort.signal }))).toBe(reason);
  const thrown = { onProgress: () => { throw reason; } }; // prettier-ignore
  expect(await rejection(ours.exportTo(new MemorySaver(), thrown))).toBe(reason);
  expect(await ours.exportTo(first, { threads: ["c", "a"] })).toMatchObject({ threads: 2, ofThreads: 2 });
  expect(await tuplesOf(first)).toEqual(await tuplesOf(ours));
  const closing = ours.exportTo(new MemorySaver(), { onProgress: () => void ours.close() });
  expect(await rejection(closing)).toMatchObject({ code: "CLOSED" });
});

it("exports from a read-only store, and to another store of Forkpoint", async () => {
  const where = join(folder(), "ours.db");
  const ours = open(where);
  await fill(ours);
  await using reader = new ForkpointSaver(where, { readOnly: true });
  await using store = await openStore("memory:");
  const [one, same] = [new ForkpointSaver(store), new ForkpointSaver(store)];
  const result = await reader.exportTo(one);
  expect(result).toMatchObject({ threads: 6, skipped: 0 });
  expect(await tuplesOf(one)).toEqual(await tuplesOf(ours));
  const { storedBytes } = await one.stats();
  expect(await one.exportTo(same)).toEqual(result);
  expect(await one.importFrom(same)).toMatchObject({ threads: 6, skipped: 0 });
  expect(await one.stats()).toMatchObject({ storedBytes });
});

it("a clock that was set back: parents come before their children all the same", async () => {
  const ours = saver("memory");
  const ids = ["3", "2", "1"];
  let parent = {};
  for (const id of ids) {
    await ours.put(thread("back", parent), { ...checkpoint(), id }, metadata(), {});
    parent = { checkpoint_id: id };
  }
  const puts: string[] = [];
  class Order extends MemorySaver {
    override async put(config: any, checkpoint: any, metadata: any) {
      puts.push(checkpoint.id);
      return super.put(config, checkpoint, metadata);
    }
  }
  // MemorySaver goes by the ids, so its latest checkpoint is another one: the report says so.
  const { skippedThreads } = await ours.exportTo(new Order());
  expect(skippedThreads).toMatchObject([{ threadId: "back", why: "differs" }]);
  expect(skippedThreads[0]!.message).toContain("the newest one here, but not there");
  expect(puts).toEqual(ids);
  const again = saver("memory");
  expect(await ours.exportTo(again)).toMatchObject({ threads: 1, skipped: 0 });
  expect((await again.getTuple(thread("back")))!.checkpoint.id).toBe("1");
});

/** Exports in a process, which `isEnough` kills after a line. Returns its lines: the progress, and at last its peak memory in bytes. */
async function exported(from: string, to: string, isEnough: (line: string) => boolean): Promise<string[]> {
  const onLine = () => isEnough(child.lines.at(-1)!) && child.kill();
  const child: Program = new Program([script, from, to], { onLine, deadlineMs: 240_000 });
  return (await child.ended).lines;
}

describe("a process of its own", () => {
  it("is killed in the middle, again and again: the next export completes it", { timeout: 180_000 }, async () => {
    const [from, to] = [join(folder(), "from.db"), join(folder(), "to.db")];
    const ours = open(from);
    for (let n = 0; n < 6; n++) {
      let parent = {};
      for (let step = 0; step < 20; step++) {
        const next = checkpoint({ channel_values: { text: `${step}` }, channel_versions: { text: step + 1 } });
        const at = await ours.put(thread(`t${n}`, parent), next, metadata({ step }), { text: step + 1 });
        await ours.putWrites(at, [["text", step]], "task");
        parent = at.configurable!;
      }
    }
    for (const count of [10, 60]) {
      await exported(from, to, (line) => line.startsWith("put") && Number(line.slice(4)) >= count);
    }
    const other = open(to);
    const there = (await all(other.list({}))).length;
    expect(there).toBeGreaterThan(0);
    expect(await ours.exportTo(other)).toMatchObject({ threads: 6, checkpoints: 120, writes: 120, skipped: 0 });
    expect(await tuplesOf(other)).toEqual(await tuplesOf(ours));
  });

  it("2,000 checkpoints of a large state: the memory stays small", { timeout: 240_000 }, async () => {
    const [from, to] = [join(folder(), "from.db"), join(folder(), "to.db")];
    const ours = open(from);
    let parent = {};
    const text = "x".repeat(100_000);
    for (let step = 0; step < 2_000; step++) {
      const next = checkpoint({
        channel_values: { text: `${step}${text}`, step },
        channel_versions: { text: step + 1, step: step + 1 },
      });
      parent = (await ours.put(thread("large", parent), next, metadata({ step }), { text: step + 1, step: step + 1 }))
        .configurable!;
    }
    const lines = await exported(from, to, () => false);
    expect(JSON.parse(lines.at(-2)!)).toMatchObject({ threads: 1, checkpoints: 2_000, skipped: 0 });
    // The thread has 200 MB.
    expect(Number(lines.at(-1))).toBeLessThan(100 << 20);
    const back = saver("memory");
    const other = open(to);
    expect(await back.importFrom(other)).toMatchObject({ threads: 1, checkpoints: 2_000, skipped: 0 });
  });
});
