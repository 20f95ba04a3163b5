/** Compressed exports: files that end with `.zst`. Help and mistakes need no addon, so it is loaded when it is used. */

type Chunks = AsyncIterable<Uint8Array>;

/** Compresses what is written to a file, if its name says so. */
export async function* compressedFor(path: string, chunks: Chunks): AsyncGenerator<Uint8Array> {
  const { compress } = await import("../../ts/inspect/index.js");
  yield* /\.zst$/i.test(path) ? compress(chunks) : chunks;
}

const ZSTD_MAGIC = Buffer.from([0x28, 0xb5, 0x2f, 0xfd]);

/** Decompresses what is read from a file, if it begins as a compressed file does. */
export async function* decompressed(chunks: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  const iterator = chunks[Symbol.asyncIterator]();
  const begin: Buffer[] = [];
  let length = 0;
  while (length < ZSTD_MAGIC.length) {
    const { value, done } = await iterator.next();
    if (done === true) break;
    begin.push(value);
    length += value.length;
  }
  const all = rejoined(begin, iterator);
  const isCompressed = Buffer.concat(begin).subarray(0, ZSTD_MAGIC.length).equals(ZSTD_MAGIC);
  const { decompress } = await import("../../ts/inspect/index.js");
  yield* isCompressed ? decompress(all) : all;
}

async function* rejoined(begin: readonly Buffer[], rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  yield* begin;
  for (;;) {
    const { value, done } = await rest.next();
    if (done === true) return;
    yield value;
  }
}
