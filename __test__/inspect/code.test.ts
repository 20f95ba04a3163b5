// The programs that `code` prints for Agentium, TinyAgents and Helix, in each status of a run. Each is executed, and none
// passes a question without the answer. Those of AgentOS and LangGraph are in integration/.
import { type ForkpointWorkflowStore, WorkflowCheckpointStore } from "forkpoint/agentium";
import { SessionStore } from "forkpoint/helix";
import { type Inspector, openInspector } from "forkpoint/inspect";
import { Checkpointer } from "forkpoint/tinyagents";
import { afterAll, describe, expect, test } from "vitest";
import { type Module, Programs, modules } from "../programs.js";

const fixture = (name: string, names: string) =>
  new Programs(import.meta.url, `../fixtures/printed/${name}.mjs`, names, openInspector);
const agentium = fixture("agentium", "definition");
const tinyagents = fixture("tinyagents", "definition");
const helix = fixture("helix", "runAgent");
afterAll(() => {
  for (const programs of [agentium, tinyagents, helix]) programs.remove();
});

/** No character of an id may end a line of the program, or a text in it. */
const order = 'order "7"\n\u2028\u202e';

let made = 0;

async function look<T>(database: string, work: (inspector: Inspector) => Promise<T>): Promise<T> {
  await using inspector = await openInspector(database);
  return await work(inspector);
}

/** Fills in the answers, in the order of the questions. */
function answers(code: string, ...given: string[]): string {
  const parts = code.split(", undefined]");
  expect(parts).toHaveLength(given.length + 1);
  return parts.map((part, at) => (at < given.length ? `${part}, ${given[at]}]` : part)).join("");
}

describe.each(modules)("Agentium, %s", (module) => {
  const run = { space: "agentium", run: order };

  /** Begins a workflow in a process of its own. */
  function begin(env: Record<string, string> = {}): string {
    const database = agentium.database(`agent-${++made}`);
    const code =
      'import { ForkpointWorkflowStore, Workflow } from "forkpoint/agentium";\n' +
      `const checkpointStore = new ForkpointWorkflowStore(${JSON.stringify(database)});\n` +
      `await new Workflow({ ...definition, checkpointStore }).runWithCheckpoints({ runId: ${JSON.stringify(order)} });\n`;
    agentium.run(code, { env });
    return database;
  }

  test("a run that was cut off or has failed goes on", async () => {
    for (const env of [{ CRASH: "draft" }, { FAIL: "draft" }]) {
      const database = begin(env);
      const resumed = await agentium.print("unfinished", database, run, { module });
      expect(resumed).toMatchObject({ code: 0, called: ["draft", "refund"], errors: "" });
      const finished = await agentium.print("finished", database, run, { module });
      expect(finished).toMatchObject({ code: 0, called: [], errors: "" });
      expect(finished.output.match(/:(initial|step-\d) /g)).toHaveLength(4);
    }
  });

  test("a run whose status is not known runs no step again", async () => {
    const database = agentium.database(`agent-${++made}`);
    await using store = new WorkflowCheckpointStore<object>(database) as ForkpointWorkflowStore<object>;
    for (const [stepIndex, stepName] of ["initial", "load", "draft", "refund"].entries()) {
      const id = stepIndex === 0 ? `${order}:initial` : `${order}:step-${stepIndex}`;
      await store.save({ id, runId: order, stepIndex: stepIndex - 1, stepName, state: {}, createdAt: Date.now() });
    }
    await store.close();
    expect((await look(database, (inspector) => inspector.run(run as never, { withStatus: true })))!.status).toBe(
      "unknown",
    );
    const ended = await agentium.print("unknown", database, run, { module });
    expect(ended).toMatchObject({ code: 0, called: [], errors: "" });
  });

  test("a checkpoint goes on in a new run", async () => {
    const database = begin();
    const id = `${order}:step-1`;
    const ended = await agentium.print("checkpoint", database, { ...run, id }, { module });
    expect(ended).toMatchObject({ code: 0, called: ["draft", "refund"], errors: "" });
    expect((await look(database, (inspector) => inspector.runs())).items).toHaveLength(2);
  });
});

