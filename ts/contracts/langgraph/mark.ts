/**
 * Whose a thread is. LangGraph does not tell a saver which graph runs. The name comes from the saver's option `program`, from the
 * graph that `recover` got, or from LangChain's `createAgent`.
 */

import type { Config } from "@langchain/langgraph-checkpoint";
import { readingArgument } from "../../bridge/errors.js";
import { type Identity, shapeOf } from "../../store/mark.js";

/** What {@link recover} needs of a graph: `compile()` of a `StateGraph` and `entrypoint` return such graphs. */
export interface RecoverableThreads {
  invoke(input: any, config?: any): Promise<unknown>;
  /** The name that `compile({ name })` or `entrypoint({ name })` got. */
  name?: string | undefined;
  nodes: object;
  channels?: object | undefined;
  /** `recover` adds the identity of the graph, so that the graph's later runs are marked. */
  config?: { configurable?: Record<string, unknown> | undefined } | undefined;
  checkpointer?: unknown;
  interruptBefore?: readonly string[] | "*" | undefined;
  interruptAfter?: readonly string[] | "*" | undefined;
}

/** The key of the identity in `configurable`. A symbol is in no JSON and no listing of keys. */
const IDENTITY = Symbol.for("forkpoint.identity");

const DEFAULT_NAME = "LangGraph";

export function identityOf({ name, nodes, channels }: RecoverableThreads): Identity {
  if (typeof name === "string" && name !== "" && name !== DEFAULT_NAME) return { program: name };
  return { shape: shapeOf(Object.keys(nodes), Object.keys(channels ?? {})) };
}

/** Lets all later runs of the graph say which graph they are of. The graph's own config is added to the config of each run. */
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
    // The agents of LangChain tell their name.
    const agent = metadata?.["lc_agent_name"];
    return typeof agent === "string" && agent !== "" ? { program: agent } : {};
  });
}

/** Returns the first of the names that the graph's nodes do not have. LangGraph's own names begin with two underscores. */
export function missingOf(own: object, names: string[]): string | undefined {
  return names.find((name) => !name.startsWith("__") && !Object.hasOwn(own, name));
}
