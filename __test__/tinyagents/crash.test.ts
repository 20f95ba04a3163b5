// Kills real processes at every boundary of a graph. The next process must end it with the same state, and no task whose
// result is stored may run again.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Checkpointer } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { type Ended, folder, run } from "../helpers.js";

const nodes = ["a", "b1", "b2", "join", "item 1", "item 2", "gate yes", "z"];
const beforeGate = nodes.slice(0, 6);

function start(home: string, durability: string, moment = "never", where = "", ...answer: string[]): Promise<Ended> {
  return run("graph.mjs", [home, durability, moment, where, ...answer]);
}

function effects(home: string): string[] {
  const file = join(home, "effects");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
}

function ended({ code, lines, errors }: Ended, status: "done" | "interrupted"): void {
  const log = status === "done" ? nodes : beforeGate;
  expect({ code, lines, errors }).toEqual({ code: 0, lines: [JSON.stringify({ status, log })], errors: "" });
}

async function killed(ending: Promise<Ended>): Promise<void> {
  expect(await ending).toMatchObject({ signal: "SIGKILL", lines: [], errors: "" });
}

/** Lets a new process go on until the question, and another one with the answer. */
async function finish(home: string, durability: string): Promise<void> {
  ended(await start(home, durability), "interrupted");
  ended(await start(home, durability, "never", "", "yes"), "done");
}

/** Expects that every effect happened, and returns those that happened more than once. */
function repeated(home: string): string[] {
  const all = effects(home);
  expect(new Set(all)).toEqual(new Set(nodes));
  return all.filter((effect, at) => all.indexOf(effect) !== at);
}

describe("sync", () => {
  it("killed after each checkpoint in turn, no task runs twice", async () => {
    const home = folder();
    for (const step of ["0", "1", "2", "3", "4"]) await killed(start(home, "sync", "saved", step));
    await finish(home, "sync");
    expect(effects(home)).toEqual(nodes);
  });

  it("killed in each node in turn, only that task repeats", async () => {
    const home = folder();
    for (const node of beforeGate) await killed(start(home, "sync", "during", node));
    ended(await start(home, "sync"), "interrupted");
    for (const node of ["gate yes", "z"]) await killed(start(home, "sync", "during", node, "yes"));
    ended(await start(home, "sync"), "done");
    // The first item ends at the same moment as the second, which kills the process before the first is recorded.
    expect(repeated(home).filter((effect) => effect !== "item 1")).toEqual(nodes.filter((node) => node !== "item 1"));
  });

  it("a recorded task of a superstep that was killed does not run again", async () => {
    const home = folder();
    await killed(start(home, "sync", "before", "b2"));
    expect(effects(home)).toEqual(["a", "b1"]);
    await finish(home, "sync");
    expect(effects(home)).toEqual(nodes);
  });

  it("an answer outlives the process that was killed before it used the answer", async () => {
    const home = folder();
    ended(await start(home, "sync"), "interrupted");
    await killed(start(home, "sync", "before", "gate yes", "yes"));
    ended(await start(home, "sync"), "done");
    expect(effects(home)).toEqual(nodes);
  });
});

describe.each(["async", "exit"])("%s", (durability) => {
  it.each(["a", "b2", "item 2"])("killed in %s, the graph still ends with the same state", async (node) => {
    const home = folder();
    await killed(start(home, durability, "during", node));
    const checkpointer = new Checkpointer(join(home, "threads.db"));
    const stored = await checkpointer.list("t");
    await checkpointer.close();
    if (durability === "exit") expect(stored).toEqual([]);
    await finish(home, durability);
    const again = repeated(home);
    // What was lost runs again in the same order. Nothing else does.
    const until = nodes.slice(0, nodes.indexOf(node) + 1);
    expect(until).toEqual(expect.arrayContaining(again));
    if (durability === "exit")
      expect(again.filter((effect) => effect !== "item 2")).toEqual(until.filter((effect) => effect !== "item 2"));
  });

  it("killed after the answer, the question or the answer is still there", async () => {
    const home = folder();
    ended(await start(home, durability), "interrupted");
    await killed(start(home, durability, "during", "gate yes", "yes"));
    ended(await start(home, durability, "never", "", "yes"), "done");
    expect(repeated(home)).toEqual(["gate yes"]);
  });
});

it("exit: killed after the checkpoint of the question, no task runs twice", async () => {
  const home = folder();
  await killed(start(home, "exit", "saved", "4"));
  await finish(home, "exit");
  expect(effects(home)).toEqual(nodes);
});

it("async: what is stored is the beginning of the run, in order", async () => {
  const home = folder();
  await killed(start(home, "async", "saved", "2"));
  const checkpointer = new Checkpointer(join(home, "threads.db"));
  const listed = await checkpointer.list("t");
  expect(listed.map(({ metadata }) => metadata["step"])).toEqual(listed.map((_, step) => step));
  expect(listed.length).toBeGreaterThanOrEqual(3);
  expect(listed.map(({ parentCheckpointId }) => parentCheckpointId)).toEqual([
    null,
    ...listed.slice(0, -1).map(({ checkpointId }) => checkpointId),
  ]);
  await checkpointer.close();
  await finish(home, "async");
  repeated(home);
});
