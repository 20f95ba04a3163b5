// The command line on LangGraph's threads: what a thread waits for, its branches, and forks that a graph goes on from.
import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { Command, END, MessagesAnnotation, START, StateGraph, interrupt } from "@langchain/langgraph";
import { type ForkpointSaver, recover } from "forkpoint/langgraph";
import { expect, it } from "vitest";
import { Log, folder, open, says, thread } from "./helpers.js";

const main = join(dirname(createRequire(import.meta.url).resolve("forkpoint/package.json")), "dist/cli/main.js");

/** Runs a command that must succeed, and returns what it writes. */
function run(...args: string[]): { stdout: string; stderr: string } {
  const { NO_COLOR: _, FORCE_COLOR: __, ...env } = process.env;
  const ended = spawnSync(process.execPath, [main, ...args], { encoding: "utf8", env: { ...env, NODE_OPTIONS: "" } });
  expect({ status: ended.status, stderr: ended.status === 0 ? "" : ended.stderr }).toEqual({ status: 0, stderr: "" });
  return ended;
}

/** Runs a command that must succeed, and returns what it prints. */
const cli = (...args: string[]): string => run(...args).stdout;

/** A graph that asks a question in the middle. */
function graph(checkpointer: ForkpointSaver) {
  return new StateGraph(Log)
    .addNode("plan", says("plan"))
    .addNode("asks", () => ({ log: [interrupt<string, string>("go on?")] }))
    .addNode("acts", says("acted"))
    .addEdge(START, "plan")
    .addEdge("plan", "asks")
    .addEdge("asks", "acts")
    .addEdge("acts", END)
    .compile({ checkpointer });
}

it("a thread that waits is shown, forked, and goes on in a new thread", async () => {
  const path = join(folder(), "graph.db");
  const first = open(path);
  await graph(first).invoke({ log: ["hi"] }, thread("thread-1"));
  await first.close();

  expect(cli("ls", "--db", path)).toMatch(/! waiting +thread-1 +langgraph +3 +plan/);
  const { writes, next, state } = JSON.parse(cli("get", "thread-1", "--json", "--db", path));
  expect(next).toEqual(["asks"]);
  expect(writes).toMatchObject([{ channel: "__interrupt__" }]);
  // LangGraph 1.7 stores a list of questions, and older versions store one.
  expect([writes[0].value].flat()).toMatchObject([{ value: "go on?" }]);
  expect(state.log).toEqual(["hi", "plan"]);
  expect(cli("get", "thread-1", "--db", path)).toMatch(/__interrupt__ +pending/);

  const fork = JSON.parse(
    cli("fork", "thread-1", "--set", 'log=["other"]', "--as", "thread-2", "--json", "--db", path),
  );
  expect(fork).toMatchObject({ space: "langgraph", run: "thread-2", ns: "", from: { run: "thread-1" }, dryRun: false });
  const again = open(path);
  const end = await graph(again).invoke(new Command({ resume: "yes" }), thread("thread-2"));
  expect(end.log).toEqual(["other", "yes", "acted"]);
  await again.close();
  expect(cli("ls", "--status", "finished", "--db", path)).toContain("thread-2");
  expect(cli("ls", "--status", "waiting", "--db", path)).toContain("thread-1");
});

it("says what continues a branch of a subgraph", async () => {
  const path = join(folder(), "graph.db");
  const build = (checkpointer: ForkpointSaver) => {
    const inner = new StateGraph(Log)
      .addNode("draft", says("draft"))
      .addNode("asks", () => ({ log: [interrupt<string, string>("go on?")] }))
      .addEdge(START, "draft")
      .addEdge("draft", "asks")
      .compile();
    return new StateGraph(Log).addNode("inner", inner).addEdge(START, "inner").compile({ checkpointer });
  };
  const made = open(path);
  await build(made).invoke({ log: ["hi"] }, thread("thread-1"));
  await made.close();
  const { runs } = JSON.parse(cli("ls", "--all-ns", "--json", "--db", path)) as { runs: Array<{ ns: string }> };
  const ns = runs.find((one) => one.ns !== "")!.ns;
  const fork = (...more: string[]) =>
    run("fork", "thread-1", "--ns", ns, "--set", 'log=["forked"]', ...more, "--db", path).stderr;
  expect(fork("--as", "other")).toContain("nothing continues this branch");
  const stderr = fork();
  expect(stderr).toContain("the graph is still at the step that called this subgraph");
  expect(stderr).not.toContain("leaves the list of waiting runs");
  const again = open(path);
  const { log } = await build(again).invoke(new Command({ resume: "yes" }), thread("thread-1"));
  expect(log).toEqual(["hi", "forked", "yes"]);
  await again.close();
  expect(fork("--step", "0")).toContain("nothing continues this branch");
  const after = open(path);
  expect((await build(after).getState(thread("thread-1"))).values.log).toEqual(log);
  expect(await recover(build(after), after, { threads: ["thread-1"] })).toMatchObject({ runs: [] });
});

it("the branches of a thread have lanes, and a branch can be made", async () => {
  const path = join(folder(), "graph.db");
  const made = open(path);
  const app = graph(made);
  await app.invoke({ log: [] }, thread("thread-1"));
  await app.invoke(new Command({ resume: "yes" }), thread("thread-1"));
  await made.close();
  const { checkpoints } = JSON.parse(cli("show", "thread-1", "--json", "--db", path));
  cli("fork", "thread-1", "--step", "1", "--db", path);
  const tree = cli("show", "thread-1", "--tree", "--db", path).split("\n");
  const rows = tree.slice(4).filter((line) => line !== "");
  expect(rows[0]).toMatch(new RegExp(`^\\* ${checkpoints.length} +fork `));
  expect(rows[1]).toMatch(/^\| \* \d+ +acts /);
  expect(rows).toContain("|/");
  expect(rows.filter((line) => line.includes("*"))).toHaveLength(checkpoints.length + 1);
});

