/** Declares the engine's calls for AgentOS. See `enum Call` in `engine/src/contract/agentos/call.rs`. */

import type { RunStatus } from "../shared/recover-options.js";
import { Contract, type Exact, type Unpack, type PackedPart, type Part } from "../../bridge/wire.js";
import type { CheckpointMetadata } from "./contract.js";

/** A checkpoint, not yet deserialized. */
export interface Found<P = Part> extends CheckpointMetadata {
  status: RunStatus;
  /** The incarnation of the run. Missing if the checkpoint was found by its id. */
  incarnation?: Exact;
  /** Who made the checkpoint: see `ts/store/mark.ts`. Missing if it has no mark. */
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

interface AgentosCalls {
  /** Takes two buffers: the state, and the rest of the checkpoint. */
  save(
    fields: Omit<CheckpointMetadata, "stateSize"> & {
      status: RunStatus;
      expectedNewest: string | undefined;
      known?: boolean;
      /** If given, the run must have this incarnation. */
      incarnation?: Exact | undefined;
      parent: string | undefined;
      mark: string | undefined;
      savedAt: number;
      stateTag: string;
      restTag: string;
    },
  ): null;
  /** Forks a checkpoint. `id` and `runId` are the ids of the copy. */
  fork(fields: { checkpointId: string; id: string; runId: string; timestamp: number; savedAt: number }): null;
  delete(fields: { checkpointId: string }): null;
  clear(fields: { runId: string }): null;
  get(fields: { checkpointId: string }): Found<PackedPart> | null;
  load(fields: { runId: string; nodeId: string | undefined }): Found<PackedPart> | null;
  /** Lists checkpoints by graph, by run or by both. One of `graphId` and `runId` may be undefined. */
  list(fields: { graphId: string | undefined; runId: string | undefined; limit: number | undefined }): Columns;
  forks(fields: { runId: string }): FoundRun[];
  runs(fields: { graphIdPrefix: string; limit: number; before: number | undefined }): FoundRun[];
}

export const agentos = new Contract<AgentosCalls>("agentos", {
  kinds: { save: "save", fork: "save", delete: "prune", clear: "prune" },
  subject: ({ runId, id, checkpointId }) => ({ run: runId, id: id ?? checkpointId }),
  counts: { list: ({ count }) => count },
});
