// The demo. A real AgentOS graph is killed half-way, resumed in a new process, and forked to another outcome.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { serialize } from "node:v8";
import { CheckpointStore } from "forkpoint";
import { claim, clock, say, table } from "./show.mjs";

const folder = mkdtempSync(join(tmpdir(), "forkpoint-demo-"));
const database = join(folder, "agent.db");
const effects = join(folder, "effects.log");

/** Starts the agent in its own process and waits for its first line. */
async function agent(...command) {
  const worker = fileURLToPath(new URL("worker.mjs", import.meta.url));
  const stdio = ["ignore", "pipe", "inherit"];
  const child = spawn(process.execPath, [worker, database, effects, ...command], { stdio });
  const closed = once(child, "close");
  const { value } = await createInterface(child.stdout)[Symbol.asyncIterator]().next();
  if (value === undefined) throw new Error(`the agent's process (${command.join(" ")}) has failed`);
  return { child, closed, pid: child.pid, said: JSON.parse(value) };
}

const short = (id) => id.slice(0, 8);
const bytes = (value) => serialize(value);

/** Returns every tool call so far. */
function calls() {
  const lines = readFileSync(effects, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line));
}

const count = (node) => calls().filter((call) => call.node === node).length;

/** Returns all checkpoints of a run, whole, the oldest first. */
async function history(store, runId) {
  const listed = (await store.listByRun(runId)).toReversed();
  return Promise.all(listed.map(async (metadata) => ({ metadata, checkpoint: await store.get(metadata.id) })));
}

/** Returns the rows of a run: its checkpoints, then the tool calls of its resume. AgentOS saves no checkpoints in a resume. */
function timeline(run, name, resumedBy) {
  const rows = run.map(({ metadata: { nodeId, id, timestamp, stateSize }, checkpoint }) => {
    return [checkpoint.visitedNodes.length, nodeId, short(id), clock(timestamp), stateSize, name];
  });
  for (const { node, process, time } of calls()) {
    if (process === resumedBy) rows.push([rows.at(-1)[0] + 1, node, "(resumed)", clock(time), "", name]);
  }
  return rows;
}

async function demo(store) {
  say("\n1. An agent works on a refund: load, score (asks a fraud service), file (opens a case), policy, draft ...");
  const first = await agent("run", "draft");
  first.child.kill("SIGKILL");
  const [, signal] = await first.closed;
  const { runs } = await store.runs({ graphIdPrefix: "graph-agent-graph-" });
  const { runId, graphId } = runs[0];
  const original = await history(store, runId);
  const killed = first.said.hangs && signal === "SIGKILL";
  claim(`process ${first.pid} was killed with SIGKILL while "draft" was executing`, killed);
  claim(
    "a checkpoint of each of the 4 nodes that had completed is in the database",
    isDeepStrictEqual(
      original.map(({ metadata }) => metadata.nodeId),
      ["load", "score", "file", "policy"],
    ),
  );

  say("\n2. A new process resumes the run, which the store finds by the name of its graph ...");
  const second = await agent("recover", runId);
  const [code] = await second.closed;
  const { output } = second.said;
  const renamed = second.said.graphId !== graphId;
  claim(`process ${second.pid} resumed it, though the graph is compiled anew and has another id`, renamed);
  const finished = code === 0 && output.report === "done";
  claim('it finished: the risk is high, so by way of "review"', finished && output.review && !output.pay);
  claim("the fraud service was called once, and one case opened", count("score") === 1 && count("file") === 1);

  say('\n3. What if the risk had been low? A fork from the checkpoint at "file", with a patched score ...');
  const recovered = await history(store, runId);
  const file = original[2].checkpoint;
  const { score } = file.state.artifacts;
  const forkedId = await store.fork(file.id, { artifacts: { score: { ...score, risk: 0.1 } } });
  const forked = await history(store, forkedId);
  const third = await agent("recover", forkedId);
  await third.closed;
  claim('the fork took the other way: "pay"', third.said.output.pay && !third.said.output.review);
  const once = count("score") === 1 && count("file") === 1;
  claim("the fraud service was still called once, and no other case opened", once);
  claim("the original run is untouched, byte for byte", bytes(await history(store, runId)).equals(bytes(recovered)));

  say("\nTimeline (AgentOS saves no checkpoints for the nodes of a resumed run)\n");
  const originalRows = timeline(original, short(runId), second.pid);
  const forkedRows = timeline(forked, `${short(forkedId)} (fork)`, third.pid);
  table(["step", "node", "checkpoint", "time (UTC)", "state bytes", "run"], originalRows, forkedRows);

  say(`\n4. Looking inside: npx forkpoint show ${short(runId)} --tree\n`);
  const shown = forkpoint("show", short(runId), "--tree");
  say(shown.replaceAll(/^/gm, "  ").trimEnd());
  claim("the fork hangs on its checkpoint", shown.includes(forkedId) && shown.includes("file"));
}

/** Runs the command line, as npx does, and returns what it prints. */
function forkpoint(...args) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args, "--db", database], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`forkpoint ${args.join(" ")} has failed: ${stderr}`);
  return stdout;
}

const bin = join(dirname(createRequire(import.meta.url).resolve("forkpoint/package.json")), "dist/cli/main.js");

const store = new CheckpointStore(database);
try {
  await demo(store);
} finally {
  await store.close();
  rmSync(effects, { force: true });
}
say(`\nThe database stays. To see it in a browser: npx forkpoint studio --db ${database}\n`);
