// Measures the memory of agents: a turn, and what an agent reads before it, in short and long threads, beside Mastra's own stores.
import { compare, sized } from "../lib/measure.mjs";
import { onDisk } from "../lib/peers.mjs";
import { asDetails, bytes, progress } from "../lib/report.mjs";
import { prose } from "../lib/states.mjs";
import { rowsOf } from "./rows.mjs";

const LONG = sized(10_000, 500);
const COUNT = sized(100, 10);
/** The work that the document has. */
const SHOWN = new Set(["a turn of two messages of 1 KB", "the last 10 messages"]);

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

/** The rows of an agent's memory. `open` makes a storage for each side. */
export async function memoryRows(open) {
  const sides = Object.keys(open);
  const orderBy = { field: "createdAt", direction: "DESC" };
  const rows = [];
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
      const name = `${what}, at ${length.toLocaleString("en")}`;
      progress(name);
      const each = Object.fromEntries(sides.map((side) => [side, () => work(threads[side], threads[side])]));
      const found = rowsOf(name, await compare(each, { count: COUNT }));
      rows.push(...asDetails(found, () => !SHOWN.has(what)));
    }
    for (const side of sides) await storages[side].close?.();
  }
  return rows;
}

/** What a long thread takes. `path` is the folder of the files. */
export async function memoryBytes(open, path) {
  progress("bytes of memory");
  const sizes = {};
  for (const side of ["ours", "libsql"]) {
    const storage = open[side]("messages");
    await filled(storage, LONG);
    await storage.close();
    sizes[side] = onDisk(path(side === "ours" ? "messages.db" : "messages.libsql"));
  }
  const what = `a thread of ${LONG.toLocaleString("en")} messages of 1 KB`;
  return [what, bytes(sizes.ours), "", "", bytes(sizes.libsql), `x${(sizes.libsql / sizes.ours).toFixed(1)}`];
}
