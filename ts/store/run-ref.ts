/** References to runs, as users give them. */

import { spacesWith, traitsOf } from "../contracts/registry.js";
import { quote, typeError } from "../bridge/errors.js";
import type { RunKey } from "../bridge/native.js";
import { requireId, requireIds } from "./ids.js";
import { anything, readRecord, shown } from "./options.js";

/**
 * A run, thread or session of a framework.
 * @example const run: RunRef = { space: "langgraph", run: "thread-1" };
 */
export interface RunRef {
  /** The framework, such as `"langgraph"`: see docs/inspect.md. */
  space: string;
  /** The id of the run, thread or session. */
  run: string;
  /**
   * The namespace of a subgraph, or another part of a run's name, such as a session's project or a workflow's name.
   * Default: the run itself. Some frameworks write it as a list, and many have none: see their guides.
   */
  ns?: string | readonly string[] | undefined;
}

/**
 * A run, thread or session of the store's own framework: its id, or its id with a namespace.
 * @example const run: RunName = "thread-1";
 */
export type RunName = string | Omit<RunRef, "space">;

/** Checks the name of a run of a contract. */
export function readRunName(name: unknown, space: string): RunKey {
  if (typeof name === "string") return readRun({ space, run: name }, space);
  if (typeof name !== "object" || name === null || "space" in name)
    throw typeError('run must be an id, or an object such as { run: "run-1", ns: "order" }');
  return readRun({ space, ...name }, space);
}

/** Checks a reference to a run. If `only` names a contract, the run must be one of this contract. */
export function readRun(ref: unknown, only?: string): RunKey {
  if (ref === undefined) throw typeError('run must be an object such as { space: "langgraph", run: "thread-1" }');
  const { space, run, ns } = readRecord(ref, "run", { space: anything, run: anything, ns: anything });
  const known = only === undefined ? spacesWith(({ leases = true }) => leases) : [only];
  if (typeof space !== "string" || !known.includes(space)) {
    throw typeError(`run.space must be ${known.map(quote).join(" or ")}, but is ${shown(space)}`);
  }
  const id = requireId(run, "run.run");
  if (id === "") throw typeError("run.run is empty: pass the id of a run");
  return { space, run: id, ns: namespaceOf(space, ns) };
}

function namespaceOf(space: string, ns: unknown): string {
  if (ns === undefined) return "";
  const { namespaces, namespaceForm } = traitsOf(space);
  if (namespaces === undefined) throw typeError(`run.ns must be left out, because ${space} has no namespaces`);
  if (namespaceForm !== "list") return requireId(ns, "run.ns");
  const names = requireIds(ns, "run.ns");
  return names.length === 0 ? "" : JSON.stringify(names);
}
