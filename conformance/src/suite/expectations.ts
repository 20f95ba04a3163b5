// How contracts write their expectations.
import type { Expectation, Group, Source, Trial } from "./types.js";

/** The level of an expectation, and where it comes from. Forkpoint's own demands are written without their "ours: ". */
type Level =
  | { readonly must: Source; readonly should?: never; readonly ours?: never }
  | { readonly should: Source; readonly must?: never; readonly ours?: never }
  | { readonly ours: string; readonly must?: never; readonly should?: never };

/** What is checked. `checkStore` gets the trial's store, opened. */
type Check<Store> =
  | { readonly check: (trial: Trial<Store>) => Promise<void>; readonly checkStore?: never }
  | { readonly checkStore: (store: Store, trial: Trial<Store>) => Promise<void>; readonly check?: never };

type Written<Store> = Level & Check<Store> & { readonly title: string; readonly group?: Group };

/** Makes the expectations of a group, by their ids. One that names another group is of that group. */
export function expectations<Store>(
  group: Group,
  all: Readonly<Record<string, Written<Store>>>,
): ReadonlyArray<Expectation<Store>> {
  return Object.entries(all).map(([id, { must, should, ours, title, check, checkStore, group: own = group }]) => ({
    id,
    group: own,
    level: must !== undefined ? "MUST" : should !== undefined ? "SHOULD" : "OURS",
    source: must ?? should ?? `ours: ${ours}`,
    title,
    check: check ?? (async (trial) => await checkStore(await trial.store(), trial)),
  }));
}
