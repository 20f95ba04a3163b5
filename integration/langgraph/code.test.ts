// The programs that `code` prints for LangGraph, in each status of a thread. Each is executed, and none passes a question
// or a breakpoint without the answer.
import { ForkpointSaver } from "forkpoint/langgraph";
import { type Inspector, openInspector } from "forkpoint/inspect";
import { afterAll, describe, expect, test } from "vitest";
import { Programs, modules } from "../../__test__/programs.js";

const programs = new Programs(import.meta.url, "fixtures/refunds.mjs", "builder", openInspector);
afterAll(() => programs.remove());

/** No character of an id may end a line of the program, or a text in it. */
const order = 'order "7"\n\u2028\u202e';

const thread = { space: "langgraph", run: order };

let made = 0;

/** Begins a thread in a process of its own. */
function begin(env: Record<string, string> = {}, fails = false): string {
  const database = programs.database(`agent-${++made}`);
  const code =
    'import { ForkpointSaver } from "forkpoint/langgraph";\n' +
    `const graph = builder.compile({ checkpointer: new ForkpointSaver(${JSON.stringify(database)}) });\n` +
    `const config = { configurable: { thread_id: ${JSON.stringify(order)} }, durability: "sync" };\n` +
    "await graph.invoke({ order: 7 }, config);\n";
  const { errors } = programs.run(code, { env });
  expect(errors === "").toBe(!fails);
  return database;
}

async function statusOf(database: string): Promise<string> {
  await using saver = new ForkpointSaver(database);
  return (await saver.status(order))!.status;
}

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

