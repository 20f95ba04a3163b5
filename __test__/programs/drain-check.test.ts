// Says before a deploy which open runs do not fit the new version: `drainCheck` of an inspector, and `forkpoint drain-check`.
import { openStore } from "forkpoint";
import { type StepDef, Workflow, WorkflowCheckpointStore, describe as describeWorkflow } from "forkpoint/agentium";
import { type DrainReport, openInspector } from "forkpoint/inspect";
import { Checkpointer, Graph, START, describe as describeGraph } from "forkpoint/tinyagents";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { answer, cli } from "../cli/run.js";
import { type Kind, closing, durable, everyKind, folder, place } from "../helpers.js";
import { opened } from "../contents.js";

interface State {
  trace: string[];
}

let failing: string | undefined;

const run = (name: string) => (state: State) => {
  if (name === failing) throw new Error(`${name} failed`);
  return { trace: [...state.trace, name] };
};

function workflow(target: string | Awaited<ReturnType<typeof openStore>>, names: string[], more = {}) {
  const store = closing(new WorkflowCheckpointStore<State>(target));
  const steps: Array<StepDef<State>> = names.map((name) => ({ name, run: run(name) }));
  const initialState = { trace: [] };
  return new Workflow<State>({ name: "order", steps, initialState, checkpointStore: store, register: false, ...more });
}

function graph(target: string | Awaited<ReturnType<typeof openStore>>, names: string[], more = {}) {
  const checkpointer = closing(new Checkpointer<State>(target));
  const nodes = Object.fromEntries(names.map((name) => [name, run(name)]));
  const edges = [START, ...names.slice(0, -1)].map((from, at) => [from, names[at]!] as const);
  const reducer = (_: State, update: Partial<State>) => update as State;
  return new Graph<State>({ nodes, edges, reducer, checkpointer, name: "order", ...more });
}

/** Fills a store with runs of the first version: one that stopped in each step, and one that is finished. */
async function fill(target: string | Awaited<ReturnType<typeof openStore>>) {
  const [one, other] = [
    workflow(target, ["a", "b", "c"], { version: "1" }),
    workflow(target, ["x"], { name: "other" }),
  ];
  const [threads, others] = [graph(target, ["a", "b", "c"], { version: "1" }), graph(target, ["x"], { name: "other" })];
  for (const at of ["a", "b", "c", undefined]) {
    failing = at;
    const runs = [
      one.runWithCheckpoints({ runId: `at ${at}` }),
      threads.invoke({ trace: [] }, { threadId: `at ${at}` }),
    ];
    const ends = await Promise.allSettled(runs);
    expect(ends.map(({ status }) => status)).toEqual(ends.map(() => (at === undefined ? "fulfilled" : "rejected")));
  }
  failing = "x";
  const runs = [other.runWithCheckpoints({ runId: "other" }), others.invoke({ trace: [] }, { threadId: "other" })];
  await Promise.allSettled(runs);
  failing = undefined;
}

const brief = ({ runs, ...report }: DrainReport) => ({
  ...report,
  runs: runs.map(({ run, status, from, differences }) => [run, status, from?.version, differences[0]]).toSorted(),
});

describe.each(everyKind)("%s", (kind: Kind) => {
  async function open() {
    const store = await opened(place(kind));
    return { store, inspector: await openInspector(store) };
  }

  it("lists the open runs that do not fit, and what differs", async () => {
    const { store, inspector } = await open();
    await fill(store);
    const names = ["a", "b2", "c"];
    const programs = [
      describeWorkflow(workflow(store, names, { version: "2" })),
      describeGraph(graph(store, names, { version: "2" })),
    ];
    const before = await store.stats();
    for (const [at, program] of programs.entries()) {
      const report = await inspector.drainCheck(JSON.parse(JSON.stringify(program)));
      const open = at === 0 ? "unfinished" : "failed";
      expect(brief(report)).toEqual({
        program: "order",
        to: { version: "2", shape: expect.stringMatching(/^[\w-]{12}$/) },
        ok: false,
        fits: 1,
        other: 1,
        unknown: 0,
        runs: [
          ["at b", open, "1", "`b`, which is next, is gone; `b2` is new"],
          ["at c", open, "1", "`b`, which has run, is gone; `b2` is new"],
        ],
      });
      expect(report.runs[0]).toMatchObject({ space: program.space, checkpointId: expect.any(String) });
      const same = describeWorkflow(workflow(store, ["a", "b", "c"], { version: "1" }));
      if (at === 0) expect(await inspector.drainCheck(same)).toMatchObject({ ok: true, fits: 3, runs: [] });
    }
    // The index of statuses may be new, so the file may have grown.
    expect({ ...(await store.stats()), fileBytes: 0 }).toEqual({ ...before, fileBytes: 0 });
  });

  it("what it says is what a resume does", async () => {
    const { store, inspector } = await open();
    await fill(store);
    const names = ["a", "z", "b", "c"];
    const [flow, threads] = [workflow(store, names), graph(store, names)];
    for (const [program, resume] of [
      [describeWorkflow(flow), (runId: string) => flow.runWithCheckpoints({ runId, resume: true })],
      [describeGraph(threads), (threadId: string) => threads.resume(threadId)],
    ] as const) {
      const { runs, fits } = await inspector.drainCheck(program);
      const refused = new Map(runs.map(({ run, differences }) => [run, differences.join("; ")]));
      const open = ["at a", "at b", "at c"];
      expect(fits + refused.size).toBe(open.length);
      for (const id of open) {
        const error = await resume(id).then(
          () => undefined,
          (thrown: Error) => thrown,
        );
        if (refused.has(id)) expect(error!.message).toContain(refused.get(id));
        else expect(error).toBeUndefined();
      }
      expect((await inspector.drainCheck(program)).runs).toHaveLength(refused.size);
    }
  });

  it("counts runs whose program the store does not know", async () => {
    const { store, inspector } = await open();
    const stored = new WorkflowCheckpointStore<State>(store);
    const checkpoint = { id: "r:step-1", runId: "r", stepIndex: 0, stepName: "a", state: { trace: [] }, createdAt: 1 };
    await stored.save(checkpoint, { steps: 2 });
    const threads = new Checkpointer<State>(store);
    await threads.put({ threadId: "t", state: { trace: [] }, nextNodes: ["a"] });
    for (const program of [describeWorkflow(workflow(store, ["a", "b"])), describeGraph(graph(store, ["a", "b"]))]) {
      expect(await inspector.drainCheck(program)).toMatchObject({ ok: true, fits: 0, other: 0, unknown: 1, runs: [] });
    }
  });
});

