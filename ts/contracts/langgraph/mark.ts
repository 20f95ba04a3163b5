/**
 * Identifies the program that made a thread. LangGraph does not pass the graph's name to a saver. The name comes from
 * the saver's option `program`, from the graph that `recover` got, or from LangChain's `createAgent`.
 */

import type { Config } from "@langchain/langgraph-checkpoint";
import { readingArgument } from "../../bridge/errors.js";
import type { Identity } from "../../store/mark.js";
import type { ShapedGraph } from "./shape.js";

/** The graph that {@link recover} needs. `compile()` of a `StateGraph` and `entrypoint` return such graphs. */
export interface RecoverableThreads extends ShapedGraph {
  invoke(input: any, config?: any): Promise<unknown>;
  /** Makes a fork in a thread. An `entrypoint` cannot be forked. */
  updateState?(config: any, values: any): Promise<unknown>;
  /** The name given to `compile({ name })` or `entrypoint({ name })`. */
  name?: string | undefined;
  /** `recover` adds the identity of the graph, so that the graph's later runs are marked. */
  config?: { configurable?: Record<string, unknown> | undefined } | undefined;
  checkpointer?: unknown;
  interruptBefore?: readonly string[] | "*" | undefined;
  interruptAfter?: readonly string[] | "*" | undefined;
}

/** The key of the identity in `configurable`. A symbol appears in no JSON and no listing of keys. */
const IDENTITY = Symbol.for("forkpoint.identity");

const DEFAULT_NAME = "LangGraph";

/** Returns the name that the graph was given. */
export function nameOf({ name }: RecoverableThreads): string | undefined {
  return typeof name === "string" && name !== "" && name !== DEFAULT_NAME ? name : undefined;
}

/** Adds the identity to the graph's own config. LangGraph adds this config to the config of each later run. */
export function identify(graph: RecoverableThreads, identity: Identity): void {
  const { config } = graph;
  Reflect.set(graph, "config", { ...config, configurable: { ...config?.configurable, [IDENTITY]: identity } });
}

export function identityIn(config: Config): Identity {
  return readingArgument("config", () => {
    const { configurable, metadata } = config as {
      configurable?: Record<symbol, unknown>;
      metadata?: Record<string, unknown>;
    };
    const identity = configurable?.[IDENTITY];
    if (identity !== undefined) return identity as Identity;
    // LangChain's agents pass their name in the metadata.
    const agent = metadata?.["lc_agent_name"];
    return typeof agent === "string" && agent !== "" ? { program: agent } : {};
  });
}