describe.each(modules)("TinyAgents, %s", (module) => {
  const run = { space: "tinyagents", run: order };

  /** Begins a thread in a process of its own. */
  function begin(env: Record<string, string> = {}): string {
    const database = tinyagents.database(`agent-${++made}`);
    const code =
      'import { Checkpointer, Graph } from "forkpoint/tinyagents";\n' +
      `const checkpointer = new Checkpointer(${JSON.stringify(database)});\n` +
      "const graph = new Graph({ ...definition, checkpointer });\n" +
      `await graph.invoke({ log: [] }, { threadId: ${JSON.stringify(order)} });\n`;
    tinyagents.run(code, { env });
    return database;
  }

  async function statusOf(database: string): Promise<string> {
    await using checkpointer = new Checkpointer(database);
    return (await checkpointer.threads()).threads[0]!.status;
  }

  test("a thread that waits goes on with the answer only, and only to the next question", async () => {
    const database = begin();
    const code = () => tinyagents.code(database, run, module);
    const execute = (what: string, text: string) => tinyagents.execute(what, text, { module });

    const unfilled = execute("waiting, unfilled", await code());
    expect(unfilled).toMatchObject({ code: 1, called: [], output: "" });
    expect(unfilled.errors).toContain("an answer is missing");

    const first = answers(await code(), "false");
    expect(execute("waiting", first)).toMatchObject({ code: 0, called: [], errors: "" });
    // The same task asks its second question now. The answer to the first one does not pass it.
    expect(execute("waiting, run again", first)).toMatchObject({ code: 0, called: [], errors: "" });

    const second = answers(await code(), '"no"');
    expect(execute("waiting, second question", second)).toMatchObject({ code: 0, called: ["decline"], errors: "" });
    expect(execute("waiting, run again", second)).toMatchObject({ code: 0, called: [], errors: "" });
    const third = execute("waiting, last question", answers(await code(), '"yes"'));
    expect(third).toMatchObject({ code: 0, called: ["close"], errors: "" });

    expect(await statusOf(database)).toBe("finished");
    const finished = execute("finished", await code());
    expect(finished).toMatchObject({ code: 0, called: [], errors: "" });
    expect(finished.output).toContain("checkpointId");
  });

  test("of two tasks that ask the same, only the one with an answer goes on", async () => {
    const env = { AGENT: "pair" };
    const database = begin(env);
    const execute = (what: string, code: string) => tinyagents.execute(what, code, { module, env });
    const code = answers(await tinyagents.code(database, run, module), "true", "true");
    const one = code.split("\n").toSpliced(
      code.split("\n").findIndex((line) => line.includes(", true]")),
      1,
    );
    expect(execute("waiting, one of two", one.join("\n"))).toMatchObject({ code: 0, called: ["right"] });
    const other = execute("waiting, the other of two", answers(await tinyagents.code(database, run, module), "true"));
    expect(other).toMatchObject({ code: 0, called: ["left"] });
    expect(await statusOf(database)).toBe("finished");
  });

  test("a question that JSON cannot hold is answered too", async () => {
    const env = { AGENT: "big" };
    const database = begin(env);
    const code = await tinyagents.code(database, run, module);
    expect(tinyagents.execute("no JSON, unfilled", code, { module, env })).toMatchObject({ code: 1, called: [] });
    const ended = tinyagents.execute("no JSON", answers(code, "true"), { module, env });
    expect(ended).toMatchObject({ code: 0, called: ["big"], errors: "" });
  });

  test("the question of a subgraph is answered from the root, also if the subgraph is named", async () => {
    const env = { AGENT: "outer" };
    const database = begin(env);
    const { items } = await look(database, (inspector) => inspector.runs({ allNs: true }));
    const ns = items.map((one) => one.ns!).find((name) => name !== "")!;
    const code = await tinyagents.code(database, { ...run, ns }, module);
    expect(tinyagents.execute("subgraph, unfilled", code, { module, env })).toMatchObject({ code: 1, called: [] });
    const ended = tinyagents.execute("subgraph", answers(code, "true"), { module, env });
    expect(ended).toMatchObject({ code: 0, called: ["inside", "after"], errors: "" });
  });

  test("a thread that was cut off or has failed goes on to the next question", async () => {
    for (const env of [{ CRASH: "draft" }, { FAIL: "draft" }]) {
      const database = begin(env);
      const what = "CRASH" in env ? "unfinished" : "failed";
      expect(await statusOf(database)).toBe(what);
      const resumed = await tinyagents.print(what, database, run, { module });
      expect(resumed).toMatchObject({ code: 0, called: ["draft"], errors: "" });
      expect(await statusOf(database)).toBe("waiting");
    }
  });

  test("a thread whose status is not known is not run", async () => {
    const database = tinyagents.database(`agent-${++made}`);
    await using checkpointer = new Checkpointer<object>(database);
    await checkpointer.put({ threadId: order, state: { log: [] }, nextNodes: ["of another graph"] });
    await checkpointer.close();
    const ended = await tinyagents.print("of another graph", database, run, { module });
    expect(ended).toMatchObject({ code: 1, called: [] });
    expect(ended.errors).toContain("CONFLICT");
  });

  test("a checkpoint goes on in the thread, and asks what was answered there", async () => {
    const database = begin();
    const first = answers(await tinyagents.code(database, run, module), "true");
    expect(tinyagents.execute("waiting", first, { module }).called).toEqual([]);
    const second = answers(await tinyagents.code(database, run, module), '"late"');
    expect(tinyagents.execute("waiting", second, { module }).called).toEqual(["refund because late"]);
    const { items } = await look(database, (inspector) => inspector.checkpoints(run as never));
    const [atLoad, atApprove] = [items[0]!, items[2]!].map(({ id }) => Object.assign({ id }, run));

    const unfilled = await tinyagents.print("checkpoint with a question, unfilled", database, atApprove!, { module });
    expect(unfilled).toMatchObject({ code: 1, called: [] });
    const code = answers(await tinyagents.code(database, atApprove!, module), '"again"');
    const again = tinyagents.execute("checkpoint with a question", code, { module });
    expect(again).toMatchObject({ code: 0, called: ["refund because again"], errors: "" });

    const before = await tinyagents.print("checkpoint", database, atLoad!, { module });
    expect(before).toMatchObject({ code: 0, called: ["load", "draft"], errors: "" });
    expect(await statusOf(database)).toBe("waiting");
  });
});

