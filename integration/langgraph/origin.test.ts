// Tests whose threads recover() takes: those of its own program, and none that a tool made or that a living process runs.
// @module-tag slow
import { END, entrypoint, task } from "@langchain/langgraph";
import { openInspector } from "forkpoint/inspect";
import { ForkpointSaver, type RecoveredThread, recover } from "forkpoint/langgraph";
import { createAgent } from "langchain";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Child } from "./children.js";
// @ts-expect-error The fixture is JavaScript.
import { scripted } from "./fixtures/model.mjs";
import { Log, durable, folder, open, place, saver, thread, says, sequence, rejection } from "./helpers.js";

const sync = (id = "thread") => ({ ...thread(id), durability: "sync" as const });

/** A graph of two nodes. It stops after the first one as if the process was killed. */
function pair(checkpointer: ForkpointSaver, name?: string, names = ["one", "two"] as const) {
  const ran: string[] = [];
  const node = (which: string) => () => {
    ran.push(which);
    return { log: [which] };
  };
  const nodes = Object.fromEntries(names.map((each) => [each, node(each)]));
  const app = sequence(Log, nodes).compile({ checkpointer, ...(name !== undefined && { name }) });
  const crash = (id?: string) => app.invoke({ log: [] }, { ...sync(id), interruptAfter: [names[0]] as never });
  return { app, ran, crash };
}

describe("two programs share a database", () => {
  /** What a program does once, in a node, in a task or as the model of an agent. */
  type Act = () => string;
  const chain = (act: Act, more = {}) => sequence(Log, { plan: says("plan"), act: () => ({ log: [act()] }), ...more });

  /** Programs that have a name, and graphs without one, which differ only behind the node that has failed. */
  const programs: Record<string, (checkpointer: ForkpointSaver, name: string, act: Act) => any> = {
    agent: (checkpointer, name, act) =>
      createAgent({ model: scripted(() => ({ content: act() })), tools: [], name, checkpointer }),
    named: (checkpointer, name, act) => chain(act).compile({ checkpointer, name }),
    workflow: (checkpointer, name, act) => {
      const step = task("act", async () => act());
      return entrypoint({ name, checkpointer }, async () => step());
    },
    program: (checkpointer, _, act) => chain(act).compile({ checkpointer }),
    nameless: (checkpointer, name, act) => chain(act, { [name]: says(name) }).compile({ checkpointer }),
  };

  it.each(Object.keys(programs))("%s: the start of one runs nothing of the other, and reports it", async (kind) => {
    const report = { why: "other program", program: kind === "nameless" ? null : "billing" };
    const target = place(durable);
    const acts: string[] = [];
    let fails = true;
    /** Starts a program, whose first call is `recover`. */
    const start = async (name: string) => {
      const checkpointer = open(target, kind === "program" ? { program: name } : {});
      const app = programs[kind]!(checkpointer, name, () => {
        acts.push(name);
        if (fails) throw new Error("a crash");
        return "done";
      });
      return { app, runs: (await recover(app, checkpointer, { onFailed: () => "retry" })).runs };
    };
    const { app } = await start("billing");
    const input = kind === "agent" ? { messages: [{ role: "user", content: "go" }] } : { log: [] };
    await rejection(app.invoke(input, sync("invoice-7")));
    fails = false;
    expect((await start("support")).runs).toMatchObject([{ threadId: "invoice-7", outcome: "skipped", ...report }]);
    expect(acts).toEqual(["billing"]);
    expect((await start("billing")).runs).toMatchObject([{ threadId: "invoice-7", outcome: "finished" }]);
    expect(acts).toEqual(["billing", "billing"]);
    expect((await start("support")).runs).toEqual([]);
  });

  it("a thread that no one has marked is reported, and recovered when it is named", async () => {
    const checkpointer = saver("memory");
    await pair(checkpointer).crash();
    const { app, ran } = pair(checkpointer, "support");
    const [run] = (await recover(app, checkpointer)).runs;
    expect(run).toMatchObject({ outcome: "skipped", why: "unknown origin", program: null });
    expect(run).toMatchObject({ message: expect.stringContaining('threads: ["thread"]') });
    expect(ran).toEqual([]);
    expect((await recover(app, checkpointer, { threads: ["thread"] })).runs).toMatchObject([{ outcome: "finished" }]);
    expect(ran).toEqual(["two"]);
    // recover has given the graph's name to its later runs.
    await app.invoke({ log: [] }, { ...sync("later"), interruptAfter: ["one"] });
    expect((await recover(pair(checkpointer, "support").app, checkpointer)).runs).toMatchObject([
      { threadId: "later", outcome: "finished" },
    ]);
  });

  it("a graph without a name takes no thread that it has not marked, even if all nodes are equal", async () => {
    const checkpointer = saver("memory");
    await pair(checkpointer).crash();
    const { app, ran, crash } = pair(checkpointer);
    const unknown = { threadId: "thread", outcome: "skipped", why: "unknown origin", program: null };
    expect((await recover(app, checkpointer)).runs).toMatchObject([
      { ...unknown, message: expect.stringContaining("recover at each start of the program, before the first run") },
    ]);
    expect(ran).toEqual([]);
    // From now on this graph's threads carry its shape.
    await crash("later");
    const next = pair(checkpointer);
    const { runs } = await recover(next.app, checkpointer);
    expect(runs.toSorted((a, b) => (a.threadId < b.threadId ? -1 : 1))).toMatchObject([
      { threadId: "later", outcome: "finished" },
      unknown,
    ]);
    expect((await recover(next.app, checkpointer, { threads: ["thread"] })).runs).toMatchObject([
      { outcome: "finished" },
    ]);
    expect(next.ran).toEqual(["two", "two"]);
  });
});

