/**
 * What the engine finds comes as a parcel: a text in JSON, in which a part is told by its place, and the bytes of all parts. V8
 * reads a text several times faster than it is handed values one by one.
 */

import { type NativeStore, type Outcome, call } from "./native.js";

/** A part of a checkpoint: its name, the serializer that wrote it, and what that wrote, as a view of bytes that others share. */
export type Part = [name: string, tag: string, bytes: Uint8Array];

/** `CheckpointMetadata`, its fields in order. */
export type Metadata = [
  id: string,
  runId: string,
  graphId: string,
  nodeId: string,
  timestamp: number,
  stateSize: number,
  hasMemorySnapshot: boolean,
];

/** A checkpoint as the engine has it. */
export type Found = [metadata: Metadata, parts: Part[]];

/** A run as the engine lists it. */
export type FoundRun = [cursor: string, checkpoints: number, newest: Metadata];

/** A checkpoint, or a value, and the names that its contract asked for. */
export type Named = [names: string[], parts: Part[]];

/** What is known of a LangGraph checkpoint without its payload. */
export type ListedTuple = [
  threadId: string,
  namespace: string,
  id: string,
  parent: string | null | undefined,
  metadata: Part,
  savedAt: number,
  difference: boolean,
];

/** A write to a LangGraph checkpoint; its part is named by the channel. */
export type FoundWrite = [task: string, index: number, owner: string | null | undefined, part: Part];

/** A LangGraph checkpoint with what was written to it. */
export type FoundTuple = [listed: ListedTuple, parts: Part[], writes: FoundWrite[]];

/** A namespace of a thread as the engine lists it. */
export type FoundThread = [cursor: string, checkpoints: number, latest: ListedTuple];

type Parcel = [text: string, blobs: Uint8Array[]];

/** A part as the text tells it: its name and tag, which of the blobs it is in, and where. */
type Packed = [name: string, tag: string, blob: number, start: number, length: number];

/** Puts the bytes into what the text tells. It is fresh: whatever is a part in it becomes one in its place. */
type Opener<T> = (told: any, part: (packed: any) => Part) => T;

/** Runs a call on the store and opens what comes; null where there is nothing. */
async function fetch<T>(native: NativeStore, submit: (ticket: number) => Outcome, open: Opener<T>): Promise<T | null> {
  const parcel = await call<Parcel | null>(native, submit);
  if (parcel === null) return null;
  const [text, blobs] = parcel;
  const part = ([name, tag, blob, start, length]: Packed): Part => [
    name,
    tag,
    blobs[blob]!.subarray(start, start + length),
  ];
  return open(JSON.parse(text), part);
}

const all =
  <T>(open: Opener<T>): Opener<T[]> =>
  (told: unknown[], part) =>
    told.map((each) => open(each, part));

const found: Opener<Found> = ([metadata, parts], part) => [metadata, parts.map(part)];
const named: Opener<Named> = ([names, parts], part) => [names, parts.map(part)];
const listed: Opener<ListedTuple> = (told, part) => {
  told[4] = part(told[4]);
  return told;
};
const write: Opener<FoundWrite> = ([task, index, owner, value], part) => [task, index, owner, part(value)];
const tuple: Opener<FoundTuple> = ([header, parts, writes], part) => [
  listed(header, part),
  parts.map(part),
  all(write)(writes, part),
];
const thread: Opener<FoundThread> = ([cursor, checkpoints, latest], part) => [cursor, checkpoints, listed(latest, part)];

/** Runs a call on the store; the promise settles with what comes of it. */
export type Fetch<T> = (native: NativeStore, submit: (ticket: number) => Outcome) => Promise<T>;

export const fetchFound: Fetch<Found | null> = (native, submit) => fetch(native, submit, found);
export const fetchNamed: Fetch<Named | null> = (native, submit) => fetch(native, submit, named);
export const fetchAllNamed: Fetch<Named[]> = async (native, submit) => (await fetch(native, submit, all(named)))!;
export const fetchTuple: Fetch<FoundTuple | null> = (native, submit) => fetch(native, submit, tuple);
export const fetchTuples: Fetch<FoundTuple[]> = async (native, submit) => (await fetch(native, submit, all(tuple)))!;
export const fetchListed: Fetch<ListedTuple[]> = async (native, submit) => (await fetch(native, submit, all(listed)))!;
export const fetchThreads: Fetch<FoundThread[]> = async (native, submit) => (await fetch(native, submit, all(thread)))!;
