// Tests recover(): it resumes threads that a crash cut off, once, and never a thread that waits for a human's answer.
import { Command, START, StateGraph, interrupt } from "@langchain/langgraph";
import { type FailedThread, type ForkpointSaver, type RecoveredThread, recover } from "forkpoint/langgraph";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Child } from "./children.js";
import { type Kind, Log, folder, kinds, open as openSaver, place, sequence, thread } from "./helpers.js";

// recover() takes only the threads of its own program.
const program = "tests";
const open = (target: string) => openSaver(target, { program });
const saver = (kind: Kind) => open(place(kind));

const sync = (id = "thread") => ({ ...thread(id), durability: "sync" as const });

/** A chain of nodes. `broken` nodes throw as long as they are in the set. `ran` has the nodes in the order of their runs. */
function chain(names: string[], broken = new Set<string>()) {
  const ran: string[] = [];
  const node = (name: string) => () => {
    ran.push(name);
    if (broken.has(name)) throw new Error(`no ${name}`);
    return { log: [name] };
  };
  return { graph: sequence(Log, Object.fromEntries(names.map((name) => [name, node(name)]))), ran, broken };
}

/** Runs a graph as if the process was killed after `steps` supersteps. */
async function crashed(checkpointer: ForkpointSaver, names: string[], steps: number, id = "thread"): Promise<void> {
  const { graph } = chain(names);
  const app = graph.compile({ checkpointer });
  const stopped = { ...sync(id), interruptAfter: [names[steps - 1]!] as never };
  await app.invoke({ log: [] }, stopped);
}

/** A graph that asks before `pay`. The answer "no" ends it. */
function approval(checkpointer: ForkpointSaver) {
  const ran: string[] = [];
  const marks = (name: string) => () => {
    ran.push(name);
    return {};
  };
  const app = new StateGraph(Log)
    .addNode("draft", marks("draft"))
    .addNode(
      "ask",
      () => {
        const answer = interrupt<string, string>("pay 480?");
        return new Command({ goto: answer === "yes" ? "pay" : "decline", update: { log: [answer] } });
      },
      { ends: ["pay", "decline"] },
    )
    .addNode("pay", marks("pay"))
    .addNode("decline", marks("decline"))
    .addEdge(START, "draft")
    .addEdge("draft", "ask")
    .compile({ checkpointer });
  return { app, ran };
}