describe.each(modules)("%s", (module) => {
  test("a thread that waits goes on with the answer only, and only to the next question", async () => {
    const database = begin();
    const code = () => programs.code(database, thread, module);
    const execute = (what: string, text: string) => programs.execute(what, text, { module });

    const unfilled = execute("waiting, unfilled", await code());
    expect(unfilled).toMatchObject({ code: 1, called: [], output: "" });
    expect(unfilled.errors).toContain("an answer is missing");

    const first = answers(await code(), "false");
    expect(execute("waiting", first)).toMatchObject({ code: 0, called: [], errors: "" });
    // The same node asks its second question now. The answer to the first one does not pass it.
    expect(execute("waiting, run again", first)).toMatchObject({ code: 0, called: [], errors: "" });
    expect(await statusOf(database)).toBe("waiting");

    const second = answers(await code(), '"no"');
    expect(execute("waiting, second question", second)).toMatchObject({ code: 0, called: ["decline"], errors: "" });
    expect(execute("waiting, run again", second)).toMatchObject({ code: 0, called: [], errors: "" });
    const third = execute("waiting, last question", answers(await code(), '"yes"'));
    expect(third).toMatchObject({ code: 0, called: ["close"], errors: "" });

    expect(await statusOf(database)).toBe("finished");
    const finished = execute("finished", await code());
    expect(finished).toMatchObject({ code: 0, called: [], errors: "" });
    expect(finished.output).toContain("checkpoint_id");
  });

  test("of two nodes that ask the same, only the one with an answer goes on", async () => {
    const env = { AGENT: "pair" };
    const database = begin(env);
    const execute = (what: string, code: string) => programs.execute(what, code, { module, env });
    const code = answers(await programs.code(database, thread, module), "true", "true");
    const one = code.split("\n").toSpliced(
      code.split("\n").findIndex((line) => line.includes(", true]")),
      1,
    );
    const { code: ended, called } = execute("waiting, one of two", one.join("\n"));
    expect(ended).toBe(0);
    expect(called).toHaveLength(1);
    expect(await statusOf(database)).toBe("waiting");
    const other = execute("waiting, the other of two", answers(await programs.code(database, thread, module), "true"));
    expect(new Set([...called, ...other.called])).toEqual(new Set(["left", "right"]));
    expect(await statusOf(database)).toBe("finished");
  });

  test("the question of a subgraph is answered from the root, also if the subgraph is named", async () => {
    const env = { AGENT: "outer" };
    const database = begin(env);
    const { items } = await look(database, (inspector) => inspector.runs({ allNs: true }));
    const ns = items.map((run) => run.ns!).find((name) => name !== "")!;
    const code = await programs.code(database, { ...thread, ns }, module);
    expect(programs.execute("subgraph, unfilled", code, { module, env })).toMatchObject({ code: 1, called: [] });
    const filled = programs.execute("subgraph", answers(code, "true"), { module, env });
    expect(filled).toMatchObject({ code: 0, called: ["inside", "after"], errors: "" });
  });

  test("a failed node runs again only if the reader says so", async () => {
    const database = begin({ FAIL: "draft" }, true);
    const left = await programs.print("failed, unfilled", database, thread, { module });
    expect(left).toMatchObject({ code: 0, called: [], errors: "" });
    expect(left.output).toContain("failed");
    const fill: Array<[string, string]> = [['["draft", false]', '["draft", true]']];
    const again = await programs.print("failed", database, thread, { module, fill });
    expect(again).toMatchObject({ code: 0, called: ["draft"], errors: "" });
    expect(await statusOf(database)).toBe("waiting");
  });

  test("a thread that was cut off goes on to the next question", async () => {
    const database = begin({ CRASH: "draft" });
    expect(await statusOf(database)).toBe("unfinished");
    const resumed = await programs.print("unfinished", database, thread, { module });
    expect(resumed).toMatchObject({ code: 0, called: ["draft"], errors: "" });
    expect(await statusOf(database)).toBe("waiting");
  });

  test("a breakpoint is not passed", async () => {
    const env = { AGENT: "stops" };
    const database = begin(env);
    expect(await statusOf(database)).toBe("unfinished");
    const resumed = await programs.print("breakpoint", database, thread, { module, env });
    expect(resumed).toMatchObject({ code: 0, called: [], errors: "" });
    expect(resumed.output).toContain("waiting");
  });

  test("a thread whose status is not known is reported, and not run", async () => {
    const database = programs.database(`agent-${++made}`);
    await using saver = new ForkpointSaver(database);
    const config = { configurable: { thread_id: order, checkpoint_ns: "" } };
    const old = { v: 1, id: "1ef4f797-8335-6428-8001-8a1503f9b875", ts: "2024-07-31T20:14:19Z" };
    const checkpoint = { ...old, channel_values: {}, channel_versions: {}, versions_seen: {} };
    await saver.put(config, checkpoint as never, { source: "loop", step: 1, parents: {} } as never, {});
    const ended = await programs.print("unknown", database, thread, { module });
    expect(ended).toMatchObject({ code: 0, called: [] });
    expect(ended.output).toContain("error");
  });

  test("a checkpoint goes on in a branch, to the next question", async () => {
    const database = begin();
    const answered = answers(await programs.code(database, thread, module), "true");
    expect(programs.execute("waiting", answered, { module }).called).toEqual([]);
    const ids = await look(database, async (inspector) => (await inspector.checkpoints(thread as never)).items);
    const called: string[][] = [];
    for (const { id } of [ids.at(-1)!, ids[1]!, ids.at(-2)!]) {
      const ended = await programs.print("checkpoint", database, { ...thread, id }, { module });
      called.push([String(ended.code), ...ended.called]);
    }
    // The newest checkpoint is where the thread stood: it asks for the answer.
    expect(called).toEqual([["1"], ["0", "load", "draft"], ["0", "draft"]]);
    expect(await statusOf(database)).toBe("waiting");
  });
});

test("every printed program was executed", () => {
  const each = [
    "waiting, unfilled",
    "waiting",
    "waiting, run again",
    "waiting, second question",
    "waiting, run again",
    "waiting, last question",
    "finished",
    "waiting, one of two",
    "waiting, the other of two",
    "subgraph, unfilled",
    "subgraph",
    "failed, unfilled",
    "failed",
    "unfinished",
    "breakpoint",
    "unknown",
    "waiting",
    "checkpoint",
    "checkpoint",
    "checkpoint",
  ];
  expect(programs.executed).toEqual(modules.flatMap((module) => each.map((what) => `${what} ${module}`)));
  expect(programs.executed).toHaveLength(40);
});