describe.each(modules)("Helix, %s", (module) => {
  const run = { space: "helix", run: order };

  async function work<T>(database: string, of: (store: SessionStore) => Promise<T>): Promise<T> {
    await using store = new SessionStore(database);
    return await of(store);
  }

  /** Makes a session with two checkpoints. `status` is that of the session, and of its latest checkpoint if it has no other. */
  async function begin(status: string, latest = status): Promise<string> {
    const database = helix.database(`agent-${++made}`);
    await work(database, async (store) => {
      await store.createSession(order, { agentType: "clerk", initialState: {} });
      for (const [at, named] of ["running", latest].entries()) {
        await store.appendMessages(order, [{ role: "user", content: `message ${at}` }]);
        await store.updateStatus(order, named);
        const state = (await store.loadState(order))!;
        await store.saveCheckpoint({ id: `cp-${at}`, sessionId: order, stepCount: at, timestamp: at, state });
      }
      await store.updateStatus(order, status);
    });
    return database;
  }

  const contents = (database: string, session = order) =>
    work(database, async (store) => (await store.getMessages(session)).messages.map(({ content }) => content));

  const fill: Array<[string, string]> = [["const answer = undefined", 'const answer = "yes"']];

  test.each(["paused", "interrupted"])(
    "a session that waits goes on with the answer only, once: %s",
    async (status) => {
      const database = await begin(status);
      const unfilled = await helix.print("waiting, unfilled", database, run, { module });
      expect(unfilled).toMatchObject({ code: 1, called: [] });
      expect(unfilled.errors).toContain("an answer is missing");
      expect(await contents(database)).toEqual(["message 0", "message 1"]);
      const code = await helix.code(database, run, module);
      expect(helix.execute("waiting", code, { module, fill })).toMatchObject({
        code: 0,
        called: ["agent"],
        errors: "",
      });
      expect(await contents(database)).toEqual(["message 0", "message 1", "yes"]);
      // The agent waits again. The answer to the first question does not pass the second one.
      await work(database, (store) => store.updateStatus(order, status));
      expect(helix.execute("waiting, run again", code, { module, fill })).toMatchObject({ code: 1, called: [] });
      expect(await contents(database)).toEqual(["message 0", "message 1", "yes"]);
    },
  );

  test.each(["running", "failed"])("a session that was cut off goes on: %s", async (status) => {
    const database = await begin(status, "running");
    await work(database, (store) => store.appendMessages(order, [{ role: "assistant", content: "half" }]));
    const resumed = await helix.print(status, database, run, { module });
    expect(resumed).toMatchObject({ code: 0, called: ["agent"], errors: "" });
    expect(await contents(database)).toEqual(["message 0", "message 1"]);
  });

  test("a session whose latest checkpoint waits is not run", async () => {
    const database = await begin("running", "paused");
    const resumed = await helix.print("running, at a question", database, run, { module });
    expect(resumed).toMatchObject({ code: 0, called: [], output: "paused\n" });
  });

  test.each(["completed", "running: worker-2"])(
    "a session that is finished or unknown is shown: %s",
    async (status) => {
      const database = await begin(status);
      const shown = await helix.print("shown", database, run, { module });
      expect(shown).toMatchObject({ code: 0, called: [], errors: "" });
      expect(shown.output).toContain(status);
    },
  );

  test("a checkpoint goes on in a new session, with the answer if it waits", async () => {
    const database = await begin("paused");
    const sessions = () => work(database, async (store) => (await store.sessions()).sessions.length);
    const before = await helix.print("checkpoint", database, { ...run, id: "cp-0" }, { module });
    expect(before).toMatchObject({ code: 0, called: ["agent of a new session"], errors: "" });
    const waits = { ...run, id: "cp-1" };
    expect(await helix.print("checkpoint, unfilled", database, waits, { module })).toMatchObject({
      code: 1,
      called: [],
    });
    expect(await sessions()).toBe(2);
    const answered = await helix.print("checkpoint that waits", database, waits, { module, fill });
    expect(answered).toMatchObject({ code: 0, called: ["agent of a new session"], errors: "" });
    expect(await sessions()).toBe(3);
    expect(await contents(database)).toEqual(["message 0", "message 1"]);
  });
});