describe.each(kinds)("on %s", (kind) => {
  it("resumes a thread that a crash cut off, and does not repeat what was stored", async () => {
    const checkpointer = saver(kind);
    await crashed(checkpointer, ["one", "two", "three"], 1);
    const { graph, ran } = chain(["one", "two", "three"]);
    const app = graph.compile({ checkpointer });
    const { runs, checked } = await recover(app, checkpointer);
    const output = { log: ["one", "two", "three"] };
    expect({ runs, checked }).toEqual({ runs: [{ threadId: "thread", outcome: "finished", output }], checked: 1 });
    expect(ran).toEqual(["two", "three"]);
    expect((await recover(app, checkpointer)).runs).toEqual([]);
    expect(ran).toEqual(["two", "three"]);
  });

  it.each([
    ["yes", "pay"],
    ["no", "decline"],
  ])("never resumes a thread that waits for an answer, and passes the answer %s once", async (resume, effect) => {
    const checkpointer = saver(kind);
    const { app, ran } = approval(checkpointer);
    await app.invoke({ log: [] }, sync());
    const waiting = {
      threadId: "thread",
      outcome: "waiting",
      checkpointId: expect.any(String),
      next: ["ask"],
      interrupts: [expect.objectContaining({ value: "pay 480?" })],
    };
    expect((await recover(app, checkpointer)).runs).toEqual([waiting]);
    expect((await recover(app, checkpointer, { onWaiting: () => undefined })).runs).toEqual([waiting]);
    expect(ran).toEqual(["draft"]);
    const asked: unknown[] = [];
    const onWaiting = (waiting: object) => {
      asked.push(waiting);
      return new Command({ resume });
    };
    expect((await recover(app, checkpointer, { onWaiting })).runs).toMatchObject([
      { outcome: "finished", output: { log: [resume] } },
    ]);
    expect((await recover(app, checkpointer, { onWaiting })).runs).toEqual([]);
    expect(asked).toMatchObject([{ threadId: "thread", next: ["ask"], interrupts: [{ value: "pay 480?" }] }]);
    expect(ran).toEqual(["draft", effect]);
  });

  it("goes on with the next question of the thread, and stops if the same one is asked again", async () => {
    const checkpointer = saver(kind);
    const app = sequence(Log, {
      ask: () => {
        const name = interrupt<string, string>("name?");
        let age = interrupt<string, string>("age?");
        while (!/^\d+$/.test(age)) age = interrupt<string, string>("age?");
        return { log: [name, age] };
      },
    }).compile({ checkpointer });
    await app.invoke({ log: [] }, sync());
    const questions: unknown[] = [];
    const onWaiting = ({ interrupts }: { interrupts: Array<{ value?: unknown }> }) => {
      questions.push(interrupts[0]!.value);
      return new Command({ resume: "Ada" });
    };
    expect((await recover(app, checkpointer, { onWaiting })).runs).toMatchObject([{ outcome: "waiting" }]);
    expect(questions).toEqual(["name?", "age?"]);
    const right = () => new Command({ resume: "36" });
    expect((await recover(app, checkpointer, { onWaiting: right })).runs).toMatchObject([
      { outcome: "finished", output: { log: ["Ada", "36"] } },
    ]);
  });

  it.each(["interruptBefore", "interruptAfter"] as const)("never passes a breakpoint by itself: %s", async (option) => {
    const checkpointer = saver(kind);
    const at = { [option]: [option === "interruptBefore" ? "two" : "one"] as never };
    const { graph, ran } = chain(["one", "two", "three"]);
    const app = graph.compile({ checkpointer, ...at });
    await app.invoke({ log: [] }, sync());
    expect((await recover(app, checkpointer)).runs).toMatchObject([
      { outcome: "waiting", next: ["two"], interrupts: [] },
    ]);
    expect(ran).toEqual(["one"]);
    const plain = graph.compile({ checkpointer });
    expect((await recover(plain, checkpointer, { config: at })).runs).toMatchObject([{ outcome: "waiting" }]);
    expect(ran).toEqual(["one"]);
    // After the breakpoint, a graph with interruptAfter may be at the next one.
    const onWaiting = ({ next }: { next: string[] }) =>
      next[0] === "two" || option === "interruptAfter" ? null : undefined;
    const [run] = (await recover(app, checkpointer, { onWaiting })).runs;
    expect(run).toMatchObject({ outcome: "finished", output: { log: ["one", "two", "three"] } });
  });

  it("knows a failed thread from a waiting one, and retries it only when told to", async () => {
    const checkpointer = saver(kind);
    const { graph, ran, broken } = chain(["one", "two"], new Set(["two"]));
    const app = graph.compile({ checkpointer });
    await expect(app.invoke({ log: [] }, sync())).rejects.toThrow("no two");
    const failed = { threadId: "thread", outcome: "failed", next: ["two"] };
    expect((await recover(app, checkpointer, { onWaiting: () => null })).runs).toMatchObject([failed]);
    expect(ran).toEqual(["one", "two"]);
    expect((await recover(app, checkpointer, { onFailed: () => "retry" })).runs).toMatchObject([failed]);
    expect(ran).toEqual(["one", "two", "two"]);
    broken.clear();
    expect((await recover(app, checkpointer, { onFailed: () => "retry" })).runs).toMatchObject([
      { outcome: "finished", output: { log: ["one", "two"] } },
    ]);
    expect(ran).toEqual(["one", "two", "two", "two"]);
  });

  it("says what a node threw, so that onFailed can retry an outage and leave a mistake", async () => {
    const checkpointer = saver(kind);
    const thrown = new Map([
      ["busy", "429 Too Many Requests"],
      ["bug", "x is not a function"],
    ]);
    const app = sequence(Log, {
      model: (_, config) => {
        const message = thrown.get(config.configurable!["thread_id"] as string);
        if (message !== undefined) throw Object.assign(new Error(message), { name: "ModelError" });
        return { log: ["answered"] };
      },
    }).compile({ checkpointer });
    for (const id of ["busy", "bug"]) {
      await expect(app.invoke({ log: [] }, { ...thread(id), durability: "sync" })).rejects.toThrow(thrown.get(id)!);
    }
    thrown.delete("busy");
    const onFailed = ({ error }: FailedThread) => (error.message.startsWith("429") ? "retry" : "leave");
    const { runs } = await recover(app, checkpointer, { onFailed });
    const error = { name: "ModelError", message: "x is not a function" };
    expect(runs.toSorted((a, b) => (a.threadId < b.threadId ? -1 : 1))).toMatchObject([
      { threadId: "bug", outcome: "failed", next: ["model"], error },
      { threadId: "busy", outcome: "finished", output: { log: ["answered"] } },
    ]);
  });
});

