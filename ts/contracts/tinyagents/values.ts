/** Turns checkpoints and pending writes into parts and back. */

import { isArray, quote, rangeError, reading, readingArgument, show, typeError } from "../../bridge/errors.js";
import { idOrNull, listOf, optionalId, requireId, requireIds } from "../../store/ids.js";
import { type Format, type Serialized, deserialize, parseStored } from "../../bridge/serializer.js";
import type { NewPart } from "../../bridge/wire.js";
import { flag, object } from "../../store/options.js";
import { stateAndRest } from "../shared/record.js";
import type { Found, FoundWrite, Header, Place, NewStatus } from "./wire.js";
import type { CheckpointMetadata, Namespace, PendingWrite, ThreadCheckpoint } from "./contract.js";

/** The fields in listings. They are stored beside the checkpoint, so that a listing reads no state. */
interface Listed {
  runId: string | null;
  nextNodes: string[];
  interrupted: boolean;
  metadata: Record<string, unknown>;
}

export interface EncodedCheckpoint extends Place {
  parent: string | undefined;
  dependsOnParent: boolean;
  /** The status at this checkpoint without stopped tasks. */
  status: NewStatus;
  parts: NewPart[];
  metadata: Serialized;
}

/** The fields that are stored outside of the part `rest`. They are stored empty there to keep the order of the keys. */
export const blanks = [
  "threadId",
  "checkpointId",
  "parentCheckpointId",
  "namespace",
  "state",
  "runId",
  "nextNodes",
  "metadata",
] as const;

/** Serializes a checkpoint. Reads every field once, because a field may be a getter. `newId` makes a missing id. */
export function encodeCheckpoint(checkpoint: unknown, format: Format, newId: () => string): EncodedCheckpoint {
  const given = object(checkpoint, "checkpoint");
  const fields: Record<string, unknown> = reading("checkpoint", () => ({ ...given }));
  const threadId = requireId(fields["threadId"], "checkpoint.threadId");
  const id =
    fields["checkpointId"] === undefined ? newId() : requireId(fields["checkpointId"], "checkpoint.checkpointId");
  const namespace = namespaceText(fields["namespace"], "checkpoint.namespace");
  const parent = optionalId(fields["parentCheckpointId"], "checkpoint.parentCheckpointId");
  const runId = optionalId(fields["runId"], "checkpoint.runId") ?? null;
  const nextNodes = requireIds(fields["nextNodes"] ?? [], "checkpoint.nextNodes");
  for (const field of Object.keys(defaults())) {
    if (fields[field] === undefined || fields[field] === null) delete fields[field];
    else requireList(fields[field], `checkpoint.${field}`);
  }
  const interrupts = (fields["interrupts"] ?? []) as unknown[];
  const interrupted = readingArgument("checkpoint.interrupts", () => interrupts.length > 0);
  const metadata = object(fields["metadata"] ?? {}, "checkpoint.metadata");
  const { dependsOnParent: depends = false } = fields;
  const dependsOnParent = flag(depends, "checkpoint.dependsOnParent");
  // Wrap the state in a list, because serializers take only objects.
  const state = format.serialize([fields["state"]], "state");
  const listed = { runId, nextNodes, interrupted, metadata };
  for (const field of blanks) if (field in fields) fields[field] = null;
  return {
    threadId,
    id,
    namespace,
    parent,
    dependsOnParent,
    status: nextNodes.length > 0 ? "unfinished" : "finished",
    parts: [
      { name: "state", ...state },
      { name: "rest", ...format.serialize(fields, "checkpoint") },
    ],
    metadata: format.serialize(listed, "metadata"),
  };
}

/** The defaults of a checkpoint's optional fields, except those in listings. */
function defaults() {
  return { completedTasks: [], pendingWrites: [], interrupts: [], pendingActivations: null, barrierArrivals: [] };
}

