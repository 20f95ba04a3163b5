/**
 * Marks: what a checkpoint says about its maker. LangGraph does not tell a saver which graph runs. The name comes from the
 * saver's option `program`, from the graph that `recover` got, or from LangChain's `createAgent`.
 */

import type { Config } from "@langchain/langgraph-checkpoint";
import { createHash } from "node:crypto";
import type { RecoverableThreads } from "../../langgraph.js";
import { readingArgument } from "../errors.js";

/** Who made a checkpoint. A checkpoint of an earlier release has no mark. */
export interface Mark {
  /** The name of the program. */
  program?: string;
  /** The shape of a graph without a name. */
  shape?: string;
  /** The process that ran the thread without a lease: see `processStamp`. */
  by?: string | undefined;
  /** True if the command line or the studio made the checkpoint. */
  branch?: true;
}

/** What a run of a graph says about the graph. */
export type Identity = Pick<Mark, "program" | "shape">;

/** The key of the identity in `configurable`. A symbol is in no JSON and no listing of keys. */
const IDENTITY = Symbol.for("forkpoint.identity");

/** The name of a graph that was given none. */
const DEFAULT_NAME = "LangGraph";

export function encodeMark(mark: Mark): string | undefined {
  const text = JSON.stringify(mark);
  return text === "{}" ? undefined : text;
}

/** Reads a mark. A mark that cannot be read says nothing. */
export function decodeMark(text: string | undefined): Mark {
  try {
    const mark: unknown = JSON.parse(text ?? "{}");
    return typeof mark === "object" && mark !== null ? mark : {};
  } catch {
    return {};
  }
}

/** Returns the identity of a graph: its name or, without one, its shape. */
export function identityOf(graph: RecoverableThreads): Identity {
  const { name, nodes, channels } = graph;
  if (typeof name === "string" && name !== "" && name !== DEFAULT_NAME) return { program: name };
  const shape = JSON.stringify([Object.keys(nodes).toSorted(), Object.keys(channels ?? {}).toSorted()]);
  return { shape: createHash("sha256").update(shape).digest("base64url").slice(0, 12) };
}

/** Lets all later runs of the graph say which graph they are of. The graph's own config is added to the config of each run. */
export function identify(graph: RecoverableThreads, identity: Identity): void {
  const { config } = graph;
  Reflect.set(graph, "config", { ...config, configurable: { ...config?.configurable, [IDENTITY]: identity } });
}

/** Returns what the config of a run says about its graph. */
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
