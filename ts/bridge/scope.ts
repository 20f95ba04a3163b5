/**
 * The leases that calls carry without being told. Calls in a scope carry the lease of the scope's run: see
 * `ts/store/scope.ts`. Other calls of the process carry a lease that the process has taken without a scope.
 */

import { AsyncLocalStorage, AsyncResource } from "node:async_hooks";
import type { Fence, NativeStore } from "./binding.js";
import { RunMap } from "./run-map.js";

/** The run that a call concerns. A field is undefined or null if it is unknown. */
export type Subject = { [K in "space" | "run" | "ns" | "id"]?: string | null | undefined };

export interface Scope {
  readonly fence: Fence;
  /** The handle of the store with which the scope was opened. */
  readonly handle: object;
  /** True if `recover` works on the run. */
  readonly recovers: boolean;
  /** True if the function has ended. What it still does is refused, unless it was begun before. */
  readonly isOver: boolean;
  /** The scope around this one. */
  readonly outer: Scope | undefined;
  /** Returns true if the scope owns the run of a call. */
  owns(native: NativeStore, of: Subject): boolean;
  /** The saves and effects in progress. The scope ends after them, so that they are stored under its lease. */
  readonly activity: { begin(): void; end(): void };
  /** Throws the reason if the scope was stopped: no effect may begin any more. */
  throwIfStopped(): void;
}

/** Undefined until the first scope begins, so that other programs pay nothing. */
let scopes: AsyncLocalStorage<Scope> | undefined;

/** Runs a function in a scope. Everything that it awaits or starts is in the scope too. */
export function within<T>(scope: Scope, work: () => T): T {
  scopes ??= new AsyncLocalStorage();
  return scopes.run(scope, work);
}

/** Binds a function to the current scope. A later call runs it in this scope. */
export function inThisScope<T>(work: () => T): () => T {
  return scopes === undefined ? work : AsyncResource.bind(work);
}

/** The innermost scope of the caller. */
export const currentScope = (): Scope | undefined => scopes?.getStore();

/** Returns the innermost scope of the caller that owns a run. */
export function scopeOf(native: NativeStore, of: Subject): Scope | undefined {
  let scope = scopes?.getStore();
  while (scope !== undefined && !scope.owns(native, of)) scope = scope.outer;
  return scope;
}

/** The leases that this process has taken without a scope. */
export const ofProcess = new RunMap<Fence>();

/** Returns the lease that a call on a run carries. */
export function fenceOf(native: NativeStore, of: () => Subject): Fence | undefined {
  if (scopes?.getStore() === undefined && ofProcess.isEmpty) return undefined;
  const subject = of();
  const scope = scopeOf(native, subject);
  const { space, run, ns } = subject;
  if (scope !== undefined || ofProcess.isEmpty || !space || !run) return scope?.fence;
  return (ns && ofProcess.get(native, { space, run, ns })) || ofProcess.get(native, { space, run, ns: "" });
}
