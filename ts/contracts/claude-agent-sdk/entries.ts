/** Turns the entries of transcripts into lines of JSON and back. */

import { isArray, readingArgument, refusal, show, textOf, typeError } from "../../bridge/errors.js";
import { type Format, isCustom } from "../../bridge/serializer.js";
import { nonEmpty } from "../../store/ids.js";
import { packRecords } from "../shared/records.js";
import type { Of } from "./wire.js";

/** A stored entry. */
export interface Line {
  /** The `uuid` of the entry. Null: none. */
  uuid: string | null;
  text: string;
}

/** Names a transcript. */
export interface Transcript {
  of: Of;
  subpath: string | undefined;
}

/** Reads the key of a transcript, or of a session. */
export function readKey(key: unknown): Transcript {
  if (typeof key !== "object" || key === null) {
    throw typeError(`key must be an object such as { projectKey, sessionId }, but is ${show(key)}`);
  }
  const { projectKey, sessionId, subpath } = readingArgument("key", () => {
    const { projectKey, sessionId, subpath } = key as Record<string, unknown>;
    return { projectKey, sessionId, subpath };
  });
  return {
    of: { project: nonEmpty(projectKey, "key.projectKey"), session: nonEmpty(sessionId, "key.sessionId") },
    subpath: subpath === undefined ? undefined : nonEmpty(subpath, "key.subpath"),
  };
}

/** Makes the lines of entries. Of entries with the same `uuid`, the first stays. */
export function linesOf(entries: unknown): Line[] {
  if (!isArray(entries)) throw typeError(`entries must be an array, but is ${show(entries)}`);
  const lines: Line[] = [];
  const seen = new Set<string>();
  // Unlike map(), Array.from() also visits the holes of an array.
  const given = readingArgument("entries", () => Array.from(entries as unknown[]));
  for (const [at, entry] of given.entries()) {
    const line = lineOf(entry, `entries[${at}]`);
    if (line.uuid !== null && seen.has(line.uuid)) continue;
    if (line.uuid !== null) seen.add(line.uuid);
    lines.push(line);
  }
  return lines;
}

function lineOf(entry: unknown, path: string): Line {
  if (typeof entry !== "object" || entry === null || isArray(entry)) {
    throw typeError(`${path} must be an object, but is ${show(entry)}`);
  }
  const [text, uuid] = json(entry, path);
  if (text?.[0] !== "{") throw typeError(`${path} must be an object in JSON, but is ${text ?? "left out"}`);
  return { uuid: keyOf(uuid), text };
}

/** Returns the key of an entry with this `uuid`. It is well-formed: JSON escapes an unpaired surrogate. */
export function keyOf(uuid: unknown): string | null {
  if (typeof uuid !== "string" || uuid === "") return null;
  return uuid.isWellFormed() ? uuid : JSON.stringify(uuid);
}

function json(entry: object, path: string): [text: string | undefined, uuid: unknown] {
  try {
    return [JSON.stringify(entry), (entry as { uuid?: unknown }).uuid];
  } catch (error) {
    throw refusal(path, `it is not JSON: ${textOf(error)}`, error);
  }
}

/** Packs the lines into one buffer, unchanged or through the user's serializer. */
export function pack(lines: readonly Line[], format: Format) {
  const serialized = lines.map(({ text }, at) =>
    isCustom(format)
      ? format.serialize(JSON.parse(text), `entries[${at}]`)
      : { tag: "json", bytes: Buffer.from(text) as Uint8Array },
  );
  return packRecords(
    serialized,
    lines.map(({ uuid }) => uuid),
  );
}
