import type { Contract, Figure, Report, Result } from "../dist/index.js";

interface Mutant {
  /** For figures, which cannot fail: returns true if the mutant's is worse than that of the reference. */
  isWorse?: (mutant: readonly Figure[], reference: readonly Figure[]) => boolean;
}

/** Returns the address of a contract's reference, or of one of its mutants. */
export function address(contract: string, mutant?: string): URL {
  const url = new URL(`../mutants/${contract}/index.mjs`, import.meta.url);
  if (mutant !== undefined) url.searchParams.set("mutant", mutant);
  return url;
}

export async function mutantsOf(contract: string): Promise<Record<string, Mutant>> {
  const { mutants } = (await import(address(contract).href)) as { mutants: Record<string, Mutant> };
  return mutants;
}

/** How often a mutant is tried: a kill or a race finds it in most runs, and not in each. */
const TRIES = 6;

/** Returns why the expectation does not name its mutant, or undefined if it does. */
export async function outcome(contract: Contract, name: string, id: string): Promise<string | undefined> {
  const { isWorse } = (await mutantsOf(name))[id] ?? {};
  const run = (seed: number, mutant?: string): Promise<Report> =>
    contract({ module: address(name, mutant), target: "{dir}/store" }).run({ only: [id], timeoutMs: 20_000, seed });
  for (let seed = 1; seed <= TRIES; seed++) {
    const { results, figures } = await run(seed, id);
    const [{ status, message, group }] = results as [Result];
    if (isWorse !== undefined) {
      if (status !== "passed") return `a figure must not fail: ${message}`;
      return isWorse(figures, (await run(seed)).figures) ? undefined : "the figure of the mutant is no worse";
    }
    if (status === "failed") return undefined;
    if (group !== "kill" && group !== "race") return `the mutant ${status}`;
  }
  return `the mutant passed ${TRIES} times`;
}
