// isForkpointError() is true for every error of this package, even if another copy of the package threw it. It is false
// for all other errors.
import { createRequire } from "node:module";
import { join } from "node:path";
import { runInNewContext } from "node:vm";
import { CheckpointStore, ForkpointError, isForkpointError, openStore } from "forkpoint";
import { RunDrainedError, Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { describe, expect, test } from "vitest";
import { checkpoint, folder, open, rejection, thrown } from "./helpers.js";

interface Errors {
  ForkpointError: typeof ForkpointError;
  isForkpointError: typeof isForkpointError;
  rangeError(message: string): RangeError;
  typeError(message: string): TypeError;
}

/** Loads another copy of the package's errors. */
function copyOfErrors(): Errors {
  const require = createRequire(import.meta.url);
  const paths = ["../dist/bridge/errors.js", "../dist/bridge/start.js"].map((path) => require.resolve(path));
  const loaded = paths.map((path) => require.cache[path]);
  for (const path of paths) delete require.cache[path];
  const copy = require(paths[0]!) as Errors;
  for (const [i, path] of paths.entries()) if (loaded[i] !== undefined) require.cache[path] = loaded[i];
  return copy;
}

const other = copyOfErrors();

describe("isForkpointError", () => {
  test("is true for what the package throws and rejects with", async () => {
    const closed = new CheckpointStore("memory:");
    await closed.close();
    const store = open("memory:");
    const errors = [
      thrown(() => new CheckpointStore(7 as never)),
      thrown(() => new CheckpointStore("memory:", { busyTimeoutMs: -1 })),
      thrown(() => new CheckpointStore("memory:", { ttl: 1 } as never)),
      thrown(() => new Workflow({ name: "", steps: [] } as never)),
      await rejection(openStore(join(folder(), "no", "such", "folder", "agent.db"))),
      await rejection(closed.get("id")),
      await rejection(store.fork("unknown")),
      await rejection(store.save({} as never)),
      await rejection(store.save(checkpoint({ state: { ...checkpoint().state, scratch: new WeakMap() } }))),
      await rejection(store.prune({ keepLastN: -1 })),
      await rejection(new WorkflowCheckpointStore("memory:").save({} as never)),
    ];
    for (const error of errors) {
      expect([error.message, isForkpointError(error)]).toEqual([error.message, true]);
      expect(other.isForkpointError(error)).toBe(true);
    }
  });

  test("is true for the errors of another copy of the package, and of another realm", () => {
    const foreign = new other.ForkpointError("BUSY", "held");
    expect(foreign).not.toBeInstanceOf(ForkpointError);
    expect(isForkpointError(foreign)).toBe(true);
    expect(isForkpointError(other.typeError("wrong"))).toBe(true);
    expect(isForkpointError(other.rangeError("wrong"))).toBe(true);
    const remote: unknown = runInNewContext('Object.assign(new TypeError("wrong"), { code: "INVALID_ARGUMENT" })');
    expect(remote).not.toBeInstanceOf(TypeError);
    expect(isForkpointError(remote)).toBe(true);
  });

  test("has every code", () => {
    const codes = "NOT_FOUND INVALID_ARGUMENT CLOSED CORRUPT CONFLICT BUSY FULL UNAVAILABLE UNSUPPORTED".split(" ");
    for (const code of codes) expect(isForkpointError(new ForkpointError(code as "BUSY", "x"))).toBe(true);
  });

  test.each<[string, unknown]>([
    ["undefined", undefined],
    ["null", null],
    ["a string", "ForkpointError"],
    ["an object that looks like one", { name: "ForkpointError", code: "BUSY", message: "" }],
    ["an error", new Error("x")],
    ["a TypeError of JavaScript", new TypeError("x")],
    ["a TypeError of Node", thrown(() => Buffer.from(7 as never))],
    ["a RangeError of Node", thrown(() => Buffer.alloc(-1))],
    ["another error with one of the codes", Object.assign(new Error("x"), { code: "INVALID_ARGUMENT" })],
    ["a TypeError with another code", Object.assign(new TypeError("x"), { code: "BUSY" })],
    ["a ForkpointError with an unknown code", new ForkpointError("toString" as never, "x")],
    ["the reason of a signal", AbortSignal.abort().reason],
    ["a drained run", new RunDrainedError("run")],
  ])("is false for %s", (_, value) => {
    expect(isForkpointError(value)).toBe(false);
  });

  test("is false for what a step threw", async () => {
    const fail = () => {
      throw new Error("mine");
    };
    const workflow = new Workflow({ name: "w", initialState: {}, steps: [{ name: "s", run: fail }] });
    expect(isForkpointError(await rejection(workflow.run()))).toBe(false);
  });
});
