// Ids, names and labels of any text, also where the database has another encoding than UTF-8.
import { ForkpointSaver } from "forkpoint/langgraph";
import { type Checkpoint, CheckpointStore } from "forkpoint";
import { expect, it, onTestFinished } from "vitest";
import { randomBelow, seed } from "../../__test__/faults/faults.js";
import { open } from "../../__test__/helpers.js";
import { amount, emptyUrl, onServer } from "./faults.js";

/** How many checkpoints each database gets. */
const count = amount("FORKPOINT_FAULT_TEXTS", 15);

/** The longest id, in bytes. */
const LONGEST = 4_096;

/** Makes texts of random characters of all planes, with U+0000. Their UTF-8 has exactly so many bytes. */
function texts(salt: number): (bytes: number) => string {
  const below = randomBelow(seed * 97 + salt);
  const ranges: Array<[from: number, count: number]> = [
    [0, 0x80],
    [0x80, 0x780],
    [0x800, 0xd000],
    [0x10000, 0x100000],
  ];
  return (bytes) => {
    let text = "";
    for (let left = bytes; left > 0;) {
      const size = below(Math.min(left, 4));
      const [from, size1] = ranges[size]!;
      text += String.fromCodePoint(from + below(size1));
      left -= size + 1;
    }
    return text;
  };
}

const state = (n: number) => ({ input: {}, scratch: { n }, artifacts: {}, diagnostics: {} as any });

onServer("oldest", (server) => {
  it.each(["UTF8", "LATIN1", "SQL_ASCII"])("random ids of 4 KB come back from a database in %s", async (encoding) => {
    const url = await emptyUrl(server(), {
      options: `ENCODING '${encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'`,
    });
    const text = texts(encoding.length);
    // Short texts are soon drawn twice, and a second save under an id replaces the first.
    const drawn = new Set<string>();
    const unused = (bytes: number) => {
      for (;;) {
        const id = text(bytes);
        if (drawn.has(id)) continue;
        drawn.add(id);
        return id;
      }
    };
    const sizes = [1, 2, 999, 1_000, 1_001, 2_704, LONGEST];
    const saved: Checkpoint[] = Array.from({ length: count }, (_, n) => ({
      // Two of them differ in the last bytes only, after the part that an index holds.
      id: n % 5 === 4 ? "" : unused(sizes[n % sizes.length]!),
      graphId: text(LONGEST),
      runId: text(n % 3 === 0 ? 12 : LONGEST),
      nodeId: text(n % 2 === 0 ? LONGEST : 7),
      timestamp: 1_000 + n,
      state: state(n),
      nodeResults: {},
      visitedNodes: [],
      pendingEdges: [],
    }));
    for (const [n, one] of saved.entries())
      if (one.id === "") one.id = [...saved[n - 1]!.id, ...text(900)].slice(0, 1_000).join("") + text(4);
    const first = new CheckpointStore(url);
    await Promise.all(saved.map((one) => first.save(one)));
    await first.close();
    const store = open(url);
    for (const one of saved) {
      expect(await store.get(one.id)).toEqual(one);
      expect(await store.latest(one.runId)).toEqual(one);
      expect(await store.load(one.runId, one.nodeId)).toEqual(one);
      expect((await store.list(one.graphId)).map(({ id }) => id)).toEqual([one.id]);
    }
    expect(await store.get(text(LONGEST))).toBeNull();
    expect((await store.check()).findings).toEqual([]);
    for (const one of saved) await store.delete(one.id);
    expect((await store.stats()).checkpoints).toBe(0);
  });

  it.each(["LATIN1", "SQL_ASCII"])("threads, tasks and channels come back from a database in %s", async (encoding) => {
    const url = await emptyUrl(server(), {
      options: `ENCODING '${encoding}' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'`,
    });
    const text = texts(encoding.length * 7);
    const saver = new ForkpointSaver(url);
    onTestFinished(() => saver.close());
    for (let n = 0; n < count; n++) {
      const [thread_id, checkpoint_ns, id, channel, task] = [text(1_000), text(300), text(1_200), text(50), text(900)];
      const config = { configurable: { thread_id, checkpoint_ns } };
      const checkpoint = {
        v: 4,
        id,
        ts: "2026-01-01T00:00:00.000Z",
        channel_values: { [channel]: text(2_000) },
        channel_versions: { [channel]: 1 },
        versions_seen: {},
      };
      await saver.put(config, checkpoint, { source: "input", step: -1, parents: {} }, { [channel]: 1 });
      const at = { configurable: { thread_id, checkpoint_ns, checkpoint_id: id } };
      const value = text(1_500);
      await saver.putWrites(at, [[channel, value]], task);
      const tuple = await saver.getTuple(config);
      expect(tuple?.checkpoint).toEqual(checkpoint);
      expect(tuple?.pendingWrites).toEqual([[task, channel, value]]);
    }
    expect((await saver.check()).findings).toEqual([]);
  });
});
