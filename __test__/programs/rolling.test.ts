// A rolling deploy of a workflow and of a graph: workers of the old and of the new version at the same time, each killed again and
// again. FORKPOINT_FAULT_DEPLOYS=<n>: each worker so often.
// @module-tag slow
import { type Store } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { Checkpointer } from "forkpoint/tinyagents";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { Program, amount, randomBelow, repeat, seed } from "../faults/faults.js";
import { durable, fixture, folder, place } from "../helpers.js";
import { opened } from "../contents.js";

const kills = amount("FORKPOINT_FAULT_DEPLOYS", 3);
const hint = repeat("__test__/programs/rolling.test.ts", "FORKPOINT_FAULT_DEPLOYS");

type Version = "1" | "2";
const versions = ["1", "2"] as const;
const other = { "1": "2", "2": "1" } as const;
/** The step that only this version has. */
const own = { "1": "b", "2": "b2" } as const;

/** Which version has run each step. */
type State = Record<string, Version>;

/** A line of the journal. */
type Line = { run: string; version: Version; ran?: string; done?: string[] };

/** A line that a worker prints. */
interface Said {
  run: string;
  outcome: "ended" | "refused";
  message?: string;
}

/** Reads the status and the state of each run. */
const reads = {
  async workflow(store: Store) {
    const checkpoints = new WorkflowCheckpointStore<State>(store);
    const { runs } = await checkpoints.runs();
    return runs.map(async ({ runId, status }) => ({
      run: runId,
      status,
      state: (await checkpoints.latest(runId))!.state,
    }));
  },
  async graph(store: Store) {
    const checkpointer = new Checkpointer<State>(store);
    const { threads } = await checkpointer.threads();
    return threads.map(async ({ threadId, status }) => ({
      run: threadId,
      status,
      state: (await checkpointer.get(threadId))!.state,
    }));
  },
};

const frameworks = Object.keys(reads) as Array<keyof typeof reads>;

/** The runs that a version begins: some stop in each of the steps. */
const begun = (version: Version) =>
  ["a", "y", "m", own[version], "c"].flatMap((step) => [1, 2, 3].map((number) => `${version} ${step} ${number}`));
/** A version runs its own step after `m`. From there on, only this version fits the run. */
const fitsOne = (run: string) => /^\d (b|b2|c) /.test(run);

function shuffled<T>(all: readonly T[], below: (limit: number) => number): T[] {
  const left = [...all];
  return all.map(() => left.splice(below(left.length), 1)[0]!);
}

describe(durable, () => {
  const timeout = 60_000 + kills * 10_000;
  it.each(frameworks)("a %s: each run is ended by a version that fits it", { timeout }, async (framework) => {
    const target = place(durable);
    const journal = join(folder(), "journal");
    const store = await opened(target);
    const read = async () => Promise.all(await reads[framework](store));
    const lines = () =>
      readFileSync(journal, "utf8")
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Line);
    const worker = (version: Version, command: string, runs: string[], killAt = 0) =>
      new Program([fixture("deploy.mjs"), framework, target, journal, version, command, ...runs], {
        env: { KILL_AT: String(killAt) },
      });
    const refusals: Array<Said & { by: Version }> = [];
    const heard = (by: Version, said: Said[]) => {
      for (const one of said) if (one.outcome === "refused") refusals.push({ ...one, by });
    };

    await Promise.all(versions.map((version) => worker(version, "start", begun(version)).success()));
    const before = await read();
    const runs = before.map(({ run }) => run);
    expect(runs).toHaveLength(30);

    // Each version refuses the runs that fit the other one alone, and changes nothing.
    const noted = lines().length;
    for (const version of versions) {
      const others = begun(other[version]).filter(fitsOne);
      const { said } = await worker(version, "work", others).success();
      expect(said).toMatchObject(others.map((run) => ({ run, outcome: "refused" })));
      heard(version, said);
    }
    expect(lines()).toHaveLength(noted);
    expect(await read()).toEqual(before);

    // Two workers of each version. Each is killed at random points, and begins again. At last, each has said of all runs what
    // has become of them.
    const below = randomBelow(seed);
    const lives = [...versions, ...versions].map((version) => ({
      version,
      order: shuffled(runs, below),
      // A life without a kill passes four points for each run or more, also if the run has ended.
      points: Array.from({ length: kills }, () => 1 + below(4 * runs.length)),
    }));
    let killed = 0;
    const live = async ({ version, order, points }: (typeof lives)[number]) => {
      for (const killAt of [...points, 0]) {
        const program = worker(version, "work", order, killAt);
        const { code, signal, errors } = await program.ended;
        heard(version, program.said);
        if (signal === "SIGKILL" && killAt > 0) killed += 1;
        else {
          expect({ code, errors }, hint).toEqual({ code: 0, errors: "" });
          expect(program.said.map(({ run }) => run).toSorted(), hint).toEqual(runs.toSorted());
        }
      }
    };
    await Promise.all(lives.map(live));
    expect(killed, hint).toBe(lives.length * kills);

    // Each run has ended. The version that ran `m` has run the rest too, and nothing that was stored before has changed.
    const after = new Map((await read()).map(({ run, ...rest }) => [run, rest]));
    expect(after.size).toBe(runs.length);
    for (const { run, state } of before) {
      const ended = after.get(run)!;
      const owner = ended.state["m"]!;
      const any = expect.any(String);
      const whole = { a: any, x: any, y: any, m: owner, [own[owner]]: owner, c: owner, ...state };
      expect(ended, `${run}, ${hint}`).toEqual({ status: "finished", state: whole });
    }
    // No step ran again after it was stored.
    const done = new Map(runs.map((run) => [run, new Set<string>()]));
    for (const { run, version, ran, done: stored = [] } of lines()) {
      const steps = done.get(run)!;
      if (ran !== undefined) expect(steps.has(ran), `${ran} of ${run} ran again on ${version}, ${hint}`).toBe(false);
      for (const step of stored) steps.add(step);
    }
    // Only a version that has not run `m` was refused.
    for (const { run, by, message } of refusals) {
      expect(after.get(run)!.state["m"], `${run}, ${hint}`).toBe(other[by]);
      expect(message).toContain(`was made by version "${other[by]}" of ${framework} "order"`);
    }
    expect(await store.check()).toMatchObject({ ok: true, findings: [] });
  });
});
