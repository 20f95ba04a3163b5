/** The context that all parts of an inspector share. */

import { isArray, show, typeError } from "../bridge/errors.js";
import { requireId } from "../store/ids.js";
import { oneOf } from "../store/options.js";
import { SPACES, traitsOf } from "../contracts/registry.js";
import type { Context as Opened } from "../plugin/context.js";
import type { Key } from "../plugin/wire.js";
import type { ModelPrices } from "./conversation/cost.js";
import type { RunRef, Space } from "../plugin/views.js";

/** An open inspector, for its parts. */
export interface Context extends Opened {
  readonly target: string;
  readonly write: boolean;
  /** Undefined: no costs are computed. */
  readonly prices?: ModelPrices | undefined;
}

/** The suffix of the contracts that keep the effects of runs. */
const EFFECTS = "/effects";

/** Returns the contract of the effects of a framework's runs. Undefined: the framework has none. */
export const effectsOf = (space: string): string | undefined =>
  traitsOf(space).effects === true ? space + EFFECTS : undefined;

export const isOfEffects = (contract: string): boolean => contract.endsWith(EFFECTS);

/** The contracts of the current states of runs, each with the framework of the runs. */
const CURRENT = new Map(SPACES.flatMap((space) => (traitsOf(space).current ? [[traitsOf(space).current, space]] : [])));

/** Returns true for a contract of the current states of runs. A current state is not a checkpoint. */
export const isCurrent = (contract: string): boolean => CURRENT.has(contract);

/** Returns true for a contract whose lineages are not runs. */
export const isBeside = (contract: string): boolean => contract.includes("/") && !isOfEffects(contract);

/** Returns the framework of a contract. */
export function spaceOf(contract: string): string {
  // The contract of an addition to runs has the runs' contract before its slash.
  return CURRENT.get(contract) ?? contract.split("/", 1)[0]!;
}

/** Returns the contracts that list the runs of a framework, or of all frameworks if none is given. */
export function contractsOf(space: Space | undefined): string[] {
  const spaces: readonly string[] = space === undefined ? SPACES : [space];
  return spaces.flatMap((each) => [each, traitsOf(each).current ?? []].flat());
}

/** Returns true if runs have a namespace for each of their subgraphs. */
export const hasSubgraphs = (contract: string): boolean => traitsOf(spaceOf(contract)).namespaces === "subgraph";

/** Returns true for a graph or a session itself, and false for the namespace of a subgraph. */
export function isMain(contract: string, ns: string | null): boolean {
  return !hasSubgraphs(contract) || ns === "" || ns === null;
}

/** Returns the namespace for display. Null: the framework has no namespaces. */
export function shownNs(contract: string, ns: string | null): string | null {
  return traitsOf(spaceOf(contract)).namespaces === undefined ? null : (ns ?? "");
}

export const readSpace = (space: unknown, what = "space"): Space => oneOf(...SPACES)(space, what);

export function readKey(ref: unknown): Key {
  if (typeof ref !== "object" || ref === null || isArray(ref)) {
    throw typeError(`a run must be an object such as { space: "langgraph", run: "thread-1" }, but is ${show(ref)}`);
  }
  const { space, run, ns = null } = ref as Partial<RunRef>;
  return { space: readSpace(space, "space"), run: requireId(run, "run"), ns: ns === null ? "" : requireId(ns, "ns") };
}

/** Returns the public reference of a run. */
export function refOf({ space, run, ns }: { space: string; run: string; ns: string | null }): {
  space: Space;
  run: string;
  ns: string | null;
} {
  return { space: spaceOf(space), run, ns: shownNs(space, ns) };
}
