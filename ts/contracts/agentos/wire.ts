/** Declares the engine's calls for AgentOS. See `enum Call` in `engine/src/contract/agentos/call.rs`. */

import type { CallsOf } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Contract, type Unpack, type Unpacked } from "../../bridge/wire.js";
import type { CheckpointMetadata } from "./contract.js";

/** A checkpoint, not yet deserialized. */
export type Found = Unpacked<engine.agentos.Found>;

export const openFound: Unpack<engine.agentos.Found> = (found, part) => ({
  ...found,
  parts: found.parts.map(part),
});

/** Returns the rows of a listing. A column is an array of `count` values, or a single value that all rows share. */
export function rowsOf({ count, ...columns }: engine.agentos.Columns): CheckpointMetadata[] {
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

type AgentosCalls = CallsOf<engine.agentos.Call, engine.agentos.Responses>;

export const agentos = new Contract<AgentosCalls>("agentos", {
  kinds: { save: "save", fork: "save", delete: "prune", clear: "prune" },
  subject: ({ runId, id, checkpointId }) => ({ run: runId, id: id ?? checkpointId }),
  counts: { list: ({ count }) => count },
});
