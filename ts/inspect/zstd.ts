/** Compresses and decompresses streams. Node.js has no zstd before version 22.15. */

import { ZstdStream } from "../bridge/native.js";

async function* through(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  decompress: boolean,
): AsyncGenerator<Uint8Array, void, void> {
  const stream = new ZstdStream(decompress);
  for await (const chunk of chunks) {
    const ready = stream.push(chunk);
    if (ready.length > 0) yield ready;
  }
  const rest = stream.end();
  if (rest.length > 0) yield rest;
}

/**
 * Compresses a stream with zstd, for example the lines of an export.
 * @example for await (const chunk of compress([Buffer.from("text")])) console.log(chunk);
 */
export function compress(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return through(chunks, false);
}

/**
 * Decompresses a stream of zstd.
 * @throws ForkpointError `CORRUPT` for bytes that cannot be decompressed, while it is read.
 * @example for await (const chunk of decompress(createReadStream("export.jsonl.zst"))) console.log(chunk);
 */
export function decompress(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return through(chunks, true);
}
