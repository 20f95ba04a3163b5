/**
 * Declares the engine's calls for Agentium's checkpoints and for its storage driver, and the messages between a run and
 * its state machine in the engine. See `engine/src/contract/agentium/`.
 */

import type { CallsOf } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Contract, type Exact, type Unpack, type PackedPart, type Part } from "../../bridge/wire.js";
import type { CheckpointSummary } from "./contract.js";
import type { RunStatus } from "../shared/recover-options.js";

export interface Found<P = Part> {
  id: string;
  runId: string;
  /** The hash of the shape of the workflow that stored the checkpoint. Null: unknown. */
  shape: string | null;
  saved: SaveRef;
  /** The incarnation of the run. Missing if the checkpoint was found by its id. */
  incarnation?: Exact;
  parts: P[];
}

/** Names a save. A restarted run uses its ids again, but never a stamp. */
export interface SaveRef {
  stepIndex: number;
  createdAt: number;
  /** A random number. Null: the writer set none. */
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

/** The parameters of a run for the engine. */
export type RunTool = engine.agentium.tool.Which;
export type Mode = engine.agentium.tool.Mode;
export type RunEvent = engine.agentium.tool.Event;
export type Command = engine.agentium.tool.Command;
/** The reason why a run ended without a result. */
export type Why = engine.agentium.tool.Reason;