it("refuses what is no description", async () => {
  const inspector = await openInspector(await openStore("memory:"));
  onTestFinished(() => inspector.close());
  const good = { space: "tinyagents", nodes: [], edges: [] };
  expect(await inspector.drainCheck(good as never)).toMatchObject({ ok: true });
  for (const wrong of [
    null,
    "order",
    {},
    { ...good, space: "helix" },
    { ...good, nodes: ["a"] },
    { ...good, edges: [{ from: "a" }] },
    { ...good, edges: [{ from: "a", to: "b", joins: "a" }] },
    { ...good, fields: [1] },
    { ...good, version: 2 },
    { ...good, program: "" },
  ]) {
    await expect(inspector.drainCheck(wrong as never), JSON.stringify(wrong)).rejects.toThrow(/description|program/);
  }
  expect(() => describeWorkflow({} as never)).toThrow(TypeError);
  expect(() => describeGraph({} as never)).toThrow(TypeError);
});

describe(`forkpoint drain-check, ${durable}`, () => {
  it("prints a table, and ends with 3 if a run does not fit", async () => {
    const db = place(durable);
    await fill(db);
    const file = join(folder(), "program.json");
    const write = (names: string[]) =>
      writeFileSync(file, JSON.stringify(describeGraph(graph("memory:", names, { version: "2" }))));
    write(["a", "b2", "c"]);
    const { code, stdout } = await cli(["drain-check", "--db", db, file]);
    expect(code).toBe(3);
    const lines = stdout.split("\n");
    expect(lines[0]).toMatch(/^STATUS +RUN +VERSION +ACTIVE +DIFFERENCES$/);
    expect(stdout).toMatch(/✗ failed +at b +1 .*`b`, which is next, is gone; `b2` is new/);
    expect(stdout).toContain("2 of 3 open runs of order don't fit version 2\n");
    expect(stdout).toContain("not checked: 1 open run of other programs\n");
    const json = await cli(["drain-check", "--db", db, file, "--json"]);
    expect(json.code).toBe(3);
    expect(JSON.parse(json.stdout)).toMatchObject({ ok: false, fits: 1, other: 1, program: "order" });

    write(["a", "b", "c", "d"]);
    expect(await answer(["drain-check", "--db", db, file])).toContain("3 open runs of order: all fit version 2\n");
    const text = JSON.stringify(describeWorkflow(workflow("memory:", ["x"], { name: "new" })));
    const none = await cli(["drain-check", "--db", db, "-"], { input: text });
    expect(none).toMatchObject({ code: 0, stderr: "" });
    expect(none.stdout).toBe("no open runs of new\nnot checked: 4 open runs of other programs\n");
  });

  it("refuses a file that is no description", async () => {
    const db = place(durable);
    await fill(db);
    const file = join(folder(), "program.json");
    for (const [text, says] of Object.entries({ "{": "program.json", "{}": "describe()" })) {
      writeFileSync(file, text);
      const { code, stderr } = await cli(["drain-check", "--db", db, file]);
      expect(stderr).toContain(says);
      expect(code).toBe(2);
    }
    expect((await cli(["drain-check", "--db", db, `${file}.missing`])).code).toBe(3);
    expect((await cli(["drain-check", "--db", db])).code).toBe(2);
  });
});
