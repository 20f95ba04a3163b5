// Workflows that change while runs are open: what happens to a run, by the change and by the place where the run stopped.
import { type StepDef, Workflow, WorkflowCheckpointStore, type WorkflowConfig } from "forkpoint/agentium";
import { describe, expect, it } from "vitest";
import { closing, kinds, place } from "../helpers.js";

interface State {
  trace: string[];
}
type Steps = Array<StepDef<State>>;

/** The name of the step that fails. */
let failing: string | undefined;

const step = (name: string, by = ""): StepDef<State> => ({
  name,
  run: ({ trace }) => {
    if (name === failing) throw new Error(`${name} failed`);
    return { trace: [...trace, name + by] };
  },
});
const parallel = (name: string, ...branches: Steps): StepDef<State> => ({ name, parallel: branches });
const gate = (name: string, holds: boolean, ...steps: Steps): StepDef<State> => ({
  name,
  condition: () => holds,
  steps,
});

const first = (): Steps => [
  step("a"),
  parallel("p", step("x"), step("y")),
  gate("g", true, step("s"), step("t")),
  step("b"),
  step("c"),
];
const places = ["a", "x", "s", "b", "c", "end"] as const;
type Place = (typeof places)[number];

function make(store: WorkflowCheckpointStore<State>, steps: Steps, more: Partial<WorkflowConfig<State>> = {}) {
  const initialState = { trace: [] };
  return new Workflow<State>({ name: "order", initialState, steps, checkpointStore: store, register: false, ...more });
}

/** Returns the steps with one of them replaced by others. */
const put = (name: string, ...others: Steps): Steps => first().flatMap((one) => (one.name === name ? others : [one]));