it("an export brings a thread to another database, with its pending writes", async () => {
  const path = join(folder(), "graph.db");
  const made = open(path);
  await graph(made).invoke({ log: ["hi"] }, thread("thread-1"));
  await made.close();
  const [file, to] = [join(folder(), "thread.jsonl"), join(folder(), "other.db")];
  cli("export", "thread-1", "--out", file, "--db", path);
  expect(JSON.parse(cli("import", file, "--json", "--db", to))).toMatchObject({
    runs: 1,
    checkpoints: 3,
    verified: true,
  });
  const other = open(to);
  const end = await graph(other).invoke(new Command({ resume: "yes" }), thread("thread-1"));
  expect(end.log).toEqual(["hi", "plan", "yes", "acted"]);
});

it("shows the next nodes, the question of a thread that waits, and the error of one that failed", async () => {
  const path = join(folder(), "graph.db");
  const made = open(path);
  await graph(made).invoke({ log: ["hi"] }, thread("waits"));
  const failing = new StateGraph(Log)
    .addNode("plan", says("plan"))
    .addNode("acts", () => Promise.reject(new Error("the API answered 503")))
    .addEdge(START, "plan")
    .addEdge("plan", "acts")
    .compile({ checkpointer: made });
  await expect(failing.invoke({ log: [] }, thread("fails"))).rejects.toThrow("503");
  await made.close();
  const waits = cli("show", "waits", "--db", path);
  expect(waits).toMatch(/^! waiting: it asks a question\n {2}"go on\?"$/m);
  expect(waits).toMatch(/^STEP +LABEL +NEXT +CHECKPOINT /m);
  const rows = [...waits.matchAll(/^ +\d +(\w+) +(\w+) +[0-9a-f-]{36} /gm)].map(([, label, next]) => [label, next]);
  expect(rows).toEqual([
    ["input", "__start__"],
    ["__start__", "plan"],
    ["plan", "asks"],
  ]);
  expect(cli("show", "waits", "--tree", "--db", path)).toMatch(/^\* 2 +plan +[0-9a-f-]{36} {2}→ asks /m);
  expect(cli("show", "fails", "--db", path)).toMatch(
    /^✗ failed: a task has failed: "acts"\n {2}Error: the API answered 503$/m,
  );
});

it("a fork names new keys, and recover continues it, in a new thread and in the same one", async () => {
  const path = join(folder(), "graph.db");
  const made = open(path);
  await graph(made).invoke({ log: ["hi"] }, thread("thread-1"));
  await graph(made).invoke(new Command({ resume: "yes" }), thread("thread-1"));
  await made.close();
  // Step 2 is the one before the node that asks.
  for (const [as, name] of [
    [["--as", "thread-2"], "thread-2"],
    [[], "thread-1"],
  ] as const) {
    const { stderr } = run("fork", "thread-1", "--step", "2", "--set", 'lag=["x"]', ...as, "--db", path);
    expect(stderr).toBe(
      "lag is a new key of the state, which has log\n" +
        `resume it in your program: recover(graph, saver, { threads: ["${name}"] })\n`,
    );
    const saver = open(path);
    const app = graph(saver);
    const { runs } = await recover(app, saver, { threads: [name] });
    expect(runs).toMatchObject([{ threadId: name, outcome: "waiting", next: ["asks"] }]);
    await saver.close();
  }
  expect(run("fork", "thread-1", "--step", "4", "--dry-run", "--db", path).stderr).toContain("nothing will run");
});

it("messages are lines for a human, and JSON for a program", async () => {
  const path = join(folder(), "graph.db");
  const made = open(path);
  const calls = [{ id: "1", name: "find", args: { city: "Lisbon" } }];
  const chat = new StateGraph(MessagesAnnotation)
    .addNode("agent", () => ({
      messages: [
        new AIMessage({ content: "", tool_calls: calls }),
        new ToolMessage({ content: "Grand Hotel", tool_call_id: "1" }),
        new AIMessage({ content: [{ type: "text", text: `Hello Ada. ${"very ".repeat(50)}` }] }),
      ],
    }))
    .addEdge(START, "agent")
    .compile({ checkpointer: made });
  await chat.invoke({ messages: [new HumanMessage("Find me a \u001b[1mhotel")] }, thread("chat"));
  await made.close();
  const { stdout, stderr } = run("get", "chat", "--part", "state", "--db", path);
  expect(stdout).toContain(
    '    user: "Find me a \\u001b[1mhotel",\n    assistant: calls find,\n    tool: "Grand Hotel",\n    assistant: "Hello Ada. very ',
  );
  expect(stdout).not.toContain("kwargs");
  expect(stderr).toContain("--path");
  expect(cli("diff", "chat", "--part", "state", "--db", path)).toMatch(
    /^\+ added +state\.messages\[2\] {2}tool: "Grand Hotel"$/m,
  );
  // A single message, and JSON, are complete.
  expect(cli("get", "chat", "--path", "messages[-1]", "--db", path)).toContain('"kwargs"');
  expect(JSON.parse(cli("get", "chat", "--json", "--db", path)).state.messages[1].kwargs.tool_calls).toMatchObject(
    calls,
  );
});
