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

export function compress(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return through(chunks, false);
}

export function decompress(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return through(chunks, true);
}
