/**
 * Declares the messages between a run of a graph and its state machine in the engine. See
 * `engine/src/contract/tinyagents/graph/protocol.rs`.
 */

/**
 * When a graph stores its checkpoints. The store's own `durability` says what a stored checkpoint survives: see
 * `StoreOptions`.
 *
 * - `"sync"`: before the next superstep begins.
 * - `"async"`: in order, while the next supersteps run. If a write fails, nothing more is stored, and the run rejects at
 *   its next boundary. The run waits for the last write before it returns.
 * - `"exit"`: when the run ends, except by a crash: only the last checkpoint, and what is known about its tasks.
 */
export type Durability = "sync" | "async" | "exit";

/** A node to run. `arg` is the number of the argument that was sent to it. */
export interface Target {
  node: number;
  arg: number | undefined;
}

/** Describes a run of a graph to the engine. A source of null is the start of the graph. */
export interface GraphTool {
  run: {
    graph: {
      nodes: Array<{
        name: string;
        effect: string | undefined;
        checkpoint: string | undefined;
        retry: { maxRetries: number; backoffMs: number };
        memory: string;
      }>;
      edges: Array<{ from: number | null; to: number }>;
      barriers: Array<{ from: number[]; to: number }>;
      conditional: Array<number | null>;
      checkpoint: string;
      maxSupersteps: number;
    };
    options: { mode: GraphMode; durability: Durability; persist: boolean; prefix: string };
  };
}

export type GraphMode =
  | { kind: "input" }
  | { kind: "continue"; from: string | undefined; update: boolean; goto: Target[]; answers: Answers }
  | { kind: "update"; asNode: number | undefined };

/** The interrupted tasks that get the command's answer. */
export type Answers = "none" | "all" | { tasks: string[] };

export interface StoredTask {
  node: string;
  task: string;
  arg: number | undefined;
  done: Target[] | undefined;
  interrupts: number;
  answers: number;
}

export interface Base {
  id: string;
  step: number;
  latest: boolean;
  tasks: StoredTask[];
  arrivals: Array<{ node: string; arrived: string[] }>;
}

export type GraphEvent =
  | { event: "started" | "broke" | "drainRequested" | "aborted" }
  | { event: "loaded"; base: Base | null }
  | { event: "made"; routes: Target[][] }
  | { event: "ran"; task: number; attempt: number; goto: Target[] }
  | { event: "interrupted" | "stopped" | "threw" | "waited"; task: number; attempt: number }
  | { event: "written" | "writeFailed"; write: number };

/** Everything that a checkpoint holds except the state. */
export interface Boundary {
  id: string;
  step: number;
  /** Null if this is the loaded checkpoint itself. */
  origin: "input" | "loop" | "update" | "fork" | null;
  tasks: Array<{ node: number; task: string; arg: number | null; from: number | null; done: boolean }>;
  completed: string[];
  arrivals: Array<{ node: string; arrived: string[] }>;
  memory: "live" | "snapshot" | "journaled";
}

export type GraphCommand =
  | { command: "load"; id: string | null }
  | { command: "enter" | "commit"; routes: Array<number | null> }
  | { command: "boundary"; boundary: Boundary }
  | { command: "answer"; tasks: number[] }
  | { command: "begin"; step: number }
  | { command: "run"; task: number; attempt: number }
  | { command: "wait"; task: number; attempt: number; ms: number }
  | { command: "put"; write: number; id: string; parent: string | null }
  | { command: "record"; write: number; id: string; tasks: number[] }
  | { command: "drop"; id: string }
  | { command: "cancel" | "finish" }
  | { command: "suspend"; tasks: number[] }
  | { command: "fail"; why: GraphWhy };

/** The reason why a run ended without a result. */
export type GraphWhy =
  | { reason: "notFound" | "host" | "drained" | "aborted" }
  | { reason: "mismatch"; message: string }
  | { reason: "task"; task: number }
  | { reason: "limit"; supersteps: number };
