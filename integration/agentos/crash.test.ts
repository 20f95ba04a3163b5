// Kills real processes with SIGKILL, which leaves them no time to clean up.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Child } from "./children.js";
import { folder, open } from "./harness.js";

const output = {
  load: { total: 480 },
  score: { risk: 0.9 },
  file: "file done",
  review: "review done",
  report: "report done",
};

/** Reads the effects of all processes from the journal, each with its process id and node. */
function effects(journal: string): Array<{ pid: number; node: string }> {
  return readFileSync(journal, "utf8")
    .trimEnd()
    .split("\n")
    .map((line) => ({ pid: Number(line.split(" ")[0]), node: line.split(" ")[1]! }));
}

function place() {
  const path = folder();
  return { database: join(path, "agent.db"), journal: join(path, "effects.log") };
}

function start(args: string[], stop: { STOP_AT?: string; STOP?: "before" | "after" } = {}): Child {
  return new Child("run.mjs", args, stop);
}

/** Starts a run of the ticket graph and kills its process while the node runs. */
async function killedIn(node: string, when: "before" | "after", { database, journal }: ReturnType<typeof place>) {
  const child = start([database, journal, "run"], { STOP_AT: node, STOP: when });
  const { runId } = await child.until(({ event }) => event === "run");
  await child.until(({ event }) => event === "stopped");
  expect(await child.kill()).toBe("SIGKILL");
  return { pid: child.pid, runId: runId as string };
}

it("a process killed in a node is continued by a second one, which repeats no node and skips the skipped branch", async () => {
  const files = place();
  const killed = await killedIn("review", "before", files);
  expect(await open(files.database).latest(killed.runId)).toMatchObject({ nodeId: "route", skippedNodes: ["refund"] });
  const resumed = start([files.database, files.journal, "resume", killed.runId]);
  expect(await resumed.end()).toEqual(output);
  expect(effects(files.journal)).toEqual([
    ...["load", "score", "file"].map((node) => ({ pid: killed.pid, node })),
    ...["review", "report"].map((node) => ({ pid: resumed.pid, node })),
  ]);
});

it("a node alone is repeated if its effect had happened and its checkpoint had not", async () => {
  const files = place();
  const killed = await killedIn("file", "after", files);
  const store = open(files.database);
  const [known, ...others] = (await store.runs({ graphIdPrefix: "graph-agent-graph-" })).runs;
  expect([known!.runId, others]).toEqual([killed.runId, []]);
  expect((await store.latest(killed.runId))!.visitedNodes).toEqual(["load", "score"]);
  // Resume by the checkpoint's id, which is read from the store.
  expect(await start([files.database, files.journal, "resume", known!.latest.id]).end()).toEqual(output);
  const ran = effects(files.journal).map((effect) => effect.node);
  expect(ran).toEqual(["load", "score", "file", "file", "review", "report"]);
});

it("a process killed in its first node leaves no checkpoint, and a database that the next one uses", async () => {
  const files = place();
  const { runId } = await killedIn("load", "after", files);
  const store = open(files.database);
  expect((await store.runs()).runs).toEqual([]);
  expect(await store.latest(runId)).toBeNull();
  expect(await start([files.database, files.journal, "run"]).end()).toEqual(output);
  expect(effects(files.journal).map(({ node }) => node)).toEqual(["load", "load", "score", "file", "review", "report"]);
});

it("a second crash goes back to the first one's checkpoint, for AgentOS saves none in a resumed run", async () => {
  const files = place();
  const { runId } = await killedIn("file", "before", files);
  const store = open(files.database);
  const first = await store.latest(runId);

  const second = start([files.database, files.journal, "resume", runId], { STOP_AT: "report", STOP: "before" });
  await second.until(({ event }) => event === "stopped");
  expect(await second.kill()).toBe("SIGKILL");
  expect(await store.latest(runId)).toStrictEqual(first);

  expect(await start([files.database, files.journal, "resume", runId]).end()).toEqual(output);
  const ran = effects(files.journal).map(({ node }) => node);
  expect(ran).toEqual(["load", "score", "file", "review", "file", "review", "report"]);
});

it("a run that was killed is forked to the other branch by a process that has never seen it", async () => {
  const files = place();
  const { runId } = await killedIn("review", "before", files);
  const store = open(files.database);
  const before = await store.listByRun(runId);
  const forked = await store.fork(before[1]!.id, { artifacts: { score: { risk: 0.1 } } });
  const other = await start([files.database, files.journal, "resume", forked]).end();
  expect(other).toEqual({
    load: { total: 480 },
    score: { risk: 0.1 },
    file: "file done",
    refund: "refund done",
    report: "report done",
  });
  expect(await store.listByRun(runId)).toEqual(before);
  expect(await start([files.database, files.journal, "resume", runId]).end()).toEqual(output);
  const ran = effects(files.journal).map(({ node }) => node);
  expect(ran).toEqual(["load", "score", "file", "refund", "report", "review", "report"]);
});
