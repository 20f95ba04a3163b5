// Measures what an operator asks of a store with very many short runs: lists, sizes, a check, and retention. There is no peer:
// the goals are times.
import { ok, strictEqual } from "node:assert/strict";
import { openStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { clock, option, sized, summary } from "../lib/measure.mjs";
import { progress } from "../lib/report.mjs";
import { LENGTH } from "./filling.mjs";
import { putThreads } from "./put-threads.mjs";

export const RUNS = Number(option("runs") ?? sized(70_000, 300));
if (!Number.isSafeInteger(RUNS) || RUNS < 300) throw new Error("--runs must be a number from 300 on");
const PAGE = 20;

/** The greatest time in ms of a question that an index answers: with 70,000 runs, and with up to ten million. */
const most = (few, many) => (RUNS > 70_000 ? many : few);

/** A question: what it is, its greatest time in ms, and how it is asked. */
const questions = [
  ["ls, the newest 20", most(30, 50), ({ inspector }) => page(inspector, {}, PAGE)],
  ["ls, the newest 20 with reasons", most(30, 50), ({ inspector }) => page(inspector, { withWhy: true }, PAGE)],
  ["ls, a status that no run has", most(30, 50), ({ inspector }) => page(inspector, { status: "waiting" }, 0)],
  [
    "ls, runs whose id contains a text",
    most(30, 50),
    ({ inspector }) => page(inspector, { match: `thread-${RUNS - 1}` }, 1),
  ],
  [
    "counts by framework and status",
    most(30, 200),
    async ({ inspector }) => {
      const [{ statuses, isEstimate }] = (await inspector.info()).spaces;
      near(statuses.unknown, RUNS, isEstimate);
    },
  ],
  [
    "open runs by version",
    most(30, 200),
    async ({ inspector }) => {
      const [{ runs, isEstimate }] = await inspector.versions();
      near(runs, RUNS, isEstimate);
    },
  ],
  ["the first page of the studio", 300, studio],
  [
    "stats",
    most(50, 200),
    async ({ store }) => {
      const { checkpoints, isEstimate } = await store.stats();
      near(checkpoints, RUNS * LENGTH, isEstimate);
    },
  ],
  [
    "the course of a run",
    30,
    async ({ inspector }) => strictEqual((await inspector.course(run(0))).steps.length, LENGTH),
  ],
  ["a lease, taken and released", 10, async ({ store }) => (await store.lease(run(1))).release()],
  // These read everything.
  ["check", most(10_000), async ({ store }) => strictEqual((await store.check()).ok, true)],
  ["prune, keep 1 of each run: a preview", most(1_000), ({ store }) => prune(store, true)],
  ["prune, keep 1 of each run", (RUNS * (LENGTH - 1)) / 20, ({ store }) => prune(store, false)],
];

function run(n) {
  return { space: "langgraph", run: `thread-${n}` };
}

/** Asserts that a number is right: an estimate may be off by a fifth. */
function near(found, expected, isEstimate) {
  ok(Math.abs(found / expected - 1) <= (isEstimate ? 0.2 : 0), `${found} in place of ${expected}`);
}

async function page(inspector, query, length) {
  strictEqual((await inspector.runs({ ...query, limit: PAGE })).items.length, length);
}

/** What the studio asks for when it is opened. */
async function studio({ inspector }) {
  await inspector.info();
  await page(inspector, {}, PAGE);
}

async function prune(store, dryRun) {
  const { removed } = await store.prune({ keepLastN: 1, dryRun });
  strictEqual(removed, RUNS * (LENGTH - 1));
}

export function measure(database) {
  return database.inPlace("ours", async ({ open, bytes, target }) => {
    const filling = await open({ durability: "off" });
    progress(`${database.name}: filling ${RUNS.toLocaleString("en")} runs`);
    await putThreads(filling.saver, RUNS);
    await filling.close();
    const size = await bytes();
    const store = await openStore(target);
    const inspector = await openInspector(store);
    const mode = filling.mode();
    const runs = `${RUNS.toLocaleString("en")} runs`;
    const rows = [{ work: `bytes of ${runs}`, what: "", mode, ours: summary([size]), unit: "bytes" }];
    for (const [what, goal, ask] of questions) {
      progress(`${database.name}, ${runs}: ${what}`);
      // A store builds the order of all runs once, when a list first needs it.
      if (rows.length === 1) rows.push({ ...rowOf(`${what}, for the first time`, [await timed(ask)]), detail: true });
      const times = [await timed(ask)];
      // A question that takes long, or that changes the store, is asked once.
      const again = what.startsWith("prune") || times[0] > 1_000_000 ? 0 : sized(10, 1);
      for (let round = 0; round < again; round++) times.push(await timed(ask));
      rows.push({ ...rowOf(what, times, goal), detail: what.endsWith("with reasons") });
    }
    await inspector.close();
    await store.close();
    return rows;

    async function timed(ask) {
      return (await clock(1, () => ask({ store, inspector }))).wall;
    }

    function rowOf(what, times, goal) {
      const limit = goal !== undefined && { most: goal * 1_000 };
      return { work: what, what: "", mode, ours: summary(times), unit: "time", ...limit };
    }
  });
}
