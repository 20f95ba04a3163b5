/**
 * Reads serialized values. Creates no objects of a user's classes. Describes
 * unreadable bytes instead of throwing.
 */

import { type Stored, builtInFormat } from "../bridge/serializer.js";
import type { Context } from "./context.js";
import { readForm } from "../bridge/json-form/from-json-form.js";
import { opaque } from "../bridge/json-form/to-json-form.js";

/** A value that was read. If it is not readable, `value` is an `Opaque` with the tag, the size and the first bytes. */
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
    if (tag === "json-form")
      return { value: readForm(builtInFormat("json")!.deserialize(bytes), true), readable: true };
    if (format !== undefined) return { value: format.deserialize(bytes), readable: true };
    if (tag === "bytes") return { value: new Uint8Array(bytes), readable: true };
  } catch {
    // Another program or a newer version may have written the bytes. Show them as they are.
  }
  return { value: opaque(tag, bytes), readable: false };
}
