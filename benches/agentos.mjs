// Compares the AgentOS store with AgentOS' own in-memory store. Run: `npm run bench -- agentos`.
import { statSync } from "node:fs";
import { CheckpointStore } from "../dist/index.js";
import { compare, quick } from "./lib/measure.mjs";
import { agentosMemory, inFolder } from "./lib/peers.mjs";
import { bytes, machine, print, spread, table, times } from "./lib/report.mjs";
import { checkpoint } from "./lib/states.mjs";
import { RUNS, fill, reads } from "./performance/stored.mjs";

const STATE_BYTES = 10_000;

/** Operations per round, by the number of stored checkpoints. AgentOS' store slows down as that number grows. */
const counts = quick ? { 100: 20, 2_000: 10 } : { 100: 200, 10_000: 50, 100_000: 10 };

machine();
print(
  `Checkpoints of ${bytes(STATE_BYTES)} in ${RUNS} runs of one graph. forkpoint: SQLite, WAL, synchronous=FULL, ` +
    "every save synced before it resolves.\nIn memory: AgentOS' InMemoryCheckpointStore, which copies nothing and " +
    "survives nothing.\n",
);
const rows = [];
for (const stored of Object.keys(counts).map(Number)) {
  await inFolder(async (path) => {
    const theirs = await agentosMemory();
    await fill(path("agent.db"), theirs, stored, STATE_BYTES);
    const size = statSync(path("agent.db")).size;
    const ours = new CheckpointStore(path("agent.db"));

    let extra = stored;
    const fresh = Array.from({ length: 2000 }, () => checkpoint(extra++, { size: STATE_BYTES }));
    const taken = { ours: 0, theirs: 0 };
    const both = (operation) => ({ ours: (i) => operation(ours, i), theirs: (i) => operation(theirs, i) });
    const operations = {
      save: {
        ours: () => ours.save({ ...fresh[taken.ours++ % 2000], id: `new-${taken.ours}` }),
        theirs: () => theirs.save({ ...fresh[taken.theirs++ % 2000], id: `new-${taken.theirs}` }),
      },
      ...Object.fromEntries(Object.entries(reads).map(([name, read]) => [name, both(read)])),
      "fork(id)": both((store, i) => store.fork(`checkpoint-${(i * 37) % stored}`)),
      "fork(id, patch)": both((store, i) => store.fork(`checkpoint-${(i * 37) % stored}`, { scratch: { retry: i } })),
    };
    for (const [name, sides] of Object.entries(operations)) {
      const { ours, theirs } = await compare(sides, { count: counts[stored] });
      const cells = (figure) => [spread(ours[figure]), spread(theirs[figure]), times(ours[figure], theirs[figure])];
      rows.push([stored.toLocaleString("en"), name, ...cells("wall"), ...cells("loop")]);
    }
    rows.push([stored.toLocaleString("en"), "file size", bytes(size), "", "", "", "", ""]);
    await ours.close();
  });
}
table(
  ["stored", "operation", "forkpoint us", "in memory us", "ratio", "forkpoint loop us", "in memory loop us", "ratio"],
  rows,
);
