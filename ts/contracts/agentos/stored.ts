/** Stores checkpoints, and reads them back. */

import { rangeError, show, typeError } from "../../bridge/errors.js";
import { detachBuffers } from "../../bridge/detach.js";
import type { Serialized } from "../../bridge/serializer.js";
import type { Exact } from "../../bridge/wire.js";
import type { Engine } from "../../store/engine.js";
import { idOrNull, requireId } from "../../store/ids.js";
import { decodeCheckpoint, encodeCheckpoint } from "../shared/record.js";
import type { RunStatus } from "../shared/recover-options.js";
import type { Checkpoint, CheckpointMetadata } from "./contract.js";
import { statusOf } from "./status.js";
import { type Found, agentos, openFound } from "./wire.js";

/** The fields of a checkpoint that are stored separately from its serialized parts. */
export interface Fields extends Omit<CheckpointMetadata, "stateSize"> {
  status: Exclude<RunStatus, "stopped">;
  /** If set, the save is refused with `CONFLICT` unless this is the id of the run's newest checkpoint. */
  expectedNewest: string | undefined;
  /** True: the save is refused with `CONFLICT` if the run has no checkpoint. */
  known?: boolean;
  /** If set, the save is refused with `CONFLICT` unless the run has this incarnation. */
  incarnation?: Exact | undefined;
  parent: string | undefined;
  /** The mark of the program that made the checkpoint: see `ts/store/mark.ts`. */
  mark: string | undefined;
}

/**
 * Serializes a checkpoint before `save` returns its promise. Does not change the argument and keeps no reference to it.
 */
export function snapshot(checkpoint: Checkpoint, { format }: Engine) {
  return encodeCheckpoint(checkpoint, format, ["id", "runId", "timestamp"], (given): Fields => {
    const { timestamp } = given;
    if (typeof timestamp !== "number")
      throw typeError(`checkpoint.timestamp must be a number, but is ${show(timestamp)}`);
    if (!Number.isFinite(timestamp)) throw rangeError(`checkpoint.timestamp must be finite, but is ${timestamp}`);
    return {
      id: requireId(given["id"], "checkpoint.id"),
      runId: requireId(given["runId"], "checkpoint.runId"),
      graphId: requireId(given["graphId"], "checkpoint.graphId"),
      nodeId: requireId(given["nodeId"], "checkpoint.nodeId"),
      timestamp,
      hasMemorySnapshot: given["memorySnapshot"] !== undefined,
      status: statusOf(given) ?? "unknown",
      expectedNewest: undefined,
      parent: undefined,
      mark: undefined,
    };
  });
}

export function restore({ format }: Engine, { id, runId, timestamp, parts }: Found): Checkpoint {
  const checkpoint = decodeCheckpoint<Checkpoint>(format, parts, { id, runId, timestamp });
  // The checkpoint shares no memory with the response's buffers, so the buffers can be freed.
  detachBuffers(...parts);
  return checkpoint;
}

/** Stores a checkpoint. `learn` gets the incarnation of the run, unless the fields have it. */
export function put(
  { native }: Engine,
  fields: Fields,
  state: Serialized,
  rest: Serialized,
  learn?: (incarnation: Exact | null) => void,
): Promise<null> {
  const {
    id,
    runId,
    graphId,
    nodeId,
    timestamp,
    hasMemorySnapshot,
    status,
    expectedNewest,
    known = false,
    incarnation,
    parent,
    mark,
  } = fields;
  const [savedAt, stateTag, restTag] = [Date.now(), state.tag, rest.tag];
  // Use a literal: V8 lists the keys of an object made with `...fields` far more slowly.
  const call = {
    id,
    runId,
    graphId,
    nodeId,
    timestamp,
    hasMemorySnapshot,
    status,
    expectedNewest,
    known,
    incarnation,
    parent,
    mark,
    savedAt,
    stateTag,
    restTag,
  };
  const unknown = incarnation === undefined ? learn : undefined;
  return agentos.call(native, "save", call, [state.bytes, rest.bytes], unknown);
}

export async function find({ native }: Engine, checkpointId: string): Promise<Found | null> {
  const id = idOrNull(checkpointId, "checkpointId");
  return id === null ? null : agentos.find(native, "get", { checkpointId: id }, openFound);
}
