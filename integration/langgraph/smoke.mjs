// Shows on any platform that the installed package works: saves, a kill, a fork, a real graph, the demo and the command
// line. scripts/test-platforms.mjs runs it on each platform, and smoke.test.ts on this one. It needs Node.js only:
// `node smoke.mjs`, beside `node_modules` with forkpoint and LangGraph.
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Annotation, START, StateGraph } from "@langchain/langgraph";
import { CheckpointStore } from "forkpoint";
import { ForkpointSaver } from "forkpoint/langgraph";

const require = createRequire(import.meta.url);
const self = fileURLToPath(import.meta.url);
const [, , child, target] = process.argv;

/** The saves that the second process acknowledges before it is killed. */
const SAVES = 25;

const checkpoint = (n) => ({
  id: `checkpoint-${n}`,
  graphId: "graph",
  runId: "run",
  nodeId: `node-${n}`,
  timestamp: n,
  state: { input: n, scratch: { text: "some state that repeats, ".repeat(50) }, artifacts: {}, diagnostics: {} },
  nodeResults: {},
  visitedNodes: [`node-${n}`],
  pendingEdges: [],
});

/** Makes a graph of two steps. `during` runs in the second one. */
function graphOn(saver, steps, during = () => undefined) {
  const Trip = Annotation.Root({ city: Annotation(), hotel: Annotation(), email: Annotation() });
  return new StateGraph(Trip)
    .addNode("search", ({ city }) => {
      steps.push("search");
      return { hotel: `Grand Hotel ${city}` };
    })
    .addNode("write", async ({ hotel }) => {
      steps.push("write");
      await during();
      return { email: `You are staying at the ${hotel}.` };
    })
    .addEdge(START, "search")
    .addEdge("search", "write")
    .compile({ checkpointer: saver });
}

const config = { configurable: { thread_id: "trip-1" }, durability: "sync" };

/** What the second process does: it says how far it is, and never ends by itself. */
const children = {
  async saves() {
    const store = new CheckpointStore(target);
    for (let n = 0; ; n += 1) {
      await store.save(checkpoint(n));
      console.log(n);
    }
  },
  async graph() {
    const graph = graphOn(new ForkpointSaver(target), [], () => {
      console.log("writing");
      return new Promise(() => setInterval(() => undefined, 1_000));
    });
    await graph.invoke({ city: "Lisbon" }, config);
  },
};

/** Starts the second process, reads its lines up to one that `isLast`, and kills it. Returns the lines. */
async function killed(name, database, isLast) {
  const process_ = spawn(process.execPath, [self, name, database], { stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(process_, "close");
  const lines = [];
  for await (const line of createInterface(process_.stdout)) {
    lines.push(line);
    if (isLast(line)) process_.kill("SIGKILL");
  }
  const [status, signal] = await closed;
  ok(signal === "SIGKILL" || process.platform === "win32", `the process of ${name} ended by itself with ${status}`);
  return lines;
}

/** Runs the command line. */
function cli(...args) {
  const main = join(dirname(require.resolve("forkpoint/package.json")), "dist/cli/main.js");
  return execFileSync(process.execPath, [main, ...args], { encoding: "utf8", stdio: "pipe" });
}

const steps = {
  "import and require": () => strictEqual(require("forkpoint").CheckpointStore, CheckpointStore),
  async "saves survive kill -9"(folder) {
    for (const database of [join(folder, "saves.db"), `jsonl:${join(folder, "saves")}`]) {
      const lines = await killed("saves", database, (line) => line === String(SAVES));
      const acknowledged = lines.map(Number);
      ok(acknowledged.length > SAVES);
      const store = new CheckpointStore(database);
      for (const n of acknowledged) deepStrictEqual((await store.get(`checkpoint-${n}`))?.state, checkpoint(n).state);
      await store.save(checkpoint(10_000));
      strictEqual((await store.latest("run"))?.id, "checkpoint-10000");
      await store.close();
    }
  },
  async "a killed graph resumes"(folder) {
    const database = join(folder, "graph.db");
    deepStrictEqual(await killed("graph", database, () => true), ["writing"]);
    const saver = new ForkpointSaver(database);
    const ran = [];
    const { email } = await graphOn(saver, ran).invoke(null, config);
    strictEqual(email, "You are staying at the Grand Hotel Lisbon.");
    deepStrictEqual(ran, ["write"]);
    await saver.close();
  },
  async "a fork takes another way"(folder) {
    const database = join(folder, "graph.db");
    cli("fork", "trip-1", "--step", "2", "--set", 'hotel="Hostel Alfama"', "--as", "trip-2", "--db", database);
    const saver = new ForkpointSaver(database);
    const other = { ...config, configurable: { thread_id: "trip-2" } };
    strictEqual((await graphOn(saver, []).invoke(null, other)).email, "You are staying at the Hostel Alfama.");
    strictEqual((await graphOn(saver, []).getState(config)).values.email, "You are staying at the Grand Hotel Lisbon.");
    await saver.close();
  },
  "the demo runs"(folder) {
    ok(cli("demo", "--no-studio", "--out", join(folder, "demo.db")).includes("demo.db has 3 runs"));
  },
  "the command line lists and checks"(folder) {
    const database = join(folder, "demo.db");
    const listed = cli("ls", "--db", database);
    for (const run of ["refund-101", "refund-101-fork", "refund-102"]) ok(listed.includes(run), listed);
    cli("verify", "--db", database);
  },
};

if (child !== undefined) {
  await children[child]();
} else {
  const folder = mkdtempSync(join(tmpdir(), "forkpoint-smoke-"));
  try {
    for (const [name, step] of Object.entries(steps)) {
      await step(folder);
      console.log(`ok: ${name}`);
    }
    console.log(`passed on ${process.platform}-${process.arch}, Node.js ${process.versions.node}`);
  } finally {
    // Windows keeps a file for a moment after its process was killed.
    rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  }
}
