// Counts the open runs of each version of the programs: `versions` of an inspector, and `forkpoint stats`.
import { openStore } from "forkpoint";
import { CheckpointStore } from "forkpoint/agentos";
import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { openInspector } from "forkpoint/inspect";
import { Checkpointer, Graph, START } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { answer } from "../cli/run.js";
import { checkpoint, closing, everyKind, place } from "../helpers.js";
import { opened } from "../contents.js";

type Target = string | Awaited<ReturnType<typeof openStore>>;

const fails = () => {
  throw new Error("no");
};

/** Makes runs of two programs: `fails` and `ends` are how many of each version fail and finish. */
async function fill(target: Target, program: string, version: string | undefined, ends: number, failing: number) {
  const workflows = closing(new WorkflowCheckpointStore<object>(target));
  const checkpointer = closing(new Checkpointer<object>(target));
  const more = version === undefined ? {} : { version };
  for (let n = 0; n < ends + failing; n++) {
    const run = n < ends ? () => ({}) : fails;
    const steps = [
      { name: "a", run: () => ({}) },
      { name: "b", run },
    ];
    const workflow = { name: program, initialState: {}, steps, checkpointStore: workflows, register: false };
    await new Workflow({ ...workflow, ...more })
      .runWithCheckpoints({ runId: `${program} ${version} ${n}` })
      .catch(() => {});
    const nodes = { a: () => ({}), b: run };
    const edges = [[START, "a"] as const, ["a", "b"] as const];
    const graph = new Graph<object>({ name: program, nodes, edges, reducer: () => ({}), checkpointer, ...more });
    await graph.invoke({}, { threadId: `${program} ${version} ${n}` }).catch(() => {});
  }
  return { workflows, checkpointer };
}

const shape = expect.stringMatching(/^[\w-]{12}$/);

describe.each(everyKind)("%s", (kind) => {
  it("counts the open runs of each version", async () => {
    const store = await opened(place(kind));
    const inspector = await openInspector(store);
    expect(await inspector.versions()).toEqual([]);
    await fill(store, "order", "1", 1, 3);
    await fill(store, "order", "2", 4, 2);
    const { workflows, checkpointer } = await fill(store, "trip", undefined, 0, 1);
    await workflows.save({ id: "by hand", runId: "by hand", stepIndex: 0, stepName: "a", state: {}, createdAt: 1 });
    const open = { state: {}, nextNodes: ["a"] };
    for (const n of [1, 2, 3, 4]) {
      await checkpointer.put({ threadId: `by hand ${n}`, ...open, metadata: { shape: 7 } });
    }

    const of = (space: string, status: "failed" | "unfinished") => {
      const count = (program: string | null, version: string | null | undefined, runs: number, as: string = status) => {
        const statuses = { waiting: 0, failed: 0, unfinished: 0, stopped: 0, unknown: 0, [as]: runs };
        const known = version === undefined ? null : { version, shape };
        return { space, program, version: known, runs, statuses, isEstimate: false };
      };
      return count;
    };
    const [workflow, graph] = [of("agentium", "unfinished"), of("tinyagents", "failed")];
    expect(await inspector.versions({ space: "agentium" })).toEqual([
      workflow("order", "1", 3),
      workflow("order", "2", 2),
      workflow("trip", null, 1),
      workflow(null, undefined, 1, "unknown"),
    ]);
    expect(await inspector.versions({ space: "tinyagents" })).toEqual([
      graph(null, undefined, 4, "unfinished"),
      graph("order", "1", 3),
      graph("order", "2", 2),
      graph("trip", null, 1),
    ]);
    expect((await inspector.versions()).map(({ runs }) => runs)).toEqual([4, 3, 3, 2, 2, 1, 1, 1]);
    expect(await inspector.versions({ space: "helix" })).toEqual([]);
    await expect(inspector.versions({ space: "other" as "helix" })).rejects.toThrow(TypeError);
    // A run that goes on belongs to the version that continued it, and one that ends to none.
    for (const n of [1, 2, 3]) await workflows.clear(`order 1 ${n}`);
    expect((await inspector.versions({ space: "agentium" })).map(({ version }) => version?.version)).toEqual([
      "2",
      null,
      undefined,
    ]);
  });
});

it("lets some runs stand for all, if many are open", async () => {
  const store = await opened(place("sqlite"));
  const agents = new CheckpointStore(store);
  // Every third run is finished.
  const save = (n: number) => agents.save(checkpoint({ runId: `run ${n}`, pendingEdges: n % 3 === 0 ? [] : ["b"] }));
  await Promise.all(Array.from({ length: 3_300 }, (_, n) => save(n)));
  const inspector = await openInspector(store);
  const [found, ...others] = await inspector.versions();
  expect(others).toEqual([]);
  expect(found).toEqual({
    space: "agentos",
    program: null,
    version: null,
    runs: 2_200,
    statuses: { waiting: 0, failed: 0, unfinished: 2_200, stopped: 0, unknown: 0 },
    isEstimate: true,
  });
});

it("does not count namespaces, nor runs whose metadata cannot be read", async () => {
  const path = place("sqlite");
  const own = {
    name: "own",
    serialize: (value: unknown) => Buffer.from(JSON.stringify(value)),
    deserialize: (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString()) as unknown,
  };
  const checkpointer = new Checkpointer<object>(path, { serializer: own });
  const open = { threadId: "thread", state: {}, nextNodes: ["a"], metadata: { shape: "abcdefghijkl" } };
  await checkpointer.put(open);
  await checkpointer.put({ ...open, namespace: ["inner"] });
  await checkpointer.close();
  for (const serializers of [[own], []]) {
    await using inspector = await openInspector(path, { serializers });
    const version = serializers.length > 0 ? { version: null, shape: open.metadata.shape } : null;
    expect(await inspector.versions()).toMatchObject([{ space: "tinyagents", version, runs: 1 }]);
  }
});

describe("the command line", () => {
  it("shows the versions if there are some", async () => {
    const db = place("sqlite");
    await fill(db, "order", "1", 1, 3);
    await fill(db, "trip", undefined, 0, 1);
    const text = await answer(["stats", "--db", db]);
    expect(text).toMatch(/^PROGRAM +VERSION +FRAMEWORK +OPEN RUNS +WAITING +FAILED +UNFINISHED$/m);
    expect(text).toMatch(/^order +1 +agentium +3 +0 +0 +3$/m);
    expect(text).toMatch(/^order +1 +tinyagents +3 +0 +3 +0$/m);
    expect(text).toMatch(/^trip +[\w-]{7} +agentium +1 +0 +0 +1$/m);
    const { versions } = JSON.parse(await answer(["stats", "--db", db, "--json"])) as { versions: unknown[] };
    expect(versions).toHaveLength(4);
  });
});
