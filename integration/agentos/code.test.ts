// The programs that `code` prints for AgentOS, in each status of a run. Each is executed, and none passes a human node
// without the answer.
import { CheckpointStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { afterAll, describe, expect, test } from "vitest";
import { Programs, modules } from "../../__test__/programs.js";
import { checkpoint } from "../../__test__/helpers.js";

const programs = new Programs(import.meta.url, "fixtures/refunds.mjs", "builder", openInspector);
afterAll(() => programs.remove());

const approve: [string, string] = ['["approve", undefined]', '["approve", { approved: true }]'];
const confirm: [string, string] = ['["confirm", undefined]', '["confirm", { approved: true }]'];

let made = 0;

/** Begins a run in a process of its own. */
async function begin(env: Record<string, string> = {}): Promise<{ database: string; run: string }> {
  const database = programs.database(`agent-${++made}`);
  const code =
    'import { CheckpointStore } from "forkpoint/agentos";\n' +
    `const checkpointStore = new CheckpointStore(${JSON.stringify(database)});\n` +
    "await builder.compile({ checkpointStore }).invoke({ order: 7 });\n";
  expect(programs.run(code, { env }).errors).toBe("");
  const { runs } = await look(database, (store) => store.runs());
  expect(runs).toHaveLength(1);
  return { database, run: runs[0]!.runId };
}

async function look<T>(database: string, work: (store: CheckpointStore) => Promise<T>): Promise<T> {
  await using store = new CheckpointStore(database);
  return await work(store);
}

/** The status of each run, the last begun first. */
async function statuses(database: string): Promise<string[]> {
  return (await look(database, (store) => store.runs())).runs.map(({ status }) => status);
}

describe.each(modules)("%s", (module) => {
  test("a run that waits goes on with the answer only, and only to the next human node", async () => {
    const { database, run } = await begin();
    const printed = { space: "agentos", run };
    const print = (what: string, fill: Array<[string, string]> = []) =>
      programs.print(what, database, printed, { module, fill });

    const unfilled = await print("waiting, unfilled");
    expect(unfilled).toMatchObject({ code: 1, called: [], output: "" });
    expect(unfilled.errors).toContain("an answer is missing");
    expect(await statuses(database)).toEqual(["waiting"]);

    const first = await print("waiting", [approve]);
    expect(first).toMatchObject({ code: 0, called: ["refund"], errors: "" });
    expect(first.output).toContain("waiting");
    expect(await print("waiting, at the next question", [confirm])).toMatchObject({ code: 0, called: ["close"] });
    expect(await statuses(database)).toEqual(["finished"]);
    const finished = await print("finished");
    expect(finished).toMatchObject({ code: 0, called: [], errors: "" });
    const history = await look(database, (store) => store.listByRun(run));
    expect(finished.output).toBe(history.map(({ id, nodeId }) => `${id} ${nodeId}\n`).join(""));
  });

  test("a program that is run again does not answer the next question", async () => {
    const { database, run } = await begin();
    const code = await programs.code(database, { space: "agentos", run }, module);
    const execute = () => programs.execute("waiting, run again", code, { module, fill: [approve] });
    expect(execute()).toMatchObject({ code: 0, called: ["refund"] });
    expect(execute()).toMatchObject({ code: 0, called: [] });
    expect(await statuses(database)).toEqual(["waiting"]);
  });

  test("a failed node runs again only if the reader says so", async () => {
    const { database, run } = await begin({ FAIL: "draft" });
    const printed = { space: "agentos", run };
    const left = await programs.print("failed, unfilled", database, printed, { module });
    expect(left).toMatchObject({ code: 0, called: [], errors: "" });
    expect(left.output).toContain("failed");
    const fill: Array<[string, string]> = [['["draft", false]', '["draft", true]']];
    const again = await programs.print("failed", database, printed, { module, fill });
    expect(again).toMatchObject({ code: 0, called: ["draft"], errors: "" });
    expect(await statuses(database)).toEqual(["waiting"]);
  });

  test("the reader's word about one failed node counts for no other", async () => {
    const { database, run } = await begin({ FAIL: "load" });
    const fill: Array<[string, string]> = [['["load", false]', '["load", true]']];
    const env = { FAIL: "draft" };
    const again = await programs.print("failed twice", database, { space: "agentos", run }, { module, fill, env });
    expect(again).toMatchObject({ code: 0, called: ["load", "draft"], errors: "" });
    expect(await statuses(database)).toEqual(["failed"]);
  });

  test("a run that was cut off goes on to the next human node", async () => {
    const { database, run } = await begin({ CRASH: "draft" });
    expect(await statuses(database)).toEqual(["unfinished"]);
    const resumed = await programs.print("unfinished", database, { space: "agentos", run }, { module });
    expect(resumed).toMatchObject({ code: 0, called: ["draft"], errors: "" });
    expect(await statuses(database)).toEqual(["waiting"]);
  });

  test("a run whose status is not known is reported, and not run", async () => {
    const database = programs.database(`agent-${++made}`);
    const foreign = { ...checkpoint({ runId: "foreign" }), nodeResults: "none" } as never;
    await look(database, (store) => store.save(foreign));
    const ended = await programs.print("unknown", database, { space: "agentos", run: "foreign" }, { module });
    expect(ended).toMatchObject({ code: 0, called: [] });
    expect(ended.output).toContain("error");
  });

  test("a checkpoint goes on in a new run, to the next human node", async () => {
    const { database, run } = await begin();
    const history = await look(database, (store) => store.listByRun(run)); // newest first
    const printed = { space: "agentos", run };
    const at = async (node: string) => ({ ...printed, id: history.findLast(({ nodeId }) => nodeId === node)!.id });

    const before = await programs.print("checkpoint", database, await at("load"), { module });
    expect(before).toMatchObject({ code: 0, called: ["draft"], errors: "" });
    expect(await statuses(database)).toEqual(["waiting", "waiting"]);

    const waiting = { ...printed, id: history[0]!.id };
    const unfilled = await programs.print("checkpoint that waits, unfilled", database, waiting, { module });
    expect(unfilled).toMatchObject({ code: 1, called: [] });
    expect(await statuses(database)).toHaveLength(2);
    const answered = await programs.print("checkpoint that waits", database, waiting, { module, fill: [approve] });
    expect(answered).toMatchObject({ code: 0, called: ["refund"], errors: "" });
    expect(await statuses(database)).toEqual(["waiting", "waiting", "waiting"]);
  });
});

test("every printed program was executed", () => {
  const each = [
    "waiting, unfilled",
    "waiting",
    "waiting, at the next question",
    "finished",
    "waiting, run again",
    "waiting, run again",
    "failed, unfilled",
    "failed",
    "failed twice",
    "unfinished",
    "unknown",
    "checkpoint",
    "checkpoint that waits, unfilled",
    "checkpoint that waits",
  ];
  expect(programs.executed).toEqual(modules.flatMap((module) => each.map((what) => `${what} ${module}`)));
  expect(programs.executed).toHaveLength(28);
});
