/** Keeps the bytes of states' messages, so that a checkpoint serializes only new messages. */

import { type Bytes, Pieces } from "../../bridge/bytes.js";
import { chunkOf } from "../../bridge/chunk.js";
import type { Grown } from "../../bridge/incremental/block.js";
import { GrowingLists } from "../../bridge/incremental/lists.js";
import { type Format, formatOf } from "../../bridge/serializer.js";
import type { Packed } from "./wire.js";

/** Serialized messages: their formats and lengths, and all bytes in one buffer. */
export interface PackedMessages extends Packed {
  bytes: Bytes;
}

/** The first byte of V8's format. No JSON text begins with it. */
const V8_MARK = 0xff;

/**
 * The messages of each built-in format. Custom serializers are left out, because they may write different bytes each
 * time.
 */
const lists = new Map(
  (["v8", "json"] as const).map((name) => {
    const format = formatOf(name);
    const render = (message: object) => {
      try {
        const { bytes } = format.serialize(message, "message");
        return bytes instanceof Uint8Array ? bytes : bytes.whole;
      } catch {
        // The message cannot be stored. The caller serializes it again, with an error that names the path.
        return undefined;
      }
    };
    return [name as string, new GrowingLists({ render, keepsIdentity: false, keepsHoles: true })] as const;
  }),
);

/** Returns messages with their kept bytes. Returns undefined if each message must be serialized. */
export function keptMessages(messages: readonly unknown[], format: Format): PackedMessages | undefined {
  const kept = lists.get(format.name);
  if (kept === undefined || !kept.mayGrow(messages)) return undefined;
  // The end of the save may drop kept bytes, so first hold and describe them.
  const packed = kept.save(() => {
    const grown = kept.grow(messages);
    return grown && packedMessages(grown);
  });
  if (packed !== undefined) format.counter?.take(packed.bytes);
  return packed;
}

function packedMessages({ pieces, byteLength, runs }: Grown): PackedMessages {
  const [tags, lengths]: [string[], number[]] = [[], []];
  for (const { block, from, to } of runs) {
    for (let at = from; at < to; at++) {
      tags.push(block.chunk.bytes[block.starts[at]!] === V8_MARK ? "v8" : "json");
      lengths.push(block.ends[at]! - block.starts[at]!);
    }
  }
  return { tags, lengths, bytes: new Pieces(pieces, byteLength).hold() };
}

/** The place of a value's first kept bytes. Kept bytes never change, so the same place has the same bytes. */
export type Place = ReadonlyArray<readonly [chunk: number, start: number, length: number]>;

export function placeOf(bytes: PackedMessages["bytes"], length: number): Place | undefined {
  if (!(bytes instanceof Pieces)) return undefined;
  const place: Array<readonly [number, number, number]> = [];
  let left = length;
  for (const piece of bytes.pieces) {
    if (left <= 0) break;
    const chunk = chunkOf(piece);
    if (chunk === undefined) return undefined;
    place.push([chunk.serial, piece.byteOffset, Math.min(left, piece.length)]);
    left -= piece.length;
  }
  return left <= 0 ? place : undefined;
}
