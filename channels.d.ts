/** What the channels of `node:diagnostics_channel` publish. See docs/observability.md. */

import type { ForkpointError } from "./errors.js";

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

/** What a call is about. Null: the call has no such thing, or it is not known. */
export interface CallSubject {
  /**
   * The name of the call, such as `"save"`, `"put"` or `"latest"`: see docs/observability.md. A method of a store may
   * make several calls.
   */
  operation: string;
  /** The contract: `"agentos"`, `"agentium"`, `"storage"`, `"langgraph"`, `"tinyagents"` or `"helix"`. */
  space: string | null;
  /** The id of the run, thread or session. For `"storage"`: the key. */
  run: string | null;
  /** The namespace. LangGraph, TinyAgents: `""` is the graph itself. TinyAgents: the others as JSON. */
  ns: string | null;
  /** The id of the checkpoint. */
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
   * The serialised size of what is saved, in bytes, as handed to the engine. For a read: of what was found, from
   * `asyncEnd` on. Null: the call carries no values.
   */
  bytes: number | null;
  /**
   * From `asyncEnd` on. A read: `"found"` or `"missing"`, or for a listing the number of its entries. A removal: the
   * number of checkpoints, where the engine tells it. Otherwise undefined.
   */
  result?: "found" | "missing" | number | undefined;
  /**
   * From `asyncEnd` on, for a save: the size of its checkpoints in the database, in bytes, after they were compressed and
   * reduced to their changes. Null: it has no checkpoints.
   */
  storedBytes?: number | null | undefined;
  /** From `asyncEnd` on, for a save: the time that it waited in the queue of the engine, in ms. */
  queueMs?: number | undefined;
  /** From `asyncEnd` on, for a save: the time from the begin of its commit until it was durable, in ms. */
  commitMs?: number | undefined;
  /** From `asyncEnd` on, for a save: how many saves of this process were in its commit. */
  batch?: number | undefined;
  /** The error of the call, from `error` on. */
  error?: unknown;
}

/** What a {@link FailureChannelName} publishes. */
export interface CallFailure extends CallSubject {
  error: ForkpointError;
}
