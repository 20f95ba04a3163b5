// A program that begins, works shortly and ends. Prints the times of its parts in microseconds. `cold` copies it into a
// project, because packages are found there without hooks: `node start.mjs <side> <file or URL>`. LangGraph's package, on
// which every saver is built, is loaded before the clock begins: a program with LangGraph has loaded it anyway.
import { place, putsTo } from "../lib/puts.mjs";

const SAVES = 4;
const [side, target] = process.argv.slice(2);

/** LangGraph's package, as each saver finds it. */
const peers = {
  ours: "@langchain/langgraph-checkpoint",
  sqlite: "@langchain/langgraph-checkpoint",
  postgres: "postgres-saver-peer",
};

/** Each imports a saver and resolves to a function that opens it. */
const imports = {
  async ours() {
    const { ForkpointSaver } = await import("forkpoint/langgraph");
    return () => closedBy(new ForkpointSaver(target), (saver) => saver.close());
  },
  async sqlite() {
    const { SqliteSaver } = await import("@langchain/langgraph-checkpoint-sqlite");
    return () => closedBy(SqliteSaver.fromConnString(target), (saver) => saver.db.close());
  },
  async postgres() {
    const { PostgresSaver } = await import("@langchain/langgraph-checkpoint-postgres");
    return () => closedBy(PostgresSaver.fromConnString(target), (saver) => saver.end());
  },
};

const closedBy = (saver, close) => ({ saver, close: () => close(saver) });

/** Ids as LangGraph's: the time comes first. */
const time = BigInt(Date.now()).toString(16).padStart(12, "0");
const idOf = (step) => `${time.slice(0, 8)}-${time.slice(8)}-6000-8000-${String(step + 2).padStart(12, "0")}`;

await import(peers[side]);
const begin = performance.now();
const open = await imports[side]();
const imported = performance.now();
const { saver, close } = open();
const thread = `thread-${time}`;
const put = putsTo(saver, idOf, thread);
const messages = [];
for (let step = 0; step < SAVES; step++) {
  messages.push({ role: "user", content: `a message of step ${step}` });
  await put({ messages: [...messages] }, ["messages"]);
}
const latest = await saver.getTuple(place(thread));
const parent = await saver.getTuple(latest.parentConfig);
let listed = 0;
for await (const _ of saver.list(place(thread))) listed += 1;
await close();
const end = performance.now();

const lengths = [latest, parent].map(({ checkpoint }) => checkpoint.channel_values.messages.length);
if (listed !== SAVES || lengths[0] !== SAVES || lengths[1] !== SAVES - 1)
  throw new Error("the reads have other states");
console.log(JSON.stringify({ imported: (imported - begin) * 1_000, whole: (end - begin) * 1_000 }));
