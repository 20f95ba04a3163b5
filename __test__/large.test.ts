// Large payloads are written through different code than small payloads. Reads must not show a difference.
import { join } from "node:path";
import { type Checkpoint } from "forkpoint";
import { describe, expect, test } from "vitest";
import { checkpoint, folder, holding, ids, open } from "./helpers.js";

const graphId = "graph-a-1700000000000";
/** Returns text that is too large to be compressed on the writer thread. */
const text = (seed: number) =>
  Array.from({ length: 60_000 }, (_, i) => ((i * 7919 + seed) % 99_991).toString(36)).join(" ");
const large = (fields: Partial<Checkpoint> = {}, seed = 1) => ({ ...holding({ text: text(seed) }), ...fields });
const inFile = () => {
  const path = join(folder(), "agent.db");
  return { path, store: open(path) };
};

test("a read after a large save sees it, even if the save was not awaited", async () => {
  const { store } = inFile();
  const one = large();
  const saved = store.save(one);
  const [got, latest, listed] = await Promise.all([store.get(one.id), store.latest(one.runId), store.list(graphId)]);
  expect(got).toEqual(one);
  expect(latest).toEqual(one);
  expect(ids(listed)).toEqual([one.id]);
  await saved;
});

test("within a run, saves are done in the order of the calls", async () => {
  const { store } = inFile();
  const done: string[] = [];
  const saves = Array.from({ length: 8 }, (_, index) => {
    const fields = { id: `${index}`, timestamp: 1_700_000_000_000 };
    const one = index % 2 === 0 ? large(fields, index) : { ...holding(index), ...fields };
    return store.save(one).then(() => done.push(one.id));
  });
  const other = store.save(checkpoint({ runId: "another", id: "other" })).then(() => done.push("other"));
  await Promise.all([...saves, other]);
  const order = ["0", "1", "2", "3", "4", "5", "6", "7"];
  expect(done.filter((id) => id !== "other")).toEqual(order);
  // With equal timestamps, the checkpoint that was saved last is the newest.
  expect(ids(await store.listByRun("run-1"))).toEqual(order.toReversed());
});

test("the same id again, small and large in turns: the last one stays", async () => {
  const { store } = inFile();
  const versions = Array.from({ length: 6 }, (_, index) =>
    index % 2 === 0 ? large({ id: "same" }, index) : { ...holding({ index }), id: "same" },
  );
  await Promise.all(versions.map((one) => store.save(one)));
  expect(await store.get("same")).toEqual(versions.at(-1));
  expect(ids(await store.list(graphId))).toEqual(["same"]);
});

test("a fork, a delete and a prune come after the large save that they are about", async () => {
  const { store } = inFile();
  const [kept, gone] = [large({}, 1), large({ runId: "gone" }, 2)];
  const saves = [store.save(kept), store.save(gone)];
  const forked = store.fork(kept.id, { scratch: { forked: true } } as never);
  const deleted = store.delete(gone.id);
  const pruned = store.prune({ keepLastN: 1 });
  await Promise.all([...saves, deleted]);
  expect((await pruned).removed).toBe(0);
  expect(await store.get(gone.id)).toBeNull();
  const run = await forked;
  expect((await store.latest(run))!.state.scratch).toEqual({ ...(kept.state.scratch as object), forked: true });
});

describe("memory that is given back is nobody's", () => {
  const bytes = (length: number) => Uint8Array.from({ length }, (_, i) => (i * 31) % 251);
  const kinds = ["memory:", "file"] as const;
  const opened = (kind: (typeof kinds)[number], options?: object) =>
    open(kind === "file" ? join(folder(), "agent.db") : kind, options);

  test.each(kinds)("%s: bytes in a state", async (kind) => {
    const store = opened(kind);
    const given = { array: bytes(300_000), buffer: Buffer.from(bytes(200_000)), whole: bytes(100_000).buffer };
    const one = holding(given);
    await store.save(one);
    // The caller's buffers are still usable.
    expect([given.array.length, given.buffer.length, given.whole.byteLength]).toEqual([300_000, 200_000, 100_000]);
    const [first, second] = await Promise.all([store.get(one.id), store.latest("run-1")]);
    const [a, b] = [first, second].map((found) => found!.state.scratch as typeof given);
    const isWhole = ({ array, buffer, whole }: typeof given) =>
      Buffer.from(array).equals(bytes(300_000)) &&
      buffer.equals(bytes(200_000)) &&
      Buffer.from(whole).equals(bytes(100_000));
    expect(isWhole(a!)).toBe(true);
    a!.array.fill(0);
    a!.buffer.fill(0);
    expect([isWhole(a!), isWhole(b!)]).toEqual([false, true]);
    expect(isWhole((await store.get(one.id))!.state.scratch as typeof given)).toBe(true);
  });

  test.each(kinds)("%s: what a serializer of the user's keeps", async (kind) => {
    const kept: Uint8Array[] = [];
    const read: Uint8Array[] = [];
    const serializer = {
      name: "keeps",
      serialize(value: unknown) {
        kept.push(Buffer.from(JSON.stringify(value)));
        return kept.at(-1)!;
      },
      deserialize(stored: Uint8Array) {
        read.push(stored);
        return JSON.parse(Buffer.from(stored).toString()) as object;
      },
    };
    const store = opened(kind, { serializer });
    const one = large();
    await store.save(one);
    expect(await store.get(one.id)).toEqual(one);
    expect(kept.length).toBeGreaterThan(0);
    for (const each of kept) expect(read.some((other) => Buffer.from(other).equals(each))).toBe(true);
  });

  test("many at once, of which each is read while others are saved", async () => {
    const store = opened("file");
    const all = Array.from({ length: 24 }, (_, index) => large({ runId: `run-${index % 5}` }, index));
    await Promise.all(
      all.map(async (one, index) => {
        await store.save(one);
        expect(await store.get(one.id)).toEqual(one);
        if (index > 0) await store.get(all[index - 1]!.id);
      }),
    );
    for (const one of all) expect(await store.get(one.id)).toEqual(one);
  });
});
