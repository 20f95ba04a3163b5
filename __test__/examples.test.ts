import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { folder, windows } from "./helpers.js";

const examples = fileURLToPath(new URL("../examples/", import.meta.url));

/** The database that the examples of a framework write. */
const databases: Record<string, string> = {
  agentium: "workflow.db",
  helix: "sessions.db",
  tinyagents: "threads.db",
};

/** The files that other examples import. They are no programs. */
const modules = new Set(["helix/agent.mjs"]);

/** The output of each example. */
const expected: Record<string, string[]> = {
  "agentium/ab.mjs": [
    "gpt-4o-mini: 5",
    "gpt-4o: 6",
    "claude-sonnet-4: 7",
    "loaded 1 time",
    "fork: clean -> rate -> conclude",
    "fork: clean -> rate -> conclude",
    "the parent is as it was",
  ],
  "agentium/counter.mjs": [
    "run: count 3",
    '#-1: initial  state={"count":0,"log":[]}',
    '#0: increment-once  state={"count":1,"log":["+1"]}',
    '#1: increment-twice  state={"count":3,"log":["+1","+2"]}',
    '#2: finalize  state={"count":3,"log":["+1","+2","total=3"]}',
    "replay: count 3",
    "fork: count 103",
    "parent: 0 1 3 3",
    "forked: 100 101 103 103",
  ],
  "agentium/flaky-agent.mjs": [
    "review: attempt 1 failed (503 from the model), again in 5 ms",
    "review: attempt 2 failed (503 from the model), again in 10 ms",
    "failed at step 3, review: 503 from the model",
    "stored: initial, research, draft",
    "review: attempt 1 failed (503 from the model), again in 5 ms",
    "replayed: publish(review(draft(research(tides))))",
    'calls: {"research":1,"draft":1,"review":5,"publish":1}',
  ],
  "agentium/race.mjs": [
    "first process: fetch transform upload drained",
    "second process: upload verify finished",
    "stored: initial fetch transform upload verify",
  ],
  "agentium/resumable.mjs": [
    "process 1: step-1 step-2 step-3 step-4 step-5 step-6, drained",
    "process 2: step-7 step-8 step-9 step-10, finished 10 steps",
    "each step ran exactly once",
  ],
  "agentium/rollback.mjs": [
    "spoiled: once more, to pay: NaN",
    "last good: add, total 80",
    "repaired: to pay: 68",
    "invoice-42:initial: initial, total 0",
    "invoice-42:step-1: load, total 0",
    "invoice-42:step-2: add, total 80",
    "invoice-42:step-3: discount, total 68",
    "invoice-42:step-4: invoice, total 68",
    "nothing stale is left",
  ],
  "agentium/timeline.mjs": [
    "support ticket-7: run",
    "  saved ticket-7:initial",
    "  classify: start",
    "  classify: done",
    "  saved ticket-7:step-1",
    "  look-up: start",
    "  look-up: done",
    "  saved ticket-7:step-2",
    "  answer: start",
    "  answer: done",
    "  saved ticket-7:step-3",
    "  close: start",
    "  close: done",
    "  saved ticket-7:step-4",
    "complete: Hi: sent on Monday",
    "#-1 initial",
    "#0 classify",
    "#1 look-up",
    "#2 answer",
    "#3 close",
    'before answer: {"ticket":"Where is my parcel?","tone":"friendly","topic":"shipping","facts":["sent on Monday"]}',
    "sandbox: Dear customer: sent on Monday",
    "the run itself is as it was",
  ],
  "helix/recovery.mjs": [
    "first process: looks up tea",
    "first process: looks up cups",
    "first process: looks up kettle",
    "second process: found order-1 with 6 messages and 21 chunks",
    "second process: goes back to step 2 with 5 messages and 14 chunks",
    "second process: looks up kettle",
    "second process: answers: Together 46.",
    "runs: 1 interrupted, 2 completed",
    "the same as without a kill",
  ],
  "helix/rollback.mjs": [
    "before: Together 1204.",
    'rolled back to step 1: {"tea":4}',
    "after: Together 16.",
    "messages: tea, cups | I look up the price of tea. | 4 | I look up the price of cups. | 12 | Together 16.",
    "checkpoints of steps: 3, 2, 1, 3, 2, 1, 0",
    "answers of step 3: Together 16. Together 1204.",
  ],
  "helix/what-if.mjs": ["as it was: Together 16.", "what if: Together 12.", "the old session is as it was"],
  "tinyagents/approval.mjs": [
    "begin: drafts version 1",
    "begin: waits: Publish version 1?",
    "restart: waits: Publish version 1?",
    "no: drafts version 2",
    "no: waits: Publish version 2?",
    "yes: publishes version 2",
    "yes: done",
    "version 2 was approved by Ada",
  ],
  "tinyagents/research.mjs": [
    "first process: plans",
    "first process: reads tides",
    "first process: reads moons",
    "first process: reads storms",
    "killed: tides done, moons done, storms pending",
    "second process: reads storms",
    "second process: writes",
    "report: a fact about tides, a fact about moons, a fact about storms",
    "the same as without a kill",
  ],
  "tinyagents/time-travel.mjs": [
    "run: to pay: 40",
    "#3 loop: sum 40, next -",
    "#2 loop: sum 40, next total",
    "#1 loop: sum 80, next discount",
    "#0 input: sum -, next add",
    "from step 1 with another rate: to pay: 60",
    "fork with a sum by hand: to pay: 1",
    "checkpoints of the fork: loop, update, fork",
    "the first run is as it was",
  ],
};

/** Runs an example in a folder until it ends. */
function runExample(name: string, cwd: string): Promise<{ status: unknown; lines: string[]; errors: string }> {
  // Clear the test runner's NODE_OPTIONS for the child. The timeout stops an example that hangs.
  const options = { cwd, env: { ...process.env, NODE_OPTIONS: "" }, timeout: 25_000, killSignal: "SIGKILL" } as const;
  return new Promise((resolve) => {
    execFile(process.execPath, [`${examples}${name}`], options, (error, stdout, stderr) => {
      const status = error === null ? 0 : (error.code ?? error.signal);
      resolve({ status, lines: stdout.trimEnd().split("\n"), errors: stderr });
    });
  });
}

/** These examples end when they get SIGTERM, which Windows cannot send. */
const needSignals = new Set(["agentium/race.mjs", "agentium/resumable.mjs"]);

const programs = Object.keys(databases)
  .flatMap((framework) => readdirSync(join(examples, framework)).map((file) => `${framework}/${file}`))
  .filter((file) => !modules.has(file))
  .toSorted();

test("every example has an expectation, and every expectation an example", () => {
  expect(programs).toEqual(Object.keys(expected).toSorted());
  // Those of postgres need a server, and that of ai a browser. Their tests are in integration/postgres and integration/ai.
  const folders = readdirSync(examples).filter((name) => !["README.md", "ai", "postgres"].includes(name));
  expect(folders.toSorted()).toEqual(Object.keys(databases).toSorted());
});

test.each(programs.filter((name) => !windows || !needSignals.has(name)))(
  "%s, and once more in the same folder",
  async (name) => {
    const cwd = folder();
    for (const time of ["first", "second"]) {
      const ended = { status: 0, errors: "", lines: expected[name] };
      expect(await runExample(name, cwd), `the ${time} time`).toEqual(ended);
    }
    expect(readdirSync(cwd)).toContain(databases[name.split("/")[0]!]);
  },
);