describe("a branch that a tool made", () => {
  it.each([
    ["in the thread", undefined],
    ["in a new thread", "copy"],
  ])("%s waits until the program is asked to run it", async (_, as) => {
    const target = place(durable);
    const checkpointer = open(target, { program: "pair" });
    const { app, ran, crash } = pair(checkpointer);
    await crash();
    await app.invoke(null, sync());
    const before = (await checkpointer.status("thread"))!.checkpointId;
    const all: string[] = [];
    for await (const { config } of checkpointer.list(thread())) all.push(config.configurable!["checkpoint_id"]);
    expect(all[0]).toBe(before);
    const inspector = await openInspector(target, { write: true });
    const ref = { space: "langgraph", run: "thread", id: all[1]! };
    const edit = as === undefined ? {} : { as };
    await inspector.fork(ref, { ...edit, set: [["log", ["edited"]]] });
    await inspector.close();

    const id = as ?? "thread";
    const branch = { threadId: id, outcome: "skipped", why: "branch", program: "pair" };
    for (let start = 0; start < 2; start++) expect((await recover(app, checkpointer)).runs).toMatchObject([branch]);
    expect(ran).toEqual(["one", "two"]);
    expect((await recover(app, checkpointer, { threads: [id] })).runs).toMatchObject([
      { outcome: "finished", output: { log: ["edited", "two"] } },
    ]);
    expect((await recover(app, checkpointer)).runs).toEqual([]);
  });
});

describe("a thread of a living process", () => {
  it("is not run again without a lease, and is recovered when the process has ended", { timeout: 60_000 }, async () => {
    const [database, journal] = [place(durable), join(folder(), "effects.log")];
    const ran = () => readFileSync(journal, "utf8").trim().split("\n").length;
    const args = (command: string) => [database, journal, command, "chain", "thread"];
    const living = new Child(args("run"), { STOP_AT: "two", STOP: "after" });
    await living.until("stopped");
    expect(ran()).toBe(2);
    const [run, ...others] = (await new Child(args("recover")).end()) as unknown as RecoveredThread[];
    expect([run, others]).toMatchObject([
      { threadId: "thread", outcome: "skipped", why: "at work", program: "graph" },
      [],
    ]);
    expect(run).toMatchObject({ message: expect.stringContaining(`process ${living.pid} is still running`) });
    expect(ran()).toBe(2);
    expect(await living.kill()).toBe("SIGKILL");
    expect(await new Child(args("recover")).end()).toMatchObject([{ threadId: "thread", outcome: "finished" }]);
    // Two nodes before the kill, and four after it: the second node was cut off.
    expect(ran()).toBe(6);
  });

  it("is recovered with idleMs, for example when the process has left it", { timeout: 60_000 }, async () => {
    const target = place(durable);
    const journal = join(folder(), "effects.log");
    const living = new Child([target, journal, "run", "chain", "thread"], { STOP_AT: "three" });
    await living.until("stopped");
    const checkpointer = open(target, { program: "graph" });
    const names = ["one", "two", "three", "four", "five"];
    const app = sequence(Log, Object.fromEntries(names.map((name) => [name, says(name)]))).compile({ checkpointer });
    expect((await recover(app, checkpointer)).runs).toMatchObject([{ outcome: "skipped", why: "at work" }]);
    expect((await recover(app, checkpointer, { idleMs: 3_600_000 })).runs).toEqual([]);
    expect((await recover(app, checkpointer, { idleMs: 0 })).runs).toMatchObject([
      { outcome: "finished", output: { log: ["in", ...names] } },
    ]);
  });
});

it("a thread that was stopped and then ended with updateState is not resumed", async () => {
  const checkpointer = saver("memory");
  const { app, ran, crash } = pair(checkpointer);
  await crash();
  await app.updateState(thread(), null, END);
  expect((await checkpointer.status("thread"))!.status).toBe("finished");
  expect((await recover(app, checkpointer)).runs).toEqual([]);
  expect(ran).toEqual(["one"]);
});

it("recovers an agent of createAgent, and types accept it", async () => {
  const checkpointer = saver("memory");
  const calls: string[] = [];
  const model = { invoke: () => calls.push("model") };
  const agent = createAgent({ model: model as never, tools: [], checkpointer });
  expect(await recover(agent, checkpointer)).toEqual({ runs: [], checked: 0 });
  const other = createAgent({ model: model as never, tools: [], checkpointer: saver("memory") });
  await expect(recover(other, checkpointer)).rejects.toThrow("another checkpointer");
  expect(calls).toEqual([]);
});
