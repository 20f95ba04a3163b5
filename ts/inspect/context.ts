/** What all parts of an inspector share. */

import type { Engine } from "../store/engine.js";
import { isArray, show, typeError } from "../bridge/errors.js";
import { requireId } from "../store/ids.js";
import { oneOf } from "../store/options.js";
import type { Format } from "../bridge/serializer.js";
import { SPACES } from "../bridge/spaces.js";
import type { Key } from "./wire.js";
import type { Store } from "../store/store.js";
import type { ModelPrices } from "./conversation/cost.js";
import type { RunRef, Space } from "./views.js";

/** An open inspector, as its parts use it. */
export interface Context {
  readonly store: Store;
  readonly engine: Engine;
  /** The serializers of the user, by the name that they write. */
  readonly formats: ReadonlyMap<string, Format>;
  readonly target: string;
  readonly write: boolean;
  /** Undefined: no costs are computed. */
  readonly prices?: ModelPrices | undefined;
}

/** The contract that holds the current state of each Helix session. */
export const SESSIONS = "helix-sessions";

/** What the name of the contract that keeps the effects of runs ends with. */
const EFFECTS = "/effects";

/** The frameworks whose runs have effects. */
const WITH_EFFECTS: ReadonlySet<string> = new Set([
  "agentos",
  "agentium",
  "langgraph",
  "tinyagents",
  "helix",
  "mastra",
  "openai-agents-states",
]);

/** Returns the name of the contract that keeps the effects of a contract's runs. Undefined: they have none. */
export const effectsOf = (contract: string): string | undefined =>
  WITH_EFFECTS.has(contract) ? contract + EFFECTS : undefined;

export const isOfEffects = (contract: string): boolean => contract.endsWith(EFFECTS);

/** The contracts that keep what belongs to the runs of a contract, in lineages with the names of the runs. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  ai: ["ai/rows", "ai/approvals"],
  "mastra-threads": ["mastra-threads/rows"],
};

export const besideOf = (contract: string): readonly string[] => BESIDE[contract] ?? [];

/** The resources of Mastra's agents. A resource belongs to several threads. */
export const RESOURCES = "mastra-threads/resources";

/** Returns true for a contract whose lineages are no runs. */
export const isBeside = (contract: string): boolean => contract.includes("/") && !isOfEffects(contract);

/** Returns the public name of a contract. */
export function spaceOf(contract: string): string {
  // A contract of what belongs to runs has the name of the runs' contract before the slash.
  return contract === SESSIONS ? "helix" : contract.split("/", 1)[0]!;
}

/** The contracts that store no parent. The parent of a checkpoint is the checkpoint before it. */
export const ORDERED: ReadonlySet<string> = new Set([
  "agentos",
  "agentium",
  "ai",
  "helix",
  SESSIONS,
  "langgraph-store",
  "langgraph-cache",
  "mastra",
  "mastra-threads",
  "openai-agents-states",
]);

/** The contracts whose runs have namespaces. */
const WITH_NAMESPACES: ReadonlySet<string> = new Set(["langgraph", "tinyagents"]);

/** The contracts whose runs have a namespace beside their name: a driver's, the project of a session, the workflow of a run. */
export const IN_NAMESPACES: ReadonlySet<string> = new Set(["storage", "claude-agent-sdk", "mastra"]);

/** The contracts whose runs have one checkpoint, with the name of the run as its id. */
export const SINGLE: ReadonlySet<string> = new Set(["storage", "ai-streams", "claude-agent-sdk", "openai-agents"]);

/** The frameworks whose checkpoints tell which version of a program made them. */
export const WITH_VERSIONS = ["langgraph", "agentos", "agentium", "tinyagents"] as const satisfies Space[];

/** Returns true if a run is a graph or a session itself, and not the namespace of a subgraph. */
export function isMain(space: string, ns: string | null): boolean {
  return !WITH_NAMESPACES.has(space) || ns === "" || ns === null;
}

/** Returns the namespace as the inspector shows it. Null: the contract has no namespaces. */
export function shownNs(space: string, ns: string | null): string | null {
  return WITH_NAMESPACES.has(space) || IN_NAMESPACES.has(space) ? (ns ?? "") : null;
}

export const readSpace = (space: unknown, what = "space"): Space => oneOf(...SPACES)(space, what);

export function readKey(ref: unknown): Key {
  if (typeof ref !== "object" || ref === null || isArray(ref)) {
    throw typeError(`a run must be an object such as { space: "langgraph", run: "thread-1" }, but is ${show(ref)}`);
  }
  const { space, run, ns = null } = ref as Partial<RunRef>;
  return { space: readSpace(space, "space"), run: requireId(run, "run"), ns: ns === null ? "" : requireId(ns, "ns") };
}

/** Returns the reference of a run, as answers have it. */
export function refOf({ space, run, ns }: { space: string; run: string; ns: string | null }): {
  space: Space;
  run: string;
  ns: string | null;
} {
  return { space: spaceOf(space), run, ns: shownNs(space, ns) };
}