const fits = "";
const isGone = (name: string, where: string, renamed?: string) =>
  `\`${name}\`, which ${where}, is gone${renamed === undefined ? "" : `; \`${renamed}\` is new`}`;

/** What is said of a run that stopped in this step or in a later one. A run that stopped before it fits. */
function from(first: Place, says: string, but: Partial<Record<Place, string>> = {}): Record<Place, string> {
  const all = places.map((at, index) => [at, index < places.indexOf(first) ? fits : says]);
  return { ...(Object.fromEntries(all) as Record<Place, string>), ...but };
}

/** What a resume says of a run that stopped in a step. An empty text: the run fits, and runs to its end. */
const table: Array<[change: string, steps: () => Steps, says: Record<Place, string>]> = [
  ["nothing", first, from("a", fits)],
  ["a step added at the end", () => [...first(), step("z")], from("end", "`c`, which has run, is now followed by `z`")],
  [
    "a step added before b",
    () => put("b", step("z"), step("b")),
    from("b", "`g`, which has run, is no longer followed by `b`; `g`, which has run, is now followed by `z`"),
  ],
  ["b removed", () => put("b"), from("c", isGone("b", "has run"), { b: isGone("b", "is next") })],
  [
    "b renamed",
    () => put("b", step("b2")),
    from("c", isGone("b", "has run", "b2"), { b: isGone("b", "is next", "b2") }),
  ],
  [
    "a, the first step, renamed",
    () => put("a", step("a2")),
    from("x", isGone("a", "has run", "a2"), { a: isGone("a", "is next", "a2") }),
  ],
  [
    "b and c reordered",
    () => [...first().slice(0, 3), step("c"), step("b")],
    from("b", "`g`, which has run, is no longer followed by `b`; `g`, which has run, is now followed by `c`"),
  ],
  [
    "a branch added to p",
    () => put("p", parallel("p", step("x"), step("y"), step("z"))),
    from("s", "`p`, which has run, is now followed by `p:z`"),
  ],
  [
    "a branch of p renamed",
    () => put("p", parallel("p", step("x"), step("y2"))),
    from("s", isGone("p:y", "has run", "p:y2")),
  ],
  ["a step in g removed", () => put("g", gate("g", true, step("s"))), from("b", isGone("g:t", "has run"))],
  [
    "the branches of p run one after the other",
    () => put("p", gate("p", true, step("x"), step("y"))),
    from("s", "the kind of `p`, which has run, changed from parallel to condition", {
      x: "the kind of `p`, which is next, changed from parallel to condition",
    }),
  ],
  [
    "the retry policy of all steps",
    () =>
      first().map((one) => ("run" in one ? Object.assign(one, { retryPolicy: { maxRetries: 1, backoffMs: 0 } }) : one)),
    from("a", fits),
  ],
];

describe.each(kinds.filter((kind) => kind !== "jsonl"))("%s", (kind) => {
  function open(target = place(kind)) {
    return closing(new WorkflowCheckpointStore<State>(target));
  }

  /** Runs the first version until a step fails. */
  async function stopped(store: WorkflowCheckpointStore<State>, at: Place, more = {}): Promise<string> {
    failing = at;
    const runId = `stopped at ${at}`;
    const run = make(store, first(), more).runWithCheckpoints({ runId });
    if (at === "end") await run;
    else await expect(run).rejects.toThrow(`${at} failed`);
    failing = undefined;
    return runId;
  }

  it.each(table)("%s", async (_, steps, says) => {
    const store = open();
    for (const at of places) {
      const runId = await stopped(store, at, { version: "1" });
      const runs = async () => (await store.runs()).runs;
      const status = async () => (await runs()).find((run) => run.runId === runId)!.status;
      const next = make(store, steps(), { version: "2" });
      const before = await store.timeline(runId);
      if (says[at] === fits) {
        const { trace } = (await next.runWithCheckpoints({ runId, resume: true })).state;
        const fresh = (await next.run()).state.trace;
        expect(trace.toSorted(), runId).toEqual(fresh.toSorted());
        expect(await status(), runId).toBe("finished");
        continue;
      }
      const known = (await runs()).length;
      const from = before.at(-1)!.id;
      for (const attempt of [
        () => next.runWithCheckpoints({ runId, resume: true }),
        () => next.replay(from),
        () => next.replay(from, { newRun: true }),
        () => next.fork(from),
      ]) {
        const error = await attempt().catch((thrown: unknown) => thrown);
        expect(error, runId).toMatchObject({ code: "CONFLICT" });
        const { message } = error as Error;
        expect(message).toContain(`run "${runId}" was made by version "1" of workflow "order"`);
        expect(message).toContain('does not fit version "2": ');
        expect(message).toContain(says[at]);
        expect(message).toContain("force: true");
      }
      expect(await store.timeline(runId), runId).toEqual(before);
      expect(await runs(), runId).toHaveLength(known);
      // The version that made the run still continues it.
      const { state } = await make(store, first(), { version: "1" }).runWithCheckpoints({ runId, resume: true });
      expect(state.trace, runId).toEqual(["a", "x", "y", "s", "t", "b", "c"]);
    }
  });

  it("force continues at the index of the step", async () => {
    const store = open();
    const runId = await stopped(store, "b");
    const next = make(store, put("b", step("b2")));
    const { state } = await next.runWithCheckpoints({ runId, resume: true, force: true });
    expect(state.trace.slice(-2)).toEqual(["b2", "c"]);
    // The checkpoint that the new version stored has its shape, so the run now fits it.
    expect((await next.replay(`${runId}:step-4`)).state.trace.at(-1)).toBe("c");
  });

  it("a fork from a checkpoint before the change fits", async () => {
    const store = open();
    const runId = await stopped(store, "c");
    const next = make(store, put("b", step("b2")));
    await expect(next.fork(`${runId}:step-4`)).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(next.fork(`${runId}:step-3`)).rejects.toThrow("`b`, which is next, is gone; `b2` is new");
    const { state } = await next.fork(`${runId}:step-2`, ({ trace }) => ({ trace: [...trace, "moved"] }));
    expect(state.trace).toEqual(["a", "x", "y", "moved", "s", "t", "b2", "c"]);
  });

  it("names versions without a name by their hashes, and compares steps with the same name", async () => {
    const store = open();
    failing = "b";
    await expect(make(store, [step("a"), step("a"), step("b")]).runWithCheckpoints({ runId: "r" })).rejects.toThrow(
      "b failed",
    );
    failing = undefined;
    const resume = { runId: "r", resume: true };
    await expect(make(store, [step("a"), step("b")]).runWithCheckpoints(resume)).rejects.toThrow(
      /made by version [\w-]{12} of workflow "order" and does not fit version [\w-]{12}: `a \(2\)`, which has run, is gone/,
    );
    await expect(make(store, [step("a"), step("x"), step("b")]).runWithCheckpoints(resume)).rejects.toThrow(
      "`a (2)`, which has run, is gone; `x` is new",
    );
    expect((await make(store, [step("a"), step("a"), step("b")]).runWithCheckpoints(resume)).state.trace).toHaveLength(
      3,
    );
  });

  it("a name with a colon is no nested step", async () => {
    const store = open();
    failing = "b";
    const run = make(store, [parallel("p", step("x")), step("b")]).runWithCheckpoints({ runId: "r" });
    await expect(run).rejects.toThrow("b failed");
    failing = undefined;
    const other = make(store, [parallel("p"), step("p:x"), step("b")]).runWithCheckpoints({ runId: "r", resume: true });
    await expect(other).rejects.toThrow("`p:x`, which has run, is gone; `p\\:x` is new");
  });
});
