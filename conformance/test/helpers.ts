import type { Contract, Figure, Report } from "../dist/index.js";

interface Mutant {
  /** For figures, which cannot fail: returns true if the mutant's is worse than that of the reference. */
  isWorse?: (mutant: Figure[], reference: Figure[]) => boolean;
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

/** Returns why the expectation does not name its mutant, or undefined if it does. */
export async function outcome(contract: Contract, name: string, id: string): Promise<string | undefined> {
  const { isWorse } = (await mutantsOf(name))[id] ?? {};
  const run = (mutant?: string): Promise<Report> =>
    contract({ module: address(name, mutant), target: "{dir}/store" }).run({ only: [id], timeoutMs: 20_000 });
  const report = await run(id);
  const [result] = report.results;
  if (isWorse === undefined) return result?.status === "failed" ? undefined : `the mutant ${result?.status}`;
  if (result?.status !== "passed") return `a figure must not fail: ${result?.message}`;
  return isWorse(report.figures, (await run()).figures) ? undefined : "the figure of the mutant is no worse";
}
