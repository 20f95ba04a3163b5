/** Declares the engine's calls for AgentOS. See `enum Call` in `engine/src/contract/agentos/call.rs`. */

import type { CallsOf } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import type { RunStatus } from "../shared/recover-options.js";
import { Contract, type Exact, type Unpack, type PackedPart, type Part } from "../../bridge/wire.js";
import type { CheckpointMetadata } from "./contract.js";

/** A checkpoint, not yet deserialized. */
export interface Found<P = Part> extends CheckpointMetadata {
  status: RunStatus;
  /** The incarnation of the run. Missing if the checkpoint was found by its id. */
  incarnation?: Exact;
  /** The mark of the program that made the checkpoint: see `ts/store/mark.ts`. Missing if there is none. */
  mark?: string;
  parts: P[];
}

export const openFound: Unpack<Found<PackedPart>, Found> = (found, part) => ({
  ...found,
  parts: found.parts.map(part),
});

export interface FoundRun {
  cursor: string;
  checkpoints: number;
  latest: CheckpointMetadata;
  status: RunStatus;
  forkedFrom: string | null;
  /** The mark of the newest checkpoint: see `ts/store/mark.ts`. Missing if it has none. */
  mark?: string;
}

/**
 * A listing in columns, which parses twice as fast as one object per row. A column is an array of `count` values, or a
 * single value that all rows share.
 */
type Columns = { count: number } & {
  [K in keyof CheckpointMetadata]: CheckpointMetadata[K] | Array<CheckpointMetadata[K]>;
};

export function rowsOf({ count, ...columns }: Columns): CheckpointMetadata[] {
  const each = <T>(column: T | T[]): T[] => (Array.isArray(column) ? column : Array<T>(count).fill(column));
  const runId = each(columns.runId);
  const graphId = each(columns.graphId);
  const nodeId = each(columns.nodeId);
  const timestamp = each(columns.timestamp);
  const stateSize = each(columns.stateSize);
  const hasMemorySnapshot = each(columns.hasMemorySnapshot);
  return each(columns.id).map((id, row) => ({
    id,
    runId: runId[row]!,
    graphId: graphId[row]!,
    nodeId: nodeId[row]!,
    timestamp: timestamp[row]!,
    stateSize: stateSize[row]!,
    hasMemorySnapshot: hasMemorySnapshot[row]!,
  }));
}

type AgentosCalls = CallsOf<
  engine.agentos.Call,
  {
    save: null;
    fork: null;
    delete: null;
    clear: null;
    get: Found<PackedPart> | null;
    load: Found<PackedPart> | null;
    list: Columns;
    forks: FoundRun[];
    runs: FoundRun[];
  }
>;

export const agentos = new Contract<AgentosCalls>("agentos", {
  kinds: { save: "save", fork: "save", delete: "prune", clear: "prune" },
  subject: ({ runId, id, checkpointId }) => ({ run: runId, id: id ?? checkpointId }),
  counts: { list: ({ count }) => count },
});
