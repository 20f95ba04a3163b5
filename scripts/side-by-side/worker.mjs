// Saves checkpoints with a release, and reads back those of all processes. `side-by-side.mjs` starts several of them:
// node worker.mjs <the release's folder> <target> <options> <name> <count>
//
// Prints a line for each acknowledged save, and at the end the data that it has read.
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, target, options, name, count] = process.argv.slice(2);
const { CheckpointStore } = await import(pathToFileURL(join(folder, "dist/index.js")).href);
const store = new CheckpointStore(target, JSON.parse(options));
const textOf = (n) => `text ${n} `.repeat(40);
const checkpoint = (id, runId, n) => ({
  id,
  runId,
  graphId: "graph",
  nodeId: `node ${n}`,
  timestamp: Date.now(),
  state: { input: {}, scratch: { n, text: textOf(n) }, artifacts: {}, diagnostics: {} },
  nodeResults: {},
  visitedNodes: [],
  pendingEdges: [],
});

/** The shared run must have a state of some process, and this process's own run its last state. */
async function verify(last) {
  const { scratch } = (await store.load("shared")).state;
  if (scratch.text !== textOf(scratch.n)) throw new Error(`a wrong state of ${scratch.n}`);
  if (last < 0) return;
  const own = (await store.load(`run ${name}`)).state.scratch.n;
  if (own !== last) throw new Error(`the own run has ${own} instead of ${last}`);
}

let failed = null;
let last = -1;
for (let n = 0; n < Number(count) && failed === null; n++) {
  try {
    await store.save(checkpoint(`${name}-${n}`, "shared", n));
    console.log(`saved ${name}-${n}`);
    await store.save(checkpoint(`${name}-own-${n}`, `run ${name}`, n));
    last = n;
    if (n % 10 === 9) await verify(n);
  } catch (error) {
    // A refused save changes nothing. Anything else is a bug.
    if (error.code !== "UNSUPPORTED") throw error;
    failed = error.message;
  }
}
// Continue to read after a refused save, unless the database could not be opened.
let listed = [];
try {
  if (last >= 0) await verify(last);
  listed = (await store.listByRun("shared")).map(({ id }) => id);
} catch (error) {
  if (error.code !== "UNSUPPORTED" || last >= 0) throw error;
}
await store.close();
console.log(JSON.stringify({ failed, listed }));
