// The command line on LangGraph's threads: what a thread waits for, its branches, and forks that a graph goes on from.
import { join } from "node:path";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { Command, MessagesAnnotation, interrupt } from "@langchain/langgraph";
import { type ForkpointSaver, recover } from "forkpoint/langgraph";
import { expect, it } from "vitest";
import { cli, run } from "./command.js";
import { Log, folder, open, says, sequence, thread } from "./helpers.js";

/** A graph that asks a question in the middle. */
function graph(checkpointer: ForkpointSaver) {
  return sequence(Log, {
    plan: says("plan"),
    asks: () => ({ log: [interrupt<string, string>("go on?")] }),
    acts: says("acted"),
  }).compile({ checkpointer });
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
    const inner = sequence(Log, {
      draft: says("draft"),
      asks: () => ({ log: [interrupt<string, string>("go on?")] }),
    }).compile();
    return sequence(Log, { inner }).compile({ checkpointer });
  };
  const made = open(path);
  await build(made).invoke({ log: ["hi"] }, thread("thread-1"));
  await made.close();
  const { runs } = JSON.parse(cli("ls", "--all-ns", "--json", "--db", path)) as { runs: Array<{ ns: string }> };
  const ns = runs.find((one) => one.ns !== "")!.ns;
  const fork = (...more: string[]) =>
    run(["fork", "thread-1", "--ns", ns, "--set", 'log=["forked"]', ...more, "--db", path]).stderr;
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

it("shows the next nodes, the question of a thread that waits, and the error of one that failed", async () => {
  const path = join(folder(), "graph.db");
  const made = open(path);
  await graph(made).invoke({ log: ["hi"] }, thread("waits"));
  const failing = sequence(Log, {
    plan: says("plan"),
    acts: () => Promise.reject(new Error("the API answered 503")),
  }).compile({ checkpointer: made });
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
  // In a narrow terminal, the names of nodes, the times and the sizes stay, and ids are shortened.
  const [title, ...narrow] = run(["show", "waits", "--db", path], 80).stdout.trimEnd().split("\n").slice(-4);
  expect(title).toMatch(/^STEP +LABEL +NEXT +CHECKPOINT +SAVED +SIZE/);
  const cells = narrow.map((line) => /^ *\d+ +(\w+) +(\w+) +\S+… +\S+ [\d:]+ +\d+ B/.exec(line)?.slice(1));
  expect(cells).toEqual(rows);
  for (const line of narrow) expect(line.length).toBeLessThanOrEqual(80);
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
    const { stderr } = run(["fork", "thread-1", "--step", "2", "--set", 'lag=["x"]', ...as, "--db", path]);
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
  expect(run(["fork", "thread-1", "--step", "4", "--dry-run", "--db", path]).stderr).toContain("nothing will run");
});

it("messages are lines for a human, and JSON for a program", async () => {
  const path = join(folder(), "graph.db");
  const made = open(path);
  const calls = [{ id: "1", name: "find", args: { city: "Lisbon" } }];
  const chat = sequence(MessagesAnnotation, {
    agent: () => ({
      messages: [
        new AIMessage({ content: "", tool_calls: calls }),
        new ToolMessage({ content: "Grand Hotel", tool_call_id: "1" }),
        new AIMessage({ content: [{ type: "text", text: `Hello Ada. ${"very ".repeat(50)}` }] }),
      ],
    }),
  }).compile({ checkpointer: made });
  await chat.invoke({ messages: [new HumanMessage("Find me a \u001b[1mhotel")] }, thread("chat"));
  await made.close();
  const { stdout, stderr } = run(["get", "chat", "--part", "state", "--db", path]);
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
