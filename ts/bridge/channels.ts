/**
 * Publishes the calls of the engine on channels of `node:diagnostics_channel`. An error of a subscriber does not affect
 * the call.
 */

import { channel, tracingChannel } from "node:diagnostics_channel";
import { isOwnError } from "./errors.js";
import type { ForkpointError } from "./forkpoint-error.js";

/**
 * The tracing channels. Each has the five channels of a `TracingChannel`: `tracing:forkpoint:save:start` and so on.
 *
 * - `forkpoint:open`: a store is opened.
 * - `forkpoint:save`: something is stored: checkpoints, writes, messages, values, forks.
 * - `forkpoint:read`: something is read or listed.
 * - `forkpoint:prune`: something is removed, or its space is given back.
 *
 * @example
 * ```ts
 * import { tracingChannel } from "node:diagnostics_channel";
 *
 * tracingChannel("forkpoint:save").asyncEnd.subscribe((message) => {
 *   const { operation, run, bytes, error } = message as CallContext;
 *   console.log(operation, run, bytes, error === undefined ? "stored" : "failed");
 * });
 * ```
 */
export type TracingChannelName = "forkpoint:open" | "forkpoint:save" | "forkpoint:read" | "forkpoint:prune";

/**
 * The plain channels for failures. Each publishes a {@link CallFailure}.
 *
 * - `forkpoint:busy`: a call failed with `BUSY`.
 * - `forkpoint:corrupt`: a call failed with `CORRUPT`.
 *
 * @example
 * ```ts
 * import { subscribe } from "node:diagnostics_channel";
 *
 * subscribe("forkpoint:corrupt", (message) => {
 *   const { operation, target, error } = message as CallFailure;
 *   console.error(operation, target, error.message);
 * });
 * ```
 */
export type FailureChannelName = "forkpoint:busy" | "forkpoint:corrupt";

/** The subject of a call. A field is null if the call has no such field, or if its value is unknown. */
export interface CallSubject {
  /**
   * The name of the call, such as `"save"`, `"put"` or `"latest"`: see docs/observability-reference.md. A method of a
   * store may make several calls.
   */
  operation: string;
  /** The framework, by the name that the inspector uses: see docs/inspect.md. */
  space: string | null;
  /** The id of the run, thread or session, or the key of a stored value. */
  run: string | null;
  /** The namespace. `""` is the graph itself. A list of names is JSON text. */
  ns: string | null;
  /** The id of the checkpoint. Null for an effect, because its key may hold personal data. */
  id: string | null;
  /** The path of the database file or folder, `"memory:"`, or the server, database and schema. Never a password. */
  target: string;
  backend: "sqlite" | "jsonl" | "postgres" | "memory";
}

/**
 * The context of a call on a {@link TracingChannelName}. All events of a call have the same object. It never contains a
 * stored value or a password.
 */
export interface CallContext extends CallSubject {
  /**
   * The size of the serialized values in bytes, before compression. For a read, the size of the result, from `asyncEnd`
   * on. Null if the call carries no values.
   */
  bytes: number | null;
  /**
   * From `asyncEnd` on. For a read, `"found"` or `"missing"`. For a listing, the number of its entries. For a removal,
   * the number of checkpoints, if the engine reports it. Otherwise undefined.
   */
  result?: "found" | "missing" | number | undefined;
  /**
   * From `asyncEnd` on, for a save: the stored size of its checkpoints in bytes, compressed and as deltas. Null if the
   * save has no checkpoints.
   */
  storedBytes?: number | null | undefined;
  /** From `asyncEnd` on, for a save: the time in the engine's queue, in ms. */
  queueMs?: number | undefined;
  /** From `asyncEnd` on, for a save: the time from the start of its commit until it was durable, in ms. */
  commitMs?: number | undefined;
  /** From `asyncEnd` on, for a save: the number of saves of this process in its commit. */
  batch?: number | undefined;
  /** The error of the call, from `error` on. */
  error?: unknown;
}