function requireList(value: unknown, name: string): void {
  if (!isArray(value)) throw typeError(`${name} must be an array, but is ${show(value)}`);
}

/** Turns a namespace into the engine's text. The namespace of the graph itself is an empty text. */
export function namespaceText(namespace: unknown, name: string): string {
  return textOf(requireIds(namespace ?? [], name));
}

/** Checks a namespace before a read. Returns null if it cannot be stored. */
export function namespaceOrNull(namespace: unknown, name: string): string | null {
  const names = listOf(idOrNull, namespace ?? [], name);
  return names.every((part) => part !== null) ? textOf(names) : null;
}

function textOf(names: Namespace): string {
  return names.length === 0 ? "" : JSON.stringify(names);
}

/** Turns the engine's text into a namespace. */
export function readNamespace(text: string): Namespace {
  return text === "" ? [] : (parseStored(text, "a namespace") as Namespace);
}

export function readListed(header: Header, format: Format): Listed {
  const { tag, bytes } = header.metadata;
  return deserialize(format, tag, bytes, `the metadata of checkpoint ${quote(header.id)}`) as Listed;
}

export function metadataOf(header: Header, format: Format): CheckpointMetadata {
  const { runId, nextNodes, interrupted, metadata } = readListed(header, format);
  return {
    threadId: header.threadId,
    checkpointId: header.id,
    runId,
    parentCheckpointId: header.parent,
    namespace: readNamespace(header.namespace),
    nextNodes,
    interrupted,
    createdAt: header.savedAt,
    metadata,
  };
}

export function decodeCheckpoint<S>({ header, parts }: Found, format: Format): ThreadCheckpoint<S> {
  const what = `checkpoint ${quote(header.id)}`;
  const [state, rest] = stateAndRest(parts, header.id);
  const { runId, nextNodes, metadata } = readListed(header, format);
  // Assign to the loaded object, because an unknown field may have the name `__proto__`.
  const fields = deserialize(format, rest.tag, rest.bytes, what) as Record<string, unknown>;
  for (const [field, empty] of Object.entries(defaults())) fields[field] ??= empty;
  const [value] = deserialize(format, state.tag, state.bytes, what) as [S];
  return Object.assign(fields, {
    threadId: header.threadId,
    checkpointId: header.id,
    runId,
    parentCheckpointId: header.parent,
    namespace: readNamespace(header.namespace),
    state: value,
    nextNodes,
    metadata,
  }) as unknown as ThreadCheckpoint<S>;
}

export interface EncodedWrite {
  task: string;
  index: number;
  part: NewPart;
}

export function encodeWrites(writes: unknown, format: Format): EncodedWrite[] {
  if (!isArray(writes)) throw typeError(`writes must be an array, but is ${show(writes)}`);
  return readingArgument("writes", () => [...writes]).map((write, at) => {
    const name = `writes[${at}]`;
    if (typeof write !== "object" || write === null)
      throw typeError(`${name} must be an object, but is ${show(write)}`);
    const { node, taskId, idx, channel, payload } = reading(name, () => ({ ...(write as PendingWrite) }));
    if (typeof idx !== "number") throw typeError(`${name}.idx must be a number, but is ${show(idx)}`);
    if (!Number.isSafeInteger(idx)) throw rangeError(`${name}.idx must be a whole number, but is ${idx}`);
    const place = [requireId(node, `${name}.node`), requireId(channel, `${name}.channel`)];
    const part = { name: JSON.stringify(place), ...format.serialize([payload], `${name}.payload`) };
    return { task: requireId(taskId, `${name}.taskId`), index: idx, part };
  });
}

export function decodeWrite({ task, index, part }: FoundWrite, format: Format): PendingWrite {
  const what = `a write of task ${quote(task)}`;
  const [node, channel] = parseStored(part.name, what) as [string, string];
  const [payload] = deserialize(format, part.tag, part.bytes, what) as [unknown];
  return { node, taskId: task, idx: index, channel, payload };
}
