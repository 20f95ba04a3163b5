/** Reads serialised values without making a class of anybody's, and without an error for what nobody here can read. */

import { type Stored, builtInFormat } from "../bridge/serializer.js";
import type { Context } from "./context.js";
import { opaque } from "../bridge/json-form/to-json-form.js";

/** A value that was read. Of one that is not readable, only the form is known. */
export interface Read {
  value: unknown;
  readable: boolean;
}

/**
 * Reads a value. LangGraph's own serializer also writes the tag `bytes`. Its tag `json` is read as plain JSON, so an object
 * of LangChain is shown as it is stored.
 */
export function readValue({ formats }: Pick<Context, "formats">, { tag, bytes }: Stored): Read {
  const format = builtInFormat(tag) ?? formats.get(tag);
  try {
    if (format !== undefined) return { value: format.deserialize(bytes), readable: true };
    if (tag === "bytes") return { value: new Uint8Array(bytes), readable: true };
  } catch {
    // Bytes of another program, or of a newer version. They are shown as they are.
  }
  return { value: opaque(tag, bytes), readable: false };
}