/** What a {@link FailureChannelName} publishes. */
export interface CallFailure extends CallSubject {
  error: ForkpointError;
}

export type Kind = TracingChannelName extends `forkpoint:${infer K}` ? K : never;

const tracing = <K extends Kind>(kind: K) => tracingChannel<unknown, CallContext>(`forkpoint:${kind}`);

export const channels: Record<Kind, ReturnType<typeof tracing>> = {
  open: tracing("open"),
  save: tracing("save"),
  read: tracing("read"),
  prune: tracing("prune"),
};

export const failures = {
  BUSY: channel("forkpoint:busy" satisfies FailureChannelName),
  CORRUPT: channel("forkpoint:corrupt" satisfies FailureChannelName),
};

/** Returns true if a channel of the call has a subscriber. `kind` is null for a call that publishes only failures. */
export function isWatched(kind: Kind | null): boolean {
  return failures.BUSY.hasSubscribers || failures.CORRUPT.hasSubscribers || (kind !== null && hasSubscribers(kind));
}

/** `TracingChannel.hasSubscribers`, which Bun lacks. */
function hasSubscribers(kind: Kind): boolean {
  const { start, end, asyncStart, asyncEnd, error } = channels[kind];
  return (
    start.hasSubscribers ||
    asyncEnd.hasSubscribers ||
    error.hasSubscribers ||
    end.hasSubscribers ||
    asyncStart.hasSubscribers
  );
}

export type Cost = Pick<CallContext, "storedBytes" | "queueMs" | "commitMs" | "batch">;

/** The fields that the context gets when a call has succeeded. */
export type Outcome = Cost & Partial<Pick<CallContext, "bytes" | "result">>;

/** Runs a call and publishes its events. Returns the promise that `run` returns. */
export function traced<T>(
  kind: Kind | null,
  context: CallContext,
  run: () => Promise<T>,
  outcomeOf: (value: T) => Outcome,
): Promise<T> {
  if (kind === null) {
    const promise = attempt(run);
    promise.catch((thrown: unknown) => tellFailure(thrown, context));
    return promise;
  }
  const { start, end, asyncStart, asyncEnd, error } = channels[kind];
  return start.runStores(context, () => {
    const promise = attempt(run);
    // The caller gets `promise` itself: it does not wait for these handlers, and does not get their errors.
    promise.then(
      (value) => {
        Object.assign(context, outcomeOf(value));
        asyncStart.publish(context);
        asyncEnd.publish(context);
      },
      (thrown: unknown) => {
        context.error = thrown;
        error.publish(context);
        tellFailure(thrown, context);
        asyncStart.publish(context);
        asyncEnd.publish(context);
      },
    );
    end.publish(context);
    return promise;
  });
}

/** Runs a call. If it throws synchronously, the promise rejects. */
function attempt<T>(run: () => Promise<T>): Promise<T> {
  try {
    return run();
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

/** The published errors. An error can reach `tellFailure` several times on its way to the caller. */
const published = new WeakSet<Error>();

/** Publishes an error with the code `BUSY` or `CORRUPT`. Ignores other errors. */
export function tellFailure(error: unknown, about: CallSubject): void {
  if (!isOwnError(error) || (error.code !== "BUSY" && error.code !== "CORRUPT")) return;
  const to = failures[error.code];
  if (!to.hasSubscribers || published.has(error)) return;
  published.add(error);
  const { operation, space, run, ns, id, target, backend } = about;
  to.publish({ operation, space, run, ns, id, target, backend, error } satisfies CallFailure);
}

/** Publishes a call that was refused before it reached the engine. */
export function tellRefusal(kind: Kind, about: CallSubject, error: unknown): void {
  if (!isWatched(kind)) return;
  const refused = traced(
    kind,
    { ...about, bytes: null },
    () => Promise.reject(error),
    () => ({}),
  );
  refused.catch(() => {});
}
