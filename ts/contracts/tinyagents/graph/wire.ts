/**
 * Declares the messages between a run of a graph and its state machine in the engine. See
 * `engine/src/contract/tinyagents/graph/protocol.rs`.
 */

import type * as engine from "../../../bridge/calls.generated.js";

/**
 * When a graph stores its checkpoints. The store's own `durability` decides which failures a stored checkpoint
 * survives: see `StoreOptions`.
 *
 * - `"sync"`: before the next superstep begins.
 * - `"async"`: in order, while the next supersteps run. If a write fails, later ones are not stored, and the run
 *   rejects at its next boundary. The run waits for the last write before it returns.
 * - `"exit"`: at the run's end, but not in a crash: only the last checkpoint, and the known results of its tasks.
 */
export type Durability = "sync" | "async" | "exit";

/** The parameters of a run for the engine. A source of null is the start of the graph. */
export type GraphTool = engine.tinyagents.tool.Which;
export type GraphMode = engine.tinyagents.tool.Mode;
/** A node to run. `arg` is the number of its argument from a Send. */
export type Target = engine.tinyagents.tool.Target;
export type GraphEvent = engine.tinyagents.tool.Event;
/** Everything that a checkpoint holds except the state. */
export type Boundary = engine.tinyagents.tool.Boundary;
export type GraphCommand = engine.tinyagents.tool.Command;
/** The reason why a run ended without a result. */
export type GraphWhy = engine.tinyagents.tool.Reason;
