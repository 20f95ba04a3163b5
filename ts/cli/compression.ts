/**
 * Compressed exports. Node 20 has no Zstandard, and the addon does not offer its own yet. The two functions below are the
 * only places that have to change when it does.
 */

import { ForkpointError, quote } from "../errors.js";

/** Turns a part of a file into the bytes to write. */
export type Encoder = (chunk: Buffer) => Buffer;

/** Returns what turns the text of an export into the bytes of a file with this name. */
export function encoderFor(path: string): Encoder {
  if (/\.zst$/i.test(path)) {
    const how = "give a name without .zst, and compress the file with zstd";
    throw new ForkpointError("UNSUPPORTED", `${quote(path)} would be compressed, which this version cannot do: ${how}`);
  }
  return (chunk) => chunk;
}

const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** Throws `UNSUPPORTED` for the beginning of a compressed file. */
export function refuseCompressed(begin: Buffer, name: string): void {
  if (!begin.subarray(0, ZSTD_MAGIC.length).equals(ZSTD_MAGIC)) return;
  const how = "decompress it with zstd, for example `zstd -dc export.jsonl.zst | forkpoint import -`";
  throw new ForkpointError("UNSUPPORTED", `${quote(name)} is compressed, which this version cannot read: ${how}`);
}
