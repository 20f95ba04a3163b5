/** The entry `forkpoint/inspect`: opens inspectors. */

import "../bridge/bundled.js";
import { ForkpointError, isArray, isOwnError, typeError } from "../bridge/errors.js";
import type { Context } from "./context.js";
import { type ModelPrices, readPrices } from "./conversation/cost.js";
import { type Inspector, StoreInspector } from "./inspector.js";
import type { NativeStore } from "../bridge/native.js";
import { flag, readRecord, whole } from "../store/options.js";
import { formatOf, type Serializer } from "../bridge/serializer.js";
import { Store, engineOf, openInBackground } from "../store/store.js";

/** Options of {@link openInspector}. */
export interface InspectorOptions {
  /** Your own serializers, to read the values that they wrote. */
  serializers?: Serializer[] | undefined;
  /** How long a call waits while another process holds the database, in ms. Default: 30,000. */
  busyTimeout?: number | undefined;
  /**
   * The size of the largest checkpoint, message or pending write to read, in bytes. A larger one rejects with
   * `UNSUPPORTED`. Default and minimum: 64 MiB. At most 900 MiB.
   */
  maxPayloadBytes?: number | undefined;
  /** Whether `fork`, `setLabels`, `remove`, `prune`, `migrate` and `vacuum` may write. Default: false. */
  write?: boolean | undefined;
  /** The price of a million tokens of each model. `usage()` computes costs from it. Default: no costs. */
  prices?: ModelPrices | undefined;
}

export { stepName } from "./step-name.js";
export { fromJsonForm, toJsonForm } from "../bridge/json-form/to-json-form.js";
export { parseJson, safeJson, safeText } from "../bridge/json-form/json-text.js";
export { formatPath, parsePath, valueAt, type PathStep } from "../bridge/json-form/path.js";

export { graphMermaid, graphOf, graphText } from "./graph.js";
export { timeOf, waterfallOf } from "./waterfall.js";

const inspectorOptions = {
  serializers: (value: unknown, name: string) => {
    if (!isArray(value)) throw typeError(`${name} must be a list of serializers`);
    return value.map((serializer) => formatOf(serializer as Serializer));
  },
  busyTimeout: whole(0, 2 ** 31 - 1, "milliseconds"),
  maxPayloadBytes: whole(1, 900 * 2 ** 20, "bytes"),
  write: flag,
  prices: readPrices,
};

/**
 * Opens a store to inspect it.
 *
 * Without `write`, nothing changes: no file is created, no table is created or upgraded, and the bytes of a database
 * stay the same. Other processes may write at the same time.
 *
 * @param target a target for {@link openStore}, or an open store, which stays open after `close()`.
 * @throws ForkpointError `NOT_FOUND` if there is no such database. TypeError for a wrong target or option.
 * @example
 * ```ts
 * import { openInspector } from "forkpoint/inspect";
 *
 * await using inspector = await openInspector("agent.db");
 * const { items } = await inspector.runs();
 * for (const { space, run, status } of items) console.log(space, run, status);
 * ```
 */
export async function openInspector(target: string | URL | Store, options?: InspectorOptions): Promise<Inspector> {
  const { serializers = [], write = false, prices, ...limits } = readRecord(options, "options", inspectorOptions);
  const isOpen = target instanceof Store;
  const store = isOpen ? target : opened(target, { ...limits, write });
  try {
    const engine = engineOf(store);
    await engine.ready;
    const formats = new Map([engine.format, ...serializers].map((format) => [format.name, format]));
    const shown = targetOf(engine.native, target);
    const context: Context = { store, engine, formats, target: shown, write, prices };
    return new StoreInspector(context, isOpen ? undefined : store);
  } catch (error) {
    if (!isOpen) await store.close();
    if (isOwnError(error)) Error.captureStackTrace(error, openInspector);
    throw error;
  }
}

/** Returns the target that the user gave, without a password. */
function targetOf({ backend, databasePath }: NativeStore, given: unknown): string {
  if (databasePath === null) return "memory:";
  if (backend === "jsonl") return `jsonl:${databasePath}`;
  if (backend !== "postgres" || typeof given !== "string" || !URL.canParse(given)) return databasePath;
  const url = new URL(given);
  url.password = "";
  url.searchParams.delete("password");
  return url.href;
}

/** Opens a store. Without `write`, the store must exist. */
function opened(
  target: string | URL,
  { busyTimeout, maxPayloadBytes, write }: Omit<InspectorOptions, "serializers" | "prices">,
): Store {
  const limits = {
    ...(busyTimeout !== undefined && { busyTimeoutMs: busyTimeout }),
    ...(maxPayloadBytes !== undefined && { maxPayloadBytes }),
  };
  try {
    return openInBackground(target, { ...limits, readOnly: write !== true });
  } catch (error) {
    // The folder of the file does not exist.
    if (write !== true && error instanceof ForkpointError && error.code === "UNAVAILABLE") {
      throw new ForkpointError("NOT_FOUND", error.message, { cause: error.cause });
    }
    throw error;
  }
}
export type { Finding, VerifyReport } from "../bridge/wire.js";
export type {
  Space,
  RunRef,
  CheckpointRef,
  Status,
  Size,
  RunInfo,
  CheckpointInfo,
  PartInfo,
  WriteInfo,
  CheckpointDetail,
  EffectRef,
  EffectInfo,
  EffectDetail,
  Change,
  Page,
  StoreInfo,
  SpaceStats,
  InspectedStats,
  SavedPerHour,
  Stranded,
  StrandedCount,
  VersionCount,
} from "../plugin/views.js";
export type { RunQuery } from "./run-filters.js";
export type { StoreEvent, WatchedEffect } from "./watch.js";
export type { DrainReport, DrainedRun } from "./drain.js";
export type { StopOptions } from "../store/stop.js";
export type { StopResult } from "../store/results.js";
export type { RunStop } from "../store/results.js";
export type { SearchHit, SearchOptions, SearchProgress, Snippet } from "./search-views.js";
export type { ForkEdit } from "./fork.js";
export type { Answer, AnsweredQuestion, Question, StoredAnswer } from "./questions/views.js";
export type {
  Conversation,
  ConversationMessage,
  ConversationQuery,
  MessagePart,
  TokenUsage,
  ToolResult,
} from "./conversation/message.js";
export type { ModelPrice, ModelPrices } from "./conversation/cost.js";
export type { ModelUsage, RunUsage, Usage } from "./conversation/usage-views.js";
export type { UsageOptions } from "./conversation/usage.js";
export type { Inspector } from "./inspector.js";
export type { GraphEdge, GraphNode, RunGraph } from "./graph.js";
export type { CourseProgram, ReadCourse, RunCourse } from "./steps.js";
export type { WaterfallRow } from "./waterfall.js";
