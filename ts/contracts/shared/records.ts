/** Packs the records of a log into one buffer, and unpacks them. */

import { whole } from "../../bridge/bytes.js";
import { type Format, type Serialized, deserialize } from "../../bridge/serializer.js";
import type { Part } from "../../bridge/wire.js";

/** The fields of a call that describe the records in its buffer. */
export interface PackedRecords {
  tags: string[];
  lengths: number[];
  /** The key of each record. Null: the record has no key. Left out: no record has a key. */
  keys?: Array<string | null>;
}

/** Puts the bytes of records into one buffer. */
export function packRecords(
  serialized: readonly Serialized[],
  keys?: Array<string | null>,
): { records: PackedRecords; bytes: Uint8Array } {
  const bytes = serialized.map((one) => whole(one.bytes));
  const records: PackedRecords = {
    tags: serialized.map(({ tag }) => tag),
    lengths: bytes.map(({ byteLength }) => byteLength),
    ...(keys && { keys }),
  };
  return { records, bytes: Buffer.concat(bytes) };
}

/** Timers get a turn after this number of bytes. */
const TURN = 1 << 20;

/** Reads many values. Timers get a turn in between. */
export async function readInTurns<V extends { part: Part }, T>(all: readonly V[], read: (one: V) => T): Promise<T[]> {
  const values: T[] = [];
  let left = TURN;
  for (const one of all) {
    values.push(read(one));
    left -= one.part.bytes.byteLength;
    if (left > 0) continue;
    left = TURN;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return values;
}

/** Reads records, which are objects. `what` names a record in messages. */
export function readRecords<T extends object>(parts: readonly Part[], format: Format, what: string): Promise<T[]> {
  return readInTurns(
    parts.map((part) => ({ part })),
    ({ part: { tag, bytes } }) => deserialize(format, tag, bytes, what) as T,
  );
}
