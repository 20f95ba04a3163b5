/** Reads LangGraph's configs: thread, namespace and checkpoint id. */

import type { Config } from "@langchain/langgraph-checkpoint";
import { ForkpointError, readingArgument } from "../../bridge/errors.js";
import { requireId, splitLineage, text } from "../../store/ids.js";
import { flag } from "../../store/options.js";

export interface CheckpointRef {
  threadId: string;
  namespace: string;
  id: string;
}

function configured(config: Config | undefined, key: string): unknown {
  return readingArgument(`config.configurable.${key}`, () => config?.configurable?.[key] as unknown);
}

/** Reads the thread's id or the namespace from a config. Returns undefined if it is missing. */
export function nameInConfig(config: Config | undefined, key: "thread_id" | "checkpoint_ns"): string | undefined {
  const value = configured(config, key);
  return value === undefined || value === null ? undefined : text(value, key);
}

/** Reads the checkpoint id from a config, from its current or its older key. */
export function idInConfig(config: Config | undefined): string | undefined {
  const id = configured(config, "checkpoint_id") || configured(config, "thread_ts") || "";
  return id === "" ? undefined : text(id, "checkpoint_id");
}

/** Reads the thread and the namespace to write to. Throws if the config has no thread. */
export function requireThread(config: Config, what: string): { threadId: string; namespace: string } {
  const threadId = configured(config, "thread_id");
  if (threadId === undefined || threadId === null) {
    throw new ForkpointError(
      "INVALID_ARGUMENT",
      `${what} needs a thread_id in config.configurable, the id of the thread: ` +
        'for example graph.invoke(input, { configurable: { thread_id: "thread-1" } })',
    );
  }
  const namespace = nameInConfig(config, "checkpoint_ns") ?? "";
  return { threadId: requireId(threadId, "thread_id"), namespace: requireId(namespace, "checkpoint_ns") };
}

/**
 * Reads `expected_parent` from a config. True means that the new checkpoint must be the only child of its parent.
 * Returns undefined if the config does not set it.
 */
export function onlyChild(config: Config): boolean | undefined {
  const value = configured(config, "expected_parent");
  return value === undefined || value === null ? undefined : flag(value, "expected_parent");
}

/** Reads `force` from a config. True means that the call may write to a thread of another program. */
export function forced(config: Config): boolean {
  const value = configured(config, "force");
  return value !== undefined && value !== null && flag(value, "force");
}

/** Reads from a subgraph's config the checkpoint of the graph that called the subgraph. Undefined: there is none. */
export function rootIn(config: Config): string | undefined {
  const map = configured(config, "checkpoint_map") as Record<string, unknown> | null | undefined;
  const root = readingArgument("config.configurable.checkpoint_map", () => map?.[""]);
  return typeof root === "string" && root.isWellFormed() ? root : undefined;
}

/** Makes the config of a checkpoint, with exactly three keys: the thread, the namespace and the id. */
export function configOf({ threadId, namespace, id }: CheckpointRef): Config {
  return { configurable: { thread_id: threadId, checkpoint_ns: namespace, checkpoint_id: id } };
}

export function lineageOf(name: string): { threadId: string; checkpointNs: string } {
  const { threadId, namespace: checkpointNs } = splitLineage(name);
  return { threadId, checkpointNs };
}
