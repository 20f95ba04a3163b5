// Reads a thread's whole history and prints the figures. Run: `node reader.mjs <side> <file> <how> <steps>`.
import { clock } from "../lib/measure.mjs";
import { agent, thread } from "./graphs.mjs";
import { sides } from "./sides.mjs";

const [name, file, how, steps] = process.argv.slice(2);
const { saver, close } = sides[name](file);
const graph = agent(Number(steps)).compile(saver);
const reads = { list: () => saver.list(thread()), getStateHistory: () => graph.getStateHistory(thread()) };

// The first call opens the file, so this call is made before the clock starts.
await saver.getTuple(thread("nobody"));
let found = 0;
let memory = 0;
const times = await clock(1, async () => {
  const before = process.memoryUsage.rss();
  for await (const _ of reads[how]()) {
    found += 1;
    memory = Math.max(memory, process.memoryUsage.rss() - before);
  }
});
console.log(JSON.stringify({ ...times, memory, found }));
await close();
