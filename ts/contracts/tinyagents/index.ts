/** The entry `forkpoint/tinyagents`. */

import "../../bridge/bundled.js";
export { DrainController, RunDrainedError } from "../shared/drain.js";
export {
  Checkpointer,
  type ThreadListOptions,
  type CheckpointerOptions,
  type CheckpointerStats,
} from "./checkpointer.js";
export { Command, END, START, Send, type Goto, type CommandFields } from "./command.js";
export { ERROR, INTERRUPT, RESUME } from "./contract.js";
export { Graph, type GraphConfig, type SubgraphNode } from "./graph/graph.js";
export { describe } from "./describe.js";
export type { ProgramDescription } from "../../store/description.js";
export type * from "./contract.js";
export type { ThreadPruneOptions } from "./threads.js";
export type { GraphThreadsPage } from "./thread-list.js";
export type { Durability } from "./graph/wire.js";
export type { EdgeTarget, Edge } from "./graph/definition.js";
export type { GraphCheckpointer } from "./graph/recorder.js";
export type { GraphRunOptions } from "./graph/plan.js";
export type { GraphResult, GraphEvent } from "./graph/events.js";
export type { TaskSnapshot, StateSnapshot, HistoryOptions } from "./graph/inspection.js";
export type { MaybePromise } from "../../bridge/maybe-promise.js";
export type {
  GraphInterrupt,
  NodeContext,
  NodeFunction,
  NodePolicies,
  NodeOptions,
  MemoryConsistency,
  MemorySnapshot,
  MemoryHooks,
} from "./graph/node.js";
export type { ContextOnce } from "../shared/once.js";
