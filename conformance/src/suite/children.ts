// Other processes: they can race, and be killed.
import { fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Child } from "./types.js";

/** What a trial sends. */
export type FromTrial =
  | { kind: "begin"; suite: string; module: string; target: string; program: string; input: unknown }
  | { kind: "tell"; value: unknown };

/** What a child sends. */
export type FromChild =
  { kind: "say"; value: unknown } | { kind: "done"; value: unknown } | { kind: "failed"; message: string };

/** A promise that others settle. It is no unhandled rejection if nobody waits for it. */
function deferred<T>() {
  let resolve!: (value: T) => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<T>((...both) => ([resolve, reject] = both));
  promise.catch(() => {});
  return { promise, resolve, reject };
}

/** Starts a process that runs a program. */
export function start(begin: Omit<Extract<FromTrial, { kind: "begin" }>, "kind">): Child {
  const main = fileURLToPath(new URL("child-process.js", import.meta.url));
  const child = fork(main, [], { serialization: "advanced", execArgv: [], stdio: ["ignore", "ignore", "pipe", "ipc"] });
  const said: unknown[] = [];
  const waiting: Array<ReturnType<typeof deferred<unknown>>> = [];
  const ended = deferred<void>();
  const result = deferred<unknown>();
  let [taken, failed] = [0, undefined as Error | undefined];
  let printed = "";
  child.stderr!.on("data", (text) => (printed = (printed + text).slice(-4_000)));
  const fail = (error: Error) => {
    failed ??= error;
    result.reject(failed);
    for (const one of waiting.splice(0)) one.reject(failed);
  };
  child.on("message", (message: FromChild) => {
    if (message.kind === "done") result.resolve(message.value);
    else if (message.kind === "failed")
      fail(new Error(`${begin.program} failed in another process: ${message.message}`));
    else {
      said.push(message.value);
      waiting.shift()?.resolve(said[taken++]);
    }
  });
  child.on("error", fail);
  // Another process that has inherited the output keeps it open.
  child.on("exit", () => setTimeout(() => child.stderr!.destroy(), 1_000).unref());
  child.on("close", (code, signal) => {
    fail(new Error(`the process of ${begin.program} has ended (${signal ?? code})${printed && `: ${printed}`}`));
    ended.resolve();
  });
  child.send({ kind: "begin", ...begin } satisfies FromTrial);
  return {
    next() {
      if (taken < said.length) return Promise.resolve(said[taken++]);
      if (failed !== undefined) return Promise.reject(failed);
      const one = deferred<unknown>();
      waiting.push(one);
      return one.promise;
    },
    tell(value) {
      if (child.connected) child.send({ kind: "tell", value } satisfies FromTrial);
    },
    result: () => result.promise,
    async kill() {
      child.kill("SIGKILL");
      await ended.promise;
      return said;
    },
  };
}
