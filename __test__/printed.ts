/** Runs the code that the inspector, the command line and the studio print for a run that waits. */

import type { Inspector, RunRef } from "forkpoint/inspect";
import { expect } from "vitest";

/** A question of a run, with the code that answers it. */
export interface Printed {
  id: string;
  code: string;
  approve: unknown;
  answered: unknown;
}

/** Returns the questions without an answer. */
export async function printed(inspector: Inspector, ref: RunRef): Promise<Printed[]> {
  return (await inspector.questions(ref)).filter(({ answered }) => answered === null);
}

type Run = (...values: unknown[]) => Promise<unknown>;

const AsyncFunction = (async () => {}).constructor as new (...names: string[]) => Run;

/**
 * Runs code as it was printed. `scope` has what a program has of its own, such as its graph. `modules` has what the code may
 * import.
 */
export async function runPrinted(
  code: string,
  scope: Record<string, unknown>,
  modules: Record<string, object> = {},
): Promise<void> {
  const load = (name: string): object => {
    const found = modules[name];
    if (found === undefined) throw new Error(`the code imports ${name}`);
    return found;
  };
  const body = code.replace(
    /^import (\{ .+ \}) from (".+");$/gm,
    (_, names: string, from: string) => `const ${names} = load(${from});`,
  );
  expect(body).not.toMatch(/^import\b/m);
  await new AsyncFunction(...Object.keys(scope), "load", body)(...Object.values(scope), load);
}
