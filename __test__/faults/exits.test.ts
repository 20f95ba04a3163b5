// Ways to end that __test__/exit.test.ts does not have, amid saves. Whatever was acknowledged is stored, and the process
// ends by itself. If its end leaves JavaScript the time, saves that were not awaited are stored too.
import { CheckpointStore } from "forkpoint";
import { describe, expect, it } from "vitest";
import { fixture, folder, windows } from "../helpers.js";
import { durable, isLong, Program, randomBelow, repeat, seed, targetIn } from "./faults.js";

interface Way {
  ending: string;
  code?: number | null;
  signal?: NodeJS.Signals | null;
  /** What the process prints to its standard error. */
  errors?: string | undefined;
  /** True if saves that were not awaited are stored too. */
  all?: boolean;
  nodeArgs?: string[];
  /** What happens to the process when it is ready. */
  onReady?: (program: Program) => void;
}

const left = { code: 0, signal: null, errors: "", all: true };

const kill = (signal: NodeJS.Signals) => (program: Program) => program.kill(signal);

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const ways: Way[] = [
  { ...left, ending: "process.exit() when a save resolves", code: 3 },
  { ...left, ending: "process.exit() in an exit handler", code: 4 },
  { ...left, ending: "an exception in an exit handler", code: 1, errors: "as the test wants" },
  { ...left, ending: "a save in an exit handler" },
  { ...left, ending: "process.exitCode and an empty event loop", code: 5 },
  { ...left, ending: "saves in two turns of beforeExit" },
  { ...left, ending: "process.exit() in beforeExit", code: 6 },
  { ...left, ending: "an uncaught exception", code: 1, errors: "as the test wants" },
  { ...left, ending: "a handler of an uncaught exception that exits", code: 7 },
  { ...left, ending: "a handler of an unhandled rejection that exits", code: 8 },
  { ...left, ending: "a stack overflow", code: 1, errors: "Maximum call stack" },
  { ...left, ending: "a top-level await that never ends", code: 13, errors: undefined },
  { ending: "process.abort()", code: null, signal: "SIGABRT" },
  {
    ending: "no memory left",
    code: null,
    signal: "SIGABRT",
    errors: "out of memory",
    nodeArgs: ["--max-old-space-size=64"],
  },
  { ...left, ending: "the disconnect of a forked child", onReady: (program) => program.disconnect() },
  { ...left, ending: "process.disconnect() and an empty event loop" },
  { ...left, ending: "process.exit() in a worker" },
  { ending: "worker.terminate() and process.exit()", code: 0, signal: null, errors: "" },
  { ending: "process.exit() while a worker saves", code: 0, signal: null, errors: "" },
  { ...left, ending: "process.exit() during a vacuum, a check and a prune" },
];

const handled = ["a handler of a signal that closes the store", "a handler of a signal that saves and exits"];

const unix: Way[] = [
  ...[...signals, "SIGQUIT" as const, "SIGKILL" as const].map((signal): Way => ({
    ending: "a signal without a handler",
    code: null,
    signal,
    errors: "",
    onReady: kill(signal),
  })),
  ...handled.flatMap((ending) => signals.map((signal): Way => Object.assign({ ending, onReady: kill(signal) }, left))),
];

const here = windows ? ways.filter(({ signal }) => signal !== "SIGABRT") : [...ways, ...unix];

/** The ways that a kind of store tries. In the short form, text files try a random half of them. */
function waysOf(kind: (typeof durable)[number]): Way[] {
  if (kind === "sqlite" || isLong("FORKPOINT_FAULT_EXITS")) return here;
  const below = randomBelow(seed);
  const left = [...here];
  return Array.from({ length: Math.ceil(here.length / 2) }, () => left.splice(below(left.length), 1)[0]!);
}

describe.each(durable)("%s", (kind) => {
  it.each(waysOf(kind))("$ending $signal", async ({ ending, code, signal, errors, all, nodeArgs = [], onReady }) => {
    const target = targetIn(folder(), kind);
    let ready = false;
    const program: Program = new Program([fixture("faults/exits.mjs"), ending, target, "ipc"], {
      nodeArgs,
      onLine: () => {
        if (ready || program.lines.at(-1) !== "ready") return;
        ready = true;
        onReady?.(program);
      },
    });
    const ended = await program.ended;
    const where = `${ended.errors}; ${repeat("__test__/faults/exits.test.ts", "FORKPOINT_FAULT_EXITS")}`;
    expect({ code: ended.code, signal: ended.signal }, where).toEqual({ code, signal });
    if (errors === "") expect(ended.errors).toBe("");
    else if (errors !== undefined) expect(ended.errors).toContain(errors);

    const named = (word: string) =>
      ended.lines.filter((line) => line.startsWith(`${word} `)).map((line) => line.split(" ")[1]!);
    const [called, saved] = [named("called"), named("saved")];
    expect(saved.length).toBeGreaterThan(5);
    const store = new CheckpointStore(target);
    const listed = (await store.list("graph")).map(({ id }) => id);
    expect(all === true ? called.filter((id) => !listed.includes(id)) : []).toEqual([]);
    expect(saved.filter((id) => !listed.includes(id))).toEqual([]);
    expect(listed.filter((id) => !called.includes(id) && id !== "too late")).toEqual([]);
    for (const id of listed) expect((await store.get(id))!.state.scratch).toEqual({ text: "x".repeat(500) });
    expect(await store.check()).toMatchObject({ ok: true, findings: [] });
    await store.close();
  });
});
