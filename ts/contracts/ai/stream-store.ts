/** Reads stored streams. */

import { messageOf, textOf } from "../../bridge/errors.js";
import { whole } from "../../bridge/bytes.js";
import { type Format, deserialize, deserializeValue } from "../../bridge/serializer.js";
import type { NativeStore, RunKey } from "../../bridge/native.js";
import type { PackedPart, Part } from "../../bridge/wire.js";
import { types } from "node:util";
import type { Engine } from "../../store/engine.js";
import { hasEnded } from "../../bridge/holder.js";
import { holdersOf } from "../../store/lease.js";
import { type PackedHead, type Revision, type StreamHead, chatCalls, streamCalls } from "./wire.js";

/** The pause between two reads of a stream without news, in ms. */
export const PAUSE = 50;
/** How often the maker of such a stream is looked for, in ms. */
export const LOOK = 500;
/** The number of records in a read. */
export const PAGE = 256;

/** The only part of a stream: who stopped it and why, or the error of its source. It may be encrypted. */
export interface Note {
  stop?: {
    by?: string | undefined;
    reason?: string | undefined;
    /** In ms since the epoch. */
    at: number;
  };
  /** True if another process ended the stream, because its own one had ended. */
  interrupted?: boolean;
  failure?: { name: string; message: string };
}

/** What is known of a stream, and its note. */
export interface FoundHead extends Pick<StreamHead, "state"> {
  chat: string | undefined;
  note: Part | undefined;
}

const OVER: ReadonlySet<StreamHead["state"]> = new Set(["ended", "stopped", "failed"]);

export const isOver = ({ state }: Pick<StreamHead, "state">): boolean => OVER.has(state);

/** The run that the maker of a stream leases. */
export const runOf = (stream: string): RunKey => ({ space: streamCalls.name, run: stream, ns: "" });

/** Reads the streams that the row of a chat names. Null: there is no such chat. */
const namedBy = (native: NativeStore, chat: string) =>
  chatCalls.find(native, "row", { chat }, ({ stream, answer }) => [stream, answer?.stream]);

/** Removes a chat with its streams. A stream that is still made can be stopped, and is removed at its end. */
export async function removeChat(native: NativeStore, chat: string, seen: Revision | undefined): Promise<void> {
  const named = await namedBy(native, chat);
  const streams = new Set([...(await streamCalls.call(native, "ofChat", { chat })), ...(named ?? [])]);
  const [over, made]: [string[], string[]] = [[], []];
  for (const stream of streams) {
    const head = stream ? await headOf({ native }, stream) : null;
    // An app may name a stream of another chat.
    if (head === null || (head.chat ?? chat) !== chat) continue;
    (isOver(head) || !(await hasMaker({ native }, stream!)) ? over : made).push(stream!);
  }
  await chatCalls.call(native, "remove", { chat, seen, streams: over });
  // These may have ended before the chat was removed.
  for (const stream of made) {
    const head = await headOf({ native }, stream);
    if (head !== null && isOver(head)) await removeOrphan(native, stream, chat);
  }
}

/** Removes an ended stream if its chat was deleted. */
export async function removeOrphan(native: NativeStore, stream: string, chat: string | undefined): Promise<void> {
  if (chat === undefined || (await namedBy(native, chat)) !== null) return;
  await streamCalls.call(native, "remove", { stream });
}

/** Returns what is known of a stream. Null: there is none. */
export function headOf({ native }: Pick<Engine, "native">, stream: string): Promise<FoundHead | null> {
  return streamCalls.find(native, "head", { stream }, openHead);
}

const openHead = ({ state, chat, note: [note] }: PackedHead, part: (packed: PackedPart) => Part): FoundHead => ({
  state,
  chat: chat ?? undefined,
  note: note && part(note),
});

/** Returns the note of a stream. It is empty if there is none, or if this program cannot read it. */
export function noteOf({ note }: FoundHead, { format }: Pick<Engine, "format">): Note {
  try {
    return note === undefined ? {} : (deserialize(format, note.tag, note.bytes, "the note of a stream") as Note);
  } catch {
    return {};
  }
}

/** Serializes a note, for a call. */
export function packNote(note: Note, format: Format) {
  const { tag, bytes } = format.serialize(note, "the note of a stream");
  return { name: { name: "note", tag }, bytes: whole(bytes) };
}

/** Returns true if a living process holds the lease of a stream. */
export async function hasMaker({ native }: Pick<Engine, "native">, stream: string): Promise<boolean> {
  const [lease] = await holdersOf(native, streamCalls.name, [stream]);
  return lease != null && !hasEnded(lease.holder);
}

/** Reads the next texts of a stream. Null: there is none. */
export async function readStream(
  engine: Engine,
  stream: string,
  skip: number,
  limit: number,
): Promise<{ head: FoundHead; texts: string[] } | null> {
  const fields = { stream, skip, limit };
  return streamCalls.find(engine.native, "read", fields, ({ head, chunks }, part) => ({
    head: openHead(head, part),
    texts: chunks.map((chunk) => {
      const { tag, bytes } = part(chunk);
      return String(deserializeValue(engine.format, tag, bytes, "a chunk of a stream"));
    }),
  }));
}

/** Reads the stored text of a stream. */
export async function storedText(engine: Engine, stream: string): Promise<string> {
  const texts: string[] = [];
  for (;;) {
    const found = await readStream(engine, stream, texts.length, PAGE);
    texts.push(...(found?.texts ?? []));
    if (found === null || found.texts.length < PAGE) return texts.join("");
  }
}

/** The maximum number of characters of a stored error. */
const [NAME, MESSAGE] = [200, 4_000];

/** What is stored of an error. */
export function failureOf(thrown: unknown): NonNullable<Note["failure"]> {
  const name = types.isNativeError(thrown) ? textOf(thrown.name) : "Error";
  return { name: short(name, NAME), message: short(messageOf(thrown), MESSAGE) };
}

const short = (text: string, length: number): string => text.slice(0, length).toWellFormed();
