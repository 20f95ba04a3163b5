/**
 * Tells the channels of `node:diagnostics_channel` about calls of the engine: see `channels.d.ts`. What a subscriber does
 * or throws changes nothing for the call.
 */

import { channel, tracingChannel } from "node:diagnostics_channel";
import type { CallContext, CallFailure, CallSubject, FailureChannelName, TracingChannelName } from "../../index.js";
import { isOwnError } from "./errors.js";

/** The tracing channel of a call. */
export type Kind = TracingChannelName extends `forkpoint:${infer K}` ? K : never;

const tracing = <K extends Kind>(kind: K) => tracingChannel<unknown, CallContext>(`forkpoint:${kind}`);

/** The tracing channels. */
export const channels: Record<Kind, ReturnType<typeof tracing>> = {
  open: tracing("open"),
  save: tracing("save"),
  read: tracing("read"),
  prune: tracing("prune"),
};

/** The channels of failures, by the code of the error. */
export const failures = {
  BUSY: channel("forkpoint:busy" satisfies FailureChannelName),
  CORRUPT: channel("forkpoint:corrupt" satisfies FailureChannelName),
};

/** Returns true if somebody would hear of a call. `kind` is null for a call of which only failures are told. */
export function isWatched(kind: Kind | null): boolean {
  return failures.BUSY.hasSubscribers || failures.CORRUPT.hasSubscribers || (kind !== null && hasSubscribers(kind));
}

/** `TracingChannel.hasSubscribers`, which Bun does not have. */
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

/** What a save has cost. */
export type Cost = Pick<CallContext, "storedBytes" | "queueMs" | "commitMs" | "batch">;

/** What is known of a call when it has succeeded. */
export type Outcome = Cost & Partial<Pick<CallContext, "bytes" | "result">>;

/** Runs a call and tells the channels about it. The promise is the one that `run` returns. */
export function told<T>(
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
    // The caller does not wait for these two functions, and gets no error of theirs.
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

/** Runs a call. If it throws at once, the promise rejects. */
function attempt<T>(run: () => Promise<T>): Promise<T> {
  try {
    return run();
  } catch (thrown) {
    return Promise.reject(thrown);
  }
}

/** The failures that were told already: an error passes several places on its way to the caller. */
const known = new WeakSet<Error>();

/** Tells that something failed because the store is busy or damaged. Does nothing for other errors. */
export function tellFailure(error: unknown, about: CallSubject): void {
  if (!isOwnError(error) || (error.code !== "BUSY" && error.code !== "CORRUPT")) return;
  const to = failures[error.code];
  if (!to.hasSubscribers || known.has(error)) return;
  known.add(error);
  const { operation, space, run, ns, id, target, backend } = about;
  to.publish({ operation, space, run, ns, id, target, backend, error } satisfies CallFailure);
}

/** Tells of a call that was refused before it reached the engine. */
export function tellRefusal(kind: Kind, about: CallSubject, error: unknown): void {
  if (!isWatched(kind)) return;
  const refused = told(
    kind,
    { ...about, bytes: null },
    () => Promise.reject(error),
    () => ({}),
  );
  refused.catch(() => {});
}
