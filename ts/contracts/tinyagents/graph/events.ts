/** The events and the result of a run of a graph. */

import type { GraphInterrupt } from "./node.js";
import type { CheckpointSource, Namespace } from "../contract.js";

/** The end of a run. */
export interface GraphResult<S> {
  /** `"interrupted"`: tasks wait for answers. Continue with `resume()`. */
  status: "done" | "interrupted";
  /** The final state, or the state at the beginning of the interrupted superstep. */
  state: S;
  /** The unanswered questions. */
  interrupts: GraphInterrupt[];
  /** The id of the last stored checkpoint, or of the checkpoint that the run continued from. Null: there is none. */
  checkpointId: string | null;
  /** The number of supersteps of the thread. */
  step: number;
  threadId: string;
  runId: string;
  namespace: Namespace;
}

/** An event of a run. The events of subgraphs have their namespace. */
export type GraphEvent<S> = { runId: string; threadId: string; namespace: Namespace } & (
  | { type: "run.start"; kind: "invoke" | "resume" | "update" }
  | { type: "superstep.start"; step: number; tasks: Array<{ node: string; taskId: string }> }
  | {
      type: "task";
      node: string;
      taskId: string;
      status: "start" | "retry" | "done" | "interrupted" | "error";
      /** The task's update (`"done"`). */
      update?: unknown;
      /** The task's questions (`"interrupted"`). */
      interrupts?: GraphInterrupt[];
      /** The error that the node threw (`"retry"`, `"error"`). */
      error?: unknown;
      /** The attempt that failed, counted from 0 (`"retry"`). */
      attempt?: number;
      /** The wait before the next attempt, in ms (`"retry"`). */
      delayMs?: number;
    }
  /** A boundary was reached. */
  | { type: "state"; step: number; source: CheckpointSource; state: S; nextNodes: string[] }
  | { type: "checkpoint.saved"; checkpointId: string; step: number; source: CheckpointSource }
  | { type: "run.complete" | "run.interrupted"; result: GraphResult<S> }
  | { type: "run.error"; error: unknown }
);
