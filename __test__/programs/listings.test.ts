// Listings show the version of the program that made a run, and filter by it.
import { openStore } from "forkpoint";
import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { openInspector } from "forkpoint/inspect";
import { Checkpointer, Graph, START } from "forkpoint/tinyagents";
import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { answer, cli } from "../cli/run.js";
import { closing, everyKind, place } from "../helpers.js";
import { opened } from "../contents.js";

// The modules of one build, because a store of another build is not an instance of this build's class.
const load = createRequire(new URL("../../dist/index.js", import.meta.url));
const { engineOf } = load("./inner/store/store.js") as typeof import("../../ts/store/store.js");
const { versionsOf } = load("./inner/store/stored-programs.js") as typeof import("../../ts/store/stored-programs.js");

type Target = string | Awaited<ReturnType<typeof openStore>>;

/** Makes a run and a thread of each version, and one of each without a version. */
async function fill(target: Target) {
  const workflows = closing(new WorkflowCheckpointStore<object>(target));
  const checkpointer = closing(new Checkpointer<object>(target));
  for (const version of ["1", "2", undefined]) {
    const more = version === undefined ? {} : { version };
    const steps = [{ name: "a", run: () => {} }];
    const workflow = { name: "w", initialState: {}, steps, checkpointStore: workflows, register: false };
    await new Workflow({ ...workflow, ...more }).runWithCheckpoints({ runId: `run ${version}` });
    const graph = { nodes: { a: () => ({}) }, edges: [[START, "a"] as const], reducer: () => ({}), checkpointer };
    await new Graph<object>({ ...graph, ...more }).invoke({}, { threadId: `thread ${version}` });
  }
  await workflows.save({ id: "by hand", runId: "by hand", stepIndex: 0, stepName: "a", state: {}, createdAt: 1 });
  await checkpointer.put({ threadId: "by hand", state: {}, metadata: { shape: 7 } });
  return { workflows, checkpointer };
}

const shape = expect.stringMatching(/^[\w-]{12}$/);
const version = (name: string | null) => ({ version: name, shape });

describe.each(everyKind)("%s", (kind) => {
  it("shows versions, and filters by them", async () => {
    const store = await opened(place(kind));
    const { workflows, checkpointer } = await fill(store);
    const versions = [null, version(null), version("2"), version("1")];
    expect((await workflows.runs()).runs.map((run) => run.version)).toEqual(versions);
    const { threads } = await checkpointer.threads();
    expect(threads.map((thread) => thread.version)).toEqual(versions);

    const inspector = await openInspector(store);
    const { items } = await inspector.runs({ sort: "began" });
    expect(items.map((run) => [run.run, run.version])).toEqual(
      expect.arrayContaining([
        ["run 1", version("1")],
        ["thread 1", version("1")],
        ["run undefined", version(null)],
        ["thread undefined", version(null)],
        ["by hand", null],
      ]),
    );
    const one = await inspector.run({ space: "tinyagents", run: "thread 2" });
    expect(one!.version).toEqual(version("2"));
    const listed = async (name: string) => {
      const found = await inspector.runs({ version: name, limit: 1 });
      const rest = found.cursor === null ? [] : (await inspector.runs({ version: name, cursor: found.cursor })).items;
      return [...found.items, ...rest].map(({ run }) => run).toSorted();
    };
    expect(await listed("2")).toEqual(["run 2", "thread 2"]);
    expect(await listed("3")).toEqual([]);
    const hash = items.find(({ run }) => run === "run undefined")!.version!.shape;
    expect(await listed(hash)).toEqual(["run undefined"]);
    expect(await listed(hash.slice(0, 7))).toEqual(["run undefined"]);
    expect(await listed(hash.slice(0, 3))).toEqual([]);
    // A fork has the version of its checkpoint.
    const writing = await openInspector(store, { write: true });
    const { id } = (await inspector.run({ space: "agentium", run: "run 2" }))!.latest;
    const forked = await writing.fork({ space: "agentium", run: "run 2", id }, undefined, { dryRun: false });
    expect((await inspector.run(forked))!.version).toEqual(version("2"));
  });
});

it("reads a description once, and none for runs without a version", async () => {
  const store = await opened("memory:");
  const { workflows } = await fill(store);
  const { native } = engineOf(store as never);
  let calls = 0;
  const counting = { call: (...given: any[]) => (calls++, Reflect.apply(native.call, native, given)) };
  const read = async (...hashes: Array<string | null | undefined>) => {
    const before = calls;
    return [await versionsOf(counting as never, "agentium", hashes), calls - before];
  };
  const two = (await workflows.runs()).runs.find((run) => run.version?.version === "2");
  const hash = two!.version!.shape;
  expect(await read(null, undefined)).toEqual([[null, null], 0]);
  expect(await read()).toEqual([[], 0]);
  expect(await read(hash, null, hash)).toEqual([[two!.version, null, two!.version], 1]);
  expect(await read(hash)).toEqual([[two!.version], 0]);
  // A copy that is not complete may not have the description yet.
  expect(await read("unknown")).toEqual([[{ version: null, shape: "unknown" }], 1]);
});

describe("the command line", () => {
  it("has a column if a version has a name, and the option --version", async () => {
    const db = place("sqlite");
    const { workflows, checkpointer } = await fill(db);
    const all = await answer(["ls", "--db", db]);
    expect(all).toMatch(/^STATUS +RUN +FRAMEWORK +VERSION +STEPS +LAST STEP +ACTIVE +SIZE\n/);
    expect(all).toMatch(/thread 2 .*\b2\b/);
    const two = JSON.parse(await answer(["ls", "--db", db, "--version", "2", "--json"])) as {
      runs: Array<{ run: string }>;
    };
    expect(two.runs.map(({ run }) => run).toSorted()).toEqual(["run 2", "thread 2"]);
    expect(await answer(["show", "run 2", "--db", db])).toContain("version 2");
    expect(await answer(["show", "run undefined", "--db", db])).not.toContain("version");
    expect((await cli(["ls", "--db", db, "--version"])).code).toBe(2);
    for (const run of ["run 1", "run 2"]) await workflows.clear(run);
    for (const thread of ["thread 1", "thread 2"]) await checkpointer.deleteThread(thread);
    expect(await answer(["ls", "--db", db])).not.toContain("VERSION");
  });
});