test("every printed program was executed", () => {
  const counts = (programs: Programs, module: Module) => {
    const all = programs.executed.filter((what) => what.endsWith(` ${module}`));
    const count = (what: string) => all.filter((other) => other === what).length;
    return [...new Set(all)].map((what) => `${count(what)} ${what.slice(0, -module.length - 1)}`);
  };
  for (const module of modules) {
    expect(counts(agentium, module)).toEqual(["2 unfinished", "2 finished", "1 unknown", "1 checkpoint"]);
    expect(counts(tinyagents, module)).toEqual([
      "1 waiting, unfilled",
      "3 waiting",
      "2 waiting, run again",
      "1 waiting, second question",
      "1 waiting, last question",
      "1 finished",
      "1 waiting, one of two",
      "1 waiting, the other of two",
      "1 no JSON, unfilled",
      "1 no JSON",
      "1 subgraph, unfilled",
      "1 subgraph",
      "1 unfinished",
      "1 failed",
      "1 of another graph",
      "1 checkpoint with a question, unfilled",
      "1 checkpoint with a question",
      "1 checkpoint",
    ]);
    expect(counts(helix, module)).toEqual([
      "2 waiting, unfilled",
      "2 waiting",
      "2 waiting, run again",
      "1 running",
      "1 failed",
      "1 running, at a question",
      "2 shown",
      "1 checkpoint",
      "1 checkpoint, unfilled",
      "1 checkpoint that waits",
    ]);
  }
  const executed = [agentium, tinyagents, helix].map((programs) => programs.executed.length);
  expect(executed).toEqual([12, 42, 28]);
});
