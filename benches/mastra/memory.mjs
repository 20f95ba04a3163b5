// Measures the memory of agents: a turn, and what an agent reads before it, in short and long threads, beside Mastra's own stores.
import { compare, sized } from "../lib/measure.mjs";
import { onDisk } from "../lib/peers.mjs";
import { bytes, print, progress, spread, table, time, times } from "../lib/report.mjs";
import { prose } from "../lib/states.mjs";

const LONG = sized(10_000, 500);
const COUNT = sized(100, 10);

function message(id, threadId, at) {
  const content = { format: 2, parts: [{ type: "text", text: prose(1_000, at) }] };
  return { id, threadId, resourceId: "user", role: "user", type: "text", createdAt: new Date(1.6e12 + at), content };
}

/** The two messages of a turn. */
const turn = (threadId, at) => [
  message(`${threadId}.${at}`, threadId, at),
  message(`${threadId}.${at}b`, threadId, at + 0.5),
];

async function filled(storage, length) {
  await storage.init?.();
  const memory = await storage.getStore("memory");
  const threadId = `thread-${length}`;
  const [createdAt, updatedAt] = [new Date(), new Date()];
  await memory.saveThread({ thread: { id: threadId, resourceId: "user", title: "A thread", createdAt, updatedAt } });
  for (let at = 0; at < length / 2; at += 50) {
    const turns = Array.from({ length: Math.min(50, length / 2 - at) }, (_, n) => turn(threadId, 2 * (at + n)));
    await memory.saveMessages({ messages: turns.flat() });
  }
  return { memory, threadId, next: length };
}

/** `open` makes a storage for each side. `path` is the folder of the files. */
export async function memoryBench(open, path) {
  const sides = Object.keys(open);
  const orderBy = { field: "createdAt", direction: "DESC" };
  const rows = [];
  const add = (what, of) => {
    for (const [name, figure] of [
      [what, "wall"],
      ["its event loop", "loop"],
    ]) {
      rows.push([
        name,
        ...sides.map((side) => spread(of[side][figure], time)),
        ...sides.slice(1).map((side) => times(of.ours[figure], of[side][figure])),
      ]);
    }
  };
  const sizes = {};
  for (const length of [10, LONG]) {
    progress(`threads of ${length} messages`);
    const threads = {};
    const storages = {};
    for (const side of sides) {
      storages[side] = open[side](`memory-${length}`);
      threads[side] = await filled(storages[side], length);
    }
    const works = {
      "a turn of two messages of 1 KB": async ({ memory, threadId }, of) => {
        const at = of.next++ * 2;
        await memory.saveMessages({ messages: turn(threadId, at) });
      },
      "the last 10 messages": ({ memory, threadId }) =>
        memory.listMessages({ threadId, resourceId: "user", perPage: 10, orderBy, includeTotal: false }),
      "the last page of 40, counted": ({ memory, threadId }) =>
        memory.listMessages({ threadId, resourceId: "user", perPage: 40, orderBy }),
      "a change of the thread's metadata": ({ memory, threadId }, of) =>
        memory.updateThread({ id: threadId, metadata: { turn: of.next++ } }),
    };
    for (const [what, work] of Object.entries(works)) {
      progress(`${what}, at ${length}`);
      const each = Object.fromEntries(sides.map((side) => [side, () => work(threads[side], threads[side])]));
      add(`${what}, at ${length}`, await compare(each, { count: COUNT }));
    }
    for (const side of sides) await storages[side].close?.();
  }
  print();
  table(
    ["work of an agent's memory", "forkpoint: WAL, FULL", "LibSQLStore", "InMemoryStore", "to LibSQL", "to memory"],
    rows,
  );
  progress("bytes of memory");
  for (const side of ["ours", "libsql"]) {
    const storage = open[side]("messages");
    await filled(storage, LONG);
    await storage.close();
    sizes[side] = onDisk(path(side === "ours" ? "messages.db" : "messages.libsql"));
  }
  print();
  table(
    [`a thread of ${LONG} messages of 1 KB`, "bytes", "forkpoint"],
    [
      ["LibSQLStore, on the disk", bytes(sizes.libsql), `x${(sizes.libsql / sizes.ours).toFixed(1)}`],
      ["forkpoint, on the disk", bytes(sizes.ours), ""],
    ],
  );
}
