/** The lines of a text file or of stdin. */

import { createReadStream } from "node:fs";
import { ForkpointError } from "../../ts/bridge/errors.js";
import { decompressed } from "./compression.js";

/**
 * Yields the lines of a file: `-` is stdin. Only a line feed ends a line. `node:readline` also ends one at U+2028, which
 * JSON allows in a text.
 */
export async function* linesOf(file: string): AsyncGenerator<string> {
  const name = file === "-" ? "stdin" : file;
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const decode = (bytes?: Uint8Array) => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch (error) {
      throw new ForkpointError(
        "INVALID_ARGUMENT",
        `${name} is not UTF-8 text: give a file that \`forkpoint export\` wrote`,
        {
          cause: error,
        },
      );
    }
  };
  const stream = file === "-" ? process.stdin : createReadStream(file);
  let pieces: string[] = [];
  for await (const bytes of decompressed(stream as AsyncIterable<Buffer>)) {
    const parts = decode(bytes).split("\n");
    const last = parts.pop()!;
    for (const part of parts) {
      yield withoutReturn(pieces.length === 0 ? part : `${pieces.join("")}${part}`);
      pieces = [];
    }
    if (last !== "") pieces.push(last);
  }
  pieces.push(decode());
  const rest = pieces.join("");
  if (rest !== "") yield withoutReturn(rest);
}

/** An editor may have written CR LF. */
function withoutReturn(line: string): string {
  return line.endsWith("\r") ? line.slice(0, -1) : line;
}
