// Measures savers and prints the figures as JSON. profile.mjs starts it.
import { readdirSync, readFileSync } from "node:fs";
import { CheckpointStore } from "../../dist/index.js";
import { compare, sized } from "../lib/measure.mjs";
import { inFolder } from "../lib/peers.mjs";
import { looks, syncs } from "../lib/sync.mjs";
import { KINDS } from "./kinds.mjs";

/** Linux cuts the name of a thread after 15 characters. */
const NAMES = {
  "forkpoint-write": "writer",
  "forkpoint-encod": "encoder",
  "forkpoint-check": "checkpoint",
};

/** Reads a file about a thread. Returns undefined if the thread has ended. */
function read(thread, file) {
  try {
    return readFileSync(`/proc/self/task/${thread}/${file}`, "utf8");
  } catch (error) {
    if (error.code === "ENOENT" || error.code === "ESRCH") return undefined;
    throw error;
  }
}

/** The processor time of the process's threads since they began, in microseconds. */
function threads() {
  const sums = { main: 0, writer: 0, encoder: 0, checkpoint: 0, others: 0 };
  for (const thread of readdirSync("/proc/self/task")) {
    const [name, times] = [read(thread, "comm"), read(thread, "schedstat")];
    if (name === undefined || times === undefined) continue;
    const kind = Number(thread) === process.pid ? "main" : (NAMES[name.trim()] ?? "others");
    sums[kind] += Number(times.split(" ")[0]) / 1000;
  }
  return { ...sums, ...syncs(), ...looks() };
}

const result = {};
for (const [kind, { work, savers, count }] of Object.entries(KINDS)) {
  await inFolder(async (path) => {
    const store = new CheckpointStore(path("ours.db"));
    const next = work();
    const options = { count: sized(count, count / 10), concurrency: savers, meter: threads };
    const { ours } = await compare({ ours: () => store.save(next()) }, options);
    await store.close();
    if (!(ours.syncs.least > 0)) throw new Error(`no sync was counted: ${kind}`);
    if (!(ours.looks.least > 0)) throw new Error(`no look at the files was counted: ${kind}`);
    if (!(ours.writer.least > 0)) throw new Error("no thread has the name of the writer");
    result[kind] = ours;
  });
}
console.log(JSON.stringify(result));
