/** Recognizes the configs with which LangGraph calls a saver in a run. */

import type { Config } from "@langchain/langgraph-checkpoint";
import { readingArgument } from "../../bridge/errors.js";

/** Returns the thread of a config with which LangGraph begins a run of the graph itself. Undefined for other configs. */
export function beginsRun(config: Config): string | undefined {
  if (!isRun(config)) return undefined;
  return readingArgument("config.configurable", () => {
    const { thread_id: thread, checkpoint_ns: namespace, __pregel_task_id: task } = config.configurable ?? {};
    // A subgraph reads its own namespace, in the run of its thread.
    return typeof thread === "string" && (namespace ?? "") === "" && task === undefined ? thread : undefined;
  });
}

/** Returns true if LangGraph stores a run when it ends: the durability "exit". */
export function storesAtExit(config: Config): boolean {
  return readingArgument("config", () => {
    const { durability, checkpointDuring, configurable } = config as Config & Record<string, unknown>;
    if (durability !== undefined) return durability === "exit";
    if (typeof checkpointDuring === "boolean") return !checkpointDuring;
    return configurable?.["__pregel_durability"] === "exit";
  });
}

/** Returns true if LangGraph calls the saver in a run. Only a run's config has the function `interrupt`. */
export function isRun(config: Config | undefined): boolean {
  const { interrupt } = readingArgument("config", () => ({
    interrupt: (config as Record<string, unknown>)?.["interrupt"],
  }));
  return typeof interrupt === "function";
}
