// Tests many runs, long runs and large states.
import { statSync } from "node:fs";
import { join } from "node:path";
import { Workflow } from "forkpoint/agentium";
import { expect, it } from "vitest";
import { folder } from "../helpers.js";
import { own } from "./helpers.js";

const text = (seed: number, length: number) =>
  Array.from({ length: Math.ceil(length / 8) }, (_, at) =>
    (((seed + 1) * (at + 7919) * 2654435761) % 2 ** 32).toString(36),
  )
    .join(" ")
    .slice(0, length);

it("a hundred runs at once, whatever they are called", async () => {
  const store = own<{ of: string; count: number }>(join(folder(), "workflow.db"));
  const hostile = [
    "a",
    "a:b",
    "a:step-1",
    "a:initial",
    "%",
    "_",
    "a%",
    "*",
    "'",
    "🜁 née ﷽",
    "a\nb",
    "__proto__",
    "A",
    " ",
  ];
  const runs = [...hostile, ...Array.from({ length: 100 - hostile.length }, (_, at) => `run ${at}`)];
  const workflow = new Workflow<{ of: string; count: number }>({
    name: "many",
    initialState: { of: "", count: 0 },
    checkpointStore: store,
    steps: [
      { name: "who", run: (_, { runId }) => ({ of: runId }) },
      ...Array.from({ length: 9 }, (_, at) => ({
        name: `count ${at}`,
        run: async ({ count }: { count: number }) => ({ count: count + 1 }),
      })),
    ],
  });
  const outputs = await Promise.all(runs.map((runId) => workflow.runWithCheckpoints({ runId })));
  expect(outputs.map(({ runId, state }) => [runId, state])).toEqual(runs.map((of) => [of, { of, count: 9 }]));
  for (const runId of runs) {
    const chain = await store.list(runId);
    expect(chain.map(({ state }) => state.count)).toEqual([0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(new Set(chain.map(({ runId: of }) => of))).toEqual(new Set([runId]));
  }
  await store.clear("a");
  expect(await store.list("a")).toEqual([]);
  for (const runId of runs.slice(1)) expect(await store.timeline(runId), runId).toHaveLength(11);
});

it("a run of a thousand steps, resumed from its middle", async () => {
  const path = join(folder(), "workflow.db");
  const store = own<{ log: string[] }>(path);
  let stopAt = 500;
  const workflow = new Workflow<{ log: string[] }>({
    name: "long",
    initialState: { log: [] },
    checkpointStore: store,
    steps: Array.from({ length: 1000 }, (_, at) => ({
      name: `step ${at}`,
      run: ({ log }: { log: string[] }) => {
        if (at === stopAt) throw new Error("half-way");
        return { log: [...log, text(at, 100)] };
      },
    })),
  });
  await expect(workflow.runWithCheckpoints({ runId: "long" })).rejects.toThrow("half-way");
  stopAt = -1;
  const { state, stepResults } = await workflow.runWithCheckpoints({ runId: "long", resume: true });
  expect(stepResults).toHaveLength(500);
  expect(state.log).toHaveLength(1000);
  const chain = await workflow.listCheckpoints("long");
  expect(chain.map(({ stepIndex }) => stepIndex)).toEqual(Array.from({ length: 1001 }, (_, at) => at - 1));
  for (const at of [0, 1, 499, 500, 501, 1000]) expect(chain[at]!.state).toEqual({ log: state.log.slice(0, at) });
  // Snapshots that are stored whole would take 51 MB.
  expect(statSync(path).size + statSync(`${path}-wal`).size).toBeLessThan(12e6);
  const forked = await workflow.fork("long:step-990", ({ log }) => ({ log: log.slice(0, 10) }));
  expect(forked.state.log).toHaveLength(20);
});

it("states of two megabytes", async () => {
  const store = own<{ documents: string[] }>(join(folder(), "workflow.db"));
  const workflow = new Workflow<{ documents: string[] }>({
    name: "large",
    initialState: { documents: Array.from({ length: 20 }, (_, at) => text(at, 100_000)) },
    checkpointStore: store,
    steps: Array.from({ length: 5 }, (_, at) => ({
      name: `step ${at}`,
      run: ({ documents }: { documents: string[] }) => ({ documents: documents.with(at, text(at + 100, 100_000)) }),
    })),
  });
  const runs = await Promise.all(["a", "b", "c"].map((runId) => workflow.runWithCheckpoints({ runId })));
  const expected = Array.from({ length: 20 }, (_, at) => text(at < 5 ? at + 100 : at, 100_000));
  for (const { runId, state } of runs) {
    expect(state.documents).toEqual(expected);
    const [initial, , second] = await store.list(runId);
    expect(initial!.state.documents[0]).toBe(text(0, 100_000));
    expect(second!.state.documents).toEqual([...expected.slice(0, 2), ...initial!.state.documents.slice(2)]);
  }
  const { state } = await workflow.replay("b:step-3");
  expect(state.documents).toEqual(expected);
});
