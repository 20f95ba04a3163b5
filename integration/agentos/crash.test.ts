// Kills real processes with SIGKILL, which leaves them no time to clean up.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Child } from "./children.js";
import { folder, open } from "./harness.js";

/** The nodes of the ticket graph in which the process can be killed, in the order of a run that takes `review`. */
const nodes = ["load", "score", "file", "review", "report"];
/** All nodes that the run visits. This list also contains the router, which has no effect. */
const visited = ["load", "score", "file", "route", "review", "report"];

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

describe.each(nodes.slice(1))("a process killed while %s is executing", (node) => {
  const done = nodes.slice(0, nodes.indexOf(node));

  it("is resumed by a second process without repeating a completed node", async () => {
    const files = place();
    const killed = await killedIn(node, "before", files);
    const resumed = start([files.database, files.journal, "resume", killed.runId]);
    expect(await resumed.end()).toEqual(output);
    expect(effects(files.journal)).toEqual([
      ...done.map((name) => ({ pid: killed.pid, node: name })),
      ...nodes.slice(done.length).map((name) => ({ pid: resumed.pid, node: name })),
    ]);
  });

  it("repeats that node alone if its effect had happened and its checkpoint had not", async () => {
    const files = place();
    const killed = await killedIn(node, "after", files);
    const store = open(files.database);
    const [known, ...others] = (await store.runs({ graphIdPrefix: "graph-agent-graph-" })).runs;
    expect(others).toEqual([]);
    expect(known!.runId).toBe(killed.runId);
    expect((await store.latest(killed.runId))!.visitedNodes).toEqual(visited.slice(0, visited.indexOf(node)));
    // Resume by the checkpoint's id, which is read from the store.
    expect(await start([files.database, files.journal, "resume", known!.latest.id]).end()).toEqual(output);
    const ran = effects(files.journal).map((effect) => effect.node);
    expect(ran).toEqual([...done, node, ...nodes.slice(done.length)]);
  });
});

it("a process killed in its first node leaves no checkpoint, and a database that the next one uses", async () => {
  const files = place();
  const { runId } = await killedIn("load", "after", files);
  const store = open(files.database);
  expect((await store.runs()).runs).toEqual([]);
  expect(await store.latest(runId)).toBeNull();
  expect(await start([files.database, files.journal, "run"]).end()).toEqual(output);
  expect(effects(files.journal).map(({ node }) => node)).toEqual(["load", ...nodes]);
});

it("the skipped branch stays skipped in the process that resumes", async () => {
  const files = place();
  const { runId } = await killedIn("review", "before", files);
  const checkpoint = await open(files.database).latest(runId);
  expect(checkpoint).toMatchObject({ nodeId: "route", skippedNodes: ["refund"] });
  await start([files.database, files.journal, "resume", runId]).end();
  expect(effects(files.journal).map(({ node }) => node)).not.toContain("refund");
});

it("every checkpoint that was announced is there, wherever between two nodes the kill hits", async () => {
  const files = place();
  // STOP_AT ensures that the run cannot end before the test kills the process, even if the test is slow.
  const child = start([files.database, files.journal, "long", "300"], { STOP_AT: "node-250", STOP: "before" });
  const { runId } = await child.until(({ event }) => event === "run");
  for (let seen = 0; seen < 25; seen++) await child.until(({ event }) => event === "checkpoint");
  expect(await child.kill()).toBe("SIGKILL");
  const announced = child.lines.filter(({ event }) => event === "checkpoint");
  expect(announced).toHaveLength(25);

  const store = open(files.database);
  const kept = (await store.listByRun(runId as string)).toReversed();
  expect(kept.slice(0, 25).map(({ id, nodeId }) => ({ id, nodeId }))).toEqual(
    announced.map(({ id, node }) => ({ id, nodeId: node })),
  );
  for (const [index, { id }] of kept.entries()) {
    expect((await store.get(id))!.visitedNodes).toEqual(Array.from({ length: index + 1 }, (_, i) => `node-${i}`));
  }

  const resumed = start([files.database, files.journal, "long-resume", "300", runId as string]);
  expect(Object.keys((await resumed.end()) as object)).toHaveLength(300);
  const ran = effects(files.journal).map(({ node }) => node);
  // Every node ran. No node with a stored checkpoint ran twice. Only the node that was running at the kill may have run
  // twice.
  expect(new Set(ran).size).toBe(300);
  for (const { nodeId } of kept) expect(ran.filter((node) => node === nodeId)).toHaveLength(1);
  expect(ran.length).toBeLessThanOrEqual(301);
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
