/**
 * Declares the engine's calls for Agentium's checkpoints and for its storage driver, and the messages between a run and
 * its state machine in the engine. See `engine/src/contract/agentium/`.
 */

import type { CallsOf } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Contract, type Exact, type Unpack, type PackedPart, type Part } from "../../bridge/wire.js";
import type { StepRef } from "./checkpoint.js";
import type { CheckpointSummary, StepResult } from "./contract.js";
import type { RunStatus } from "../shared/recover-options.js";

export interface Found<P = Part> {
  id: string;
  runId: string;
  /** The hash of the shape of the workflow that stored the checkpoint. Null: not known. */
  shape: string | null;
  saved: SaveRef;
  /** The incarnation of the run. Missing if the checkpoint was found by its id. */
  incarnation?: Exact;
  parts: P[];
}

/** Names a save. Ids come again when a run begins again, and the stamp does not. */
export interface SaveRef {
  stepIndex: number;
  createdAt: number;
  /** A random number. Null: the writer gave none. */
  stamp: number | null;
}

type AgentiumCalls = CallsOf<
  engine.agentium.Call,
  {
    save: null;
    delete: null;
    clear: null;
    load: Found<PackedPart> | null;
    latest: Found<PackedPart> | null;
    list: Array<Found<PackedPart>>;
    timeline: CheckpointSummary[];
    runs: Array<{
      cursor: string;
      runId: string;
      checkpoints: number;
      latest: CheckpointSummary;
      status: RunStatus;
      shape: string | null;
    }>;
  }
>;

export const agentium = new Contract<AgentiumCalls>("agentium", {
  kinds: { save: "save", delete: "prune", clear: "prune" },
  subject: ({ runId, id, checkpointId }) => ({ run: runId, id: id ?? checkpointId }),
});

export const openFound: Unpack<Found<PackedPart>, Found> = (found, part) => ({
  ...found,
  parts: found.parts.map(part),
});

export interface FoundValue<P = Part> {
  key: string;
  parts: P[];
}

type StorageCalls = CallsOf<
  engine.storage.Call,
  {
    set: null;
    delete: null;
    get: FoundValue<PackedPart> | null;
    list: Array<FoundValue<PackedPart>>;
  }
>;

export const storage = new Contract<StorageCalls>("storage", {
  kinds: { set: "save", delete: "prune" },
  subject: ({ namespace, key }) => ({ run: key, ns: namespace }),
});

export const openValue: Unpack<FoundValue<PackedPart>, FoundValue> = ({ key, parts }, part) => ({
  key,
  parts: parts.map(part),
});

interface Retry {
  maxRetries: number;
  backoffMs: number;
}

export interface RunTool {
  run: {
    /** All steps. A parent comes before its nested steps. `parent` is the index of the parent in this list. */
    steps: Array<{
      name: string;
      kind: "task" | "condition" | "parallel";
      parent: number | undefined;
      /** The step's own retry rule. Undefined: `retry`. */
      retry: Retry | undefined;
    }>;
    retry: Retry;
    options: {
      runId: string;
      mode: Mode;
      /** True if the run resumes at the checkpoint's step index even if the step's name has changed. */
      force: boolean;
      onError: "fail" | "continue" | "ask";
    };
  };
}

export type Mode =
  | { kind: "plain" | "fresh" | "resume" }
  | { kind: "replay"; from: string }
  | { kind: "branch"; from: string; mutate: boolean };

export type RunEvent =
  | { event: "started" | "mutated" | "stored" | "broke" | "drainRequested" | "aborted" }
  | { event: "loaded"; base: Omit<StepRef, "createdAt"> | null }
  | { event: "ran" | "threw"; step: number; attempt: number }
  | { event: "evaluated"; step: number; attempt: number; holds: boolean }
  | { event: "waited" | "merged" | "conflicted"; step: number }
  | { event: "decided"; step: number; goOn: boolean };

export type Command =
  | { command: "load"; id: string | null }
  | { command: "mutate" | "cancel" }
  | { command: "store"; id: string; stepIndex: number; stepName: string; slot: number; rewind: boolean }
  | { command: "keep" | "finish"; slot: number }
  | { command: "began" | "ask"; step: number }
  | { command: "run" | "evaluate"; step: number; attempt: number; slot: number }
  | { command: "wait"; step: number; attempt: number; ms: number }
  | { command: "merge"; step: number; base: number; branches: number[] }
  | { command: "ended"; step: number; how: StepResult["status"] }
  | { command: "fail"; why: Why };

/** The reason why a run ended without a result. */
export type Why =
  | { reason: "notFound"; id: string }
  | { reason: "mismatch"; message: string }
  | { reason: "step"; step: number }
  | { reason: "host" | "drained" | "aborted" };
