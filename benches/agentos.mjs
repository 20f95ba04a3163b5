// The AgentOS store beside AgentOS' own in-memory store: `npm run bench -- agentos`.
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { CheckpointStore } from "../dist/index.js";
import { bytes, compare, machine, prose, table, times, us } from "./measure.mjs";

const require = createRequire(new URL("../integration/agentos/package.json", import.meta.url));
const { InMemoryCheckpointStore } = await import(
  pathToFileURL(require.resolve("@framers/agentos/orchestration/checkpoint")).href
);

const STATE_BYTES = 10_000;
const RUNS = 20;
const NODES = 25;

/** The `index`-th checkpoint of 20 runs that take turns, each of which goes round the same 25 nodes. */
function checkpoint(index) {
  const messages = Array.from({ length: 10 }, (_, i) => ({
    role: i % 2 === 0 ? "user" : "assistant",
    content: prose(STATE_BYTES / 10 - 60, index * 10 + i + 1),
  }));
  return {
    id: `checkpoint-${index}`,
    graphId: "graph-bench-1",
    runId: `run-${index % RUNS}`,
    nodeId: `node-${Math.floor(index / RUNS) % NODES}`,
    timestamp: 1_700_000_000_000 + index,
    state: { input: { topic: "storage" }, scratch: { messages, step: index }, artifacts: {}, diagnostics: {} },
    nodeResults: {},
    visitedNodes: [],
    pendingEdges: [],
  };
}

/** Operations of each kind a round; the peer's grow with what is stored, so there are fewer then. */
const counts = { 100: 200, 10_000: 50, 100_000: 10 };

machine();
console.log(
  `Checkpoints of ${bytes(STATE_BYTES)} in ${RUNS} runs of one graph. forkpoint: SQLite, WAL, synchronous=FULL, every save ` +
    "synced before it resolves.\nIn memory: AgentOS' InMemoryCheckpointStore, which copies nothing and survives nothing.\n",
);
const rows = [];
for (const stored of [100, 10_000, 100_000]) {
  const folder = mkdtempSync(join(tmpdir(), "forkpoint-bench-"));
  const file = join(folder, "agent.db");
  const filling = new CheckpointStore(file, { durability: "off" });
  const theirs = new InMemoryCheckpointStore();
  process.stderr.write(`storing ${stored.toLocaleString("en")} checkpoints ...\n`);
  for (let i = 0; i < stored; i += 500) {
    const some = Array.from({ length: Math.min(500, stored - i) }, (_, k) => checkpoint(i + k));
    await Promise.all(some.flatMap((one) => [filling.save(one), theirs.save(one)]));
  }
  await filling.close();
  const size = statSync(file).size;
  const ours = new CheckpointStore(file);

  let extra = stored;
  const fresh = Array.from({ length: 2000 }, () => checkpoint(extra++));
  const taken = { ours: 0, theirs: 0 };
  const both = (operation) => ({ ours: (i) => operation(ours, i), theirs: (i) => operation(theirs, i) });
  const run = (i) => `run-${(i * 7) % RUNS}`;
  const operations = {
    save: {
      ours: () => ours.save({ ...fresh[taken.ours++ % 2000], id: `new-${taken.ours}` }),
      theirs: () => theirs.save({ ...fresh[taken.theirs++ % 2000], id: `new-${taken.theirs}` }),
    },
    "latest(run)": both((store, i) => store.latest(run(i))),
    "load(run, node)": both((store, i) => store.load(run(i), `node-${(i * 3) % NODES}`)),
    "list(graph, 10)": both((store) => store.list("graph-bench-1", { limit: 10 })),
    "fork(id)": both((store, i) => store.fork(`checkpoint-${(i * 37) % stored}`)),
    "fork(id, patch)": both((store, i) => store.fork(`checkpoint-${(i * 37) % stored}`, { scratch: { retry: i } })),
  };
  for (const [name, sides] of Object.entries(operations)) {
    const result = await compare(sides, { count: counts[stored] });
    rows.push([
      stored.toLocaleString("en"),
      name,
      us(result.ours.wall),
      us(result.theirs.wall),
      times(result.ours.wall, result.theirs.wall),
      us(result.ours.loop),
      us(result.theirs.loop),
      times(result.ours.loop, result.theirs.loop),
    ]);
  }
  rows.push([stored.toLocaleString("en"), "file size", bytes(size), "", "", "", "", ""]);
  await ours.close();
  rmSync(folder, { recursive: true });
}
table(
  ["stored", "operation", "forkpoint us", "in memory us", "ratio", "forkpoint loop us", "in memory loop us", "loop ratio"],
  rows,
);