it(
  "an answer is stored before the thread goes on: whenever the process is killed, it is asked for once",
  { timeout: 60_000 },
  async () => {
    const path = folder();
    const [database, journal] = [join(path, "graph.db"), join(path, "effects.log")];
    const ran = () =>
      existsSync(journal)
        ? readFileSync(journal, "utf8")
            .trim()
            .split("\n")
            .map((line) => line.split(" ")[1])
        : [];
    const recovered = async (child: Child) => (await child.end()) as unknown as RecoveredThread[];
    await new Child([database, journal, "run", "asking", "thread"]).end();
    expect(ran()).toEqual(["before"]);

    // Nobody has answered yet, however often the program is started.
    for (let start = 0; start < 2; start++) {
      expect(await recovered(new Child([database, journal, "recover", "asking", "thread"]))).toMatchObject([
        { outcome: "waiting", interrupts: [{ value: "well?" }] },
      ]);
    }
    const killed = new Child([database, journal, "recover", "asking", "thread"], { ANSWER: "yes", STOP_AT: "after" });
    await killed.until("stopped");
    expect(await killed.kill()).toBe("SIGKILL");
    // This start has no answer, and needs none.
    expect(await recovered(new Child([database, journal, "recover", "asking", "thread"]))).toMatchObject([
      { outcome: "finished", output: { log: ["in", "before", "yes", "after"] } },
    ]);
    expect(await recovered(new Child([database, journal, "recover", "asking", "thread"], { ANSWER: "yes" }))).toEqual(
      [],
    );
    expect(ran()).toEqual(["before", "after"]);
  },
);

it("a dry run says which threads recover would leave, and which it would ask about", async () => {
  const checkpointer = saver("memory");
  const { app } = approval(checkpointer);
  await app.invoke({ log: [] }, sync("waits"));
  const { graph, broken } = chain(["first", "second"]);
  broken.add("second");
  const fails = graph.compile({ checkpointer });
  await expect(fails.invoke({ log: [] }, sync("fails"))).rejects.toThrow("no second");
  const outcome = async (of: typeof app | typeof fails, thread: string, options: object) => {
    const { runs } = await recover(of as typeof app, checkpointer, { dryRun: true, threads: [thread], ...options });
    return runs.map(({ outcome, ...rest }) => [outcome, "status" in rest ? rest.status : undefined]);
  };
  const fail = () => {
    throw new Error("a dry run calls nothing");
  };
  for (const [of, thread, status, decides] of [
    [app, "waits", "waiting", "onWaiting"],
    [fails, "fails", "failed", "onFailed"],
  ] as const) {
    expect(await outcome(of, thread, {})).toEqual([["would leave", status]]);
    expect(await outcome(of, thread, { onWaiting: fail, onFailed: fail, [decides]: undefined })).toEqual([
      ["would leave", status],
    ]);
    expect(await outcome(of, thread, { [decides]: fail })).toEqual([["would ask", status]]);
    // A thread that another process works on is named with its holder.
    await using lease = await checkpointer.lease({ space: "langgraph", run: thread });
    const { runs } = await recover(of as typeof app, checkpointer, { dryRun: true, threads: [thread] });
    expect(runs).toEqual([{ threadId: thread, outcome: "elsewhere", holder: lease.holder }]);
  }
});
