// Runs the suite that LangGraph publishes for checkpointers, if it is installed: `@langchain/langgraph-checkpoint-validation`.
import { fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Upstream } from "../../suite/types.js";

const name = "@langchain/langgraph-checkpoint-validation";

/** How long it may take. */
const LONGEST_MS = 10 * 60_000;

/** What the process that runs the suite is given. */
export interface Order {
  /** The addresses of the suite, of the programming interface of its vitest, and of the store's module. */
  readonly suite: string;
  readonly vitest: string;
  readonly module: string;
  readonly target: string;
}

/** What that process answers. */
export type Answer = { counts: Omit<Upstream, "package" | "version"> } | { error: string };

/** Returns the path of the suite's package.json, beside the store's module or in the working directory. */
function find(module: string): string | undefined {
  for (const from of [fileURLToPath(module), join(process.cwd(), "package.json")]) {
    try {
      return createRequire(from).resolve(`${name}/package.json`);
    } catch {
      // It is not installed there.
    }
  }
  return undefined;
}

export async function upstream({ module, target }: { module: string; target: string }): Promise<Upstream | undefined> {
  const found = find(module);
  if (found === undefined) return undefined;
  const { version, exports } = JSON.parse(readFileSync(found, "utf8"));
  const { default: main } = exports["."].import;
  const order: Order = {
    module,
    target,
    suite: pathToFileURL(join(dirname(found), main)).href,
    vitest: pathToFileURL(createRequire(found).resolve("vitest/node")).href,
  };
  try {
    const { counts } = await answer(order);
    return { package: name, version, ...counts };
  } catch (error) {
    return { package: name, version, passed: 0, failed: 0, skipped: 0, failures: [], error: (error as Error).message };
  }
}

/** Starts the process. It prints nothing, because reports can go to the standard output. */
function answer(order: Order): Promise<Extract<Answer, { counts: unknown }>> {
  const main = fileURLToPath(new URL("upstream-process.js", import.meta.url));
  const child = fork(main, [], { execArgv: [], stdio: ["ignore", "ignore", "pipe", "ipc"] });
  let printed = "";
  child.stderr!.on("data", (text) => (printed = (printed + text).slice(-4_000)));
  const timer = setTimeout(() => child.kill("SIGKILL"), LONGEST_MS);
  return new Promise((resolve, reject) => {
    child.on("close", () => clearTimeout(timer));
    child.on("message", (message: Answer) => {
      if ("counts" in message) resolve(message);
      else reject(new Error(`${name} can't be run: ${message.error}`));
    });
    child.on("error", reject);
    child.on("close", (code, signal) => reject(new Error(`${name} has ended (${signal ?? code}): ${printed}`)));
    child.send(order);
  });
}
