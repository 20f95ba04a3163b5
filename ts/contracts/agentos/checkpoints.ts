/** Checkpoints of AgentOS as the engine stores them. */

import type { Engine } from "../../store/engine.js";
import { rangeError, show, typeError } from "../../bridge/errors.js";
import { idOrNull, requireId } from "../../store/ids.js";
import { decodeCheckpoint, detachBuffers, encodeCheckpoint } from "../shared/record.js";
import type { Serialized } from "../../bridge/serializer.js";
import { type Status, statusOf, statuses } from "./status.js";
import { type Found, agentos, openFound } from "./wire.js";
import type { Checkpoint, CheckpointMetadata } from "./contract.js";

/** The fields of a checkpoint that are stored separately from its serialised parts. */
export interface Fields extends Omit<CheckpointMetadata, "stateSize"> {
  status: Status | undefined;
  /** If given, the save is refused with `CONFLICT` unless this is the id of the run's newest checkpoint. */
  expectedNewest: string | undefined;
  parent: string | undefined;
  /** Who made the checkpoint: see `ts/store/mark.ts`. */
  mark: string | undefined;
}

/**
 * Serialises a checkpoint before `save` returns its promise. Does not change the argument and keeps no reference to it.
 */
export function snapshot(checkpoint: Checkpoint, { format }: Engine) {
  return encodeCheckpoint(checkpoint, format, ["id", "runId", "timestamp"], (given): Fields => {
    const { timestamp } = given;
    if (typeof timestamp !== "number")
      throw typeError(`checkpoint.timestamp must be a number, and is ${show(timestamp)}`);
    if (!Number.isFinite(timestamp)) throw rangeError(`checkpoint.timestamp must be finite, and is ${timestamp}`);
    return {
      id: requireId(given["id"], "checkpoint.id"),
      runId: requireId(given["runId"], "checkpoint.runId"),
      graphId: requireId(given["graphId"], "checkpoint.graphId"),
      nodeId: requireId(given["nodeId"], "checkpoint.nodeId"),
      timestamp,
      hasMemorySnapshot: given["memorySnapshot"] !== undefined,
      status: statusOf(given),
      expectedNewest: undefined,
      parent: undefined,
      mark: undefined,
    };
  });
}

/** Makes a fresh checkpoint from its record. */
export function restore({ format }: Engine, { metadata, parts }: Found): Checkpoint {
  const { id, runId, timestamp } = metadata;
  const checkpoint = decodeCheckpoint<Checkpoint>(format, parts, { id, runId, timestamp });
  // The checkpoint does not share memory with the response's buffers, so the buffers can be freed.
  detachBuffers(...parts);
  return checkpoint;
}

export function put({ native }: Engine, fields: Fields, state: Serialized, rest: Serialized): Promise<null> {
  const { id, runId, graphId, nodeId, timestamp, hasMemorySnapshot, status, expectedNewest, parent, mark } = fields;
  const call = {
    id,
    runId,
    graphId,
    nodeId,
    timestamp,
    hasMemorySnapshot,
    status: status === undefined ? 0 : statuses.indexOf(status) + 1,
    expectedNewest,
    parent,
    mark,
    savedAt: Date.now(),
    stateTag: state.tag,
    restTag: rest.tag,
  };
  return agentos.call(native, "save", call, [state.bytes, rest.bytes]);
}

export async function find({ native }: Engine, checkpointId: string): Promise<Found | null> {
  const id = idOrNull(checkpointId, "checkpointId");
  return id === null ? null : agentos.find(native, "get", { checkpointId: id }, openFound);
}
