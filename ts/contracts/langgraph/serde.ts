/** Serializes values with the serializer of the saver. */

import { isDeepStrictEqual, types } from "node:util";
import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import type { Held } from "../../store/backlog.js";
import { isArray, isOwnError, refusal, show, textOf, typeError } from "../../bridge/errors.js";
import { type Serialized, type Stored, notReadable } from "../../bridge/serializer.js";
import { lostIn, toJson } from "./json.js";
import type { MaybePromise } from "../../bridge/maybe-promise.js";
import { unwritable } from "./unwritable.js";

const decoder = new TextDecoder();

/** Reads the option `serde`. */
export function serdeOption(value: unknown, name: string): SerializerProtocol {
  for (const method of ["dumpsTyped", "loadsTyped"] as const) {
    const found = (value as Partial<SerializerProtocol> | null)?.[method];
    if (typeof found !== "function") throw typeError(`${name} must have a method ${method}()`);
  }
  return value as SerializerProtocol;
}

/**
 * Serializes a value. Reads the value synchronously, before the caller can change it. `what` names the value in
 * messages. `held` counts the bytes. An error is always a rejection, because other values may still be serializing.
 */
export function dump(serde: SerializerProtocol, value: unknown, what: string, held?: Held): MaybePromise<Serialized> {
  try {
    const json = isJsonPlus(serde) ? toJson(value, serde) : undefined;
    if (json === undefined) return serialize(serde, value, what, held);
    held?.take(json);
    return { tag: "json", bytes: json };
  } catch (error) {
    return Promise.reject(refused(what, error, value));
  }
}

function refused(what: string, error: unknown, value: unknown): unknown {
  if (isOwnError(error)) return error;
  return unwritable(value, what) ?? refusal(what, `the serializer threw ${textOf(error)}`, error);
}

async function serialize(
  serde: SerializerProtocol,
  value: unknown,
  what: string,
  held: Held | undefined,
): Promise<Serialized> {
  try {
    return await dumpTyped(serde, value, what, held);
  } catch (error) {
    throw refused(what, error, value);
  }
}

async function dumpTyped(
  serde: SerializerProtocol,
  value: unknown,
  what: string,
  held: Held | undefined,
): Promise<Serialized> {
  // LangGraph's serializer returns the given bytes, and the caller may change them while the save waits.
  const given = types.isUint8Array(value)
    ? Buffer.isBuffer(value)
      ? Buffer.from(value)
      : new Uint8Array(value)
    : value;
  const made: unknown = serde.dumpsTyped(given);
  // Copy a synchronous result immediately, because a serializer may reuse its buffer for the next value.
  const typed = jsonPlus.has(serde) ? await made : isArray(made) ? copied(made) : await alone(serde, made, value, what);
  const [tag, bytes] = typed as [unknown, unknown];
  if (typeof tag !== "string" || tag.includes("\0") || !tag.isWellFormed() || !types.isUint8Array(bytes)) {
    const found = `[${show(tag)}, ${show(bytes)}]`;
    throw typeError(`serde.dumpsTyped() must return a type and a Uint8Array for ${what}, but returned ${found}`);
  }
  // JSON text is never empty. LangGraph's serializer writes no bytes for a function or a symbol.
  if (tag === "json" && bytes.length === 0) throw refusal(what, `JSON has no ${typeof value}`);
  held?.take(bytes);
  // LangGraph's serializer writes this text for a value that it cannot write, such as a BigInt.
  if (
    typeof value !== "string" &&
    tag === "json" &&
    Buffer.from(bytes.subarray(0, 24)).toString() === '"[unable to serialize, c'
  ) {
    throw unwritable(value, what) ?? refusal(what, "the serializer does not support a value in it");
  }
  // A user's serializer may have its own form for such values.
  const lost = jsonPlus.has(serde) && tag === "json" ? lostIn(value, bytes, what) : undefined;
  if (lost !== undefined) throw lost;
  return { tag, bytes };
}

/** Copies the bytes that a serializer has returned. */
function copied(typed: unknown): unknown {
  if (!isArray(typed)) return typed;
  const [tag, bytes] = typed as unknown[];
  return [tag, types.isUint8Array(bytes) ? new Uint8Array(bytes) : bytes];
}

/** The values that a user's serializer is working on, and the bytes that it has returned for them. */
interface Working {
  count: number;
  returned: Array<{ value: unknown; bytes: Uint8Array }>;
}

const working = new WeakMap<SerializerProtocol, Working>();

/**
 * Waits for the bytes of a value, and copies them. Throws if the serializer has returned the same buffer for another
 * value of the same time, because the buffer holds only the last value.
 */
async function alone(serde: SerializerProtocol, made: unknown, value: unknown, what: string): Promise<unknown> {
  const now = working.get(serde) ?? { count: 0, returned: [] };
  working.set(serde, now);
  now.count += 1;
  try {
    const typed = await made;
    const bytes: unknown = isArray(typed) ? typed[1] : undefined;
    if (types.isUint8Array(bytes) && bytes.length > 0) {
      const isOther = (other: unknown) => !isDeepStrictEqual(other, value);
      if (now.returned.some((other) => overlap(other.bytes, bytes) && isOther(other.value))) {
        throw typeError(
          `serde.dumpsTyped() must return new bytes for each value, but has used those of ${what} for another one`,
        );
      }
      now.returned.push({ value, bytes });
    }
    return copied(typed);
  } finally {
    now.count -= 1;
    if (now.count === 0) now.returned = [];
  }
}

function overlap(one: Uint8Array, other: Uint8Array): boolean {
  const [end, otherEnd] = [one.byteOffset + one.byteLength, other.byteOffset + other.byteLength];
  return one.buffer === other.buffer && one.byteOffset < otherEnd && other.byteOffset < end;
}

/** Reads a value. An error is always a rejection. */
export function load(serde: SerializerProtocol, stored: Stored, what: string): MaybePromise<any> {
  const { tag, bytes } = stored;
  if (tag === "json" && isJsonPlus(serde)) {
    const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    // If the text contains neither mark, the serializer would only copy the parsed JSON, so it is not called. The
    // second mark is the start of "__proto__". A search for the entire name is several times slower.
    if (!json.includes('"lc":') && !json.includes('"__p')) {
      try {
        return JSON.parse(decoder.decode(json));
      } catch (error) {
        return Promise.reject(notReadable(tag, what, error));
      }
    }
  }
  return deserialize(serde, stored, what);
}

async function deserialize(serde: SerializerProtocol, stored: Stored, what: string): Promise<unknown> {
  try {
    return await loadTyped(serde, stored);
  } catch (error) {
    if (isOwnError(error)) throw error;
    throw notReadable(stored.tag, what, error);
  }
}

async function loadTyped(serde: SerializerProtocol, { tag, bytes }: Stored): Promise<unknown> {
  // Copy the bytes, because LangGraph's serializer may return its argument. The value must be a plain Uint8Array, not a
  // Buffer, and must not share memory with other parts.
  return serde.loadsTyped(tag, new Uint8Array(bytes));
}

/** For each of LangGraph's own serializers: true if a test has shown that it writes plain data as JSON. */
const jsonPlus = new WeakMap<SerializerProtocol, boolean>();

/** The tests of LangGraph's own serializers. */
const probes = new WeakMap<SerializerProtocol, Promise<boolean>>();

export function trust(serde: SerializerProtocol): void {
  jsonPlus.set(serde, false);
  const probed = probe(serde);
  probes.set(serde, probed);
  void probed.then((same) => jsonPlus.set(serde, same));
}

/** Resolves to true if a value has the same JSON within a serialized object as on its own. */
export async function splitsExactly(serde: SerializerProtocol): Promise<boolean> {
  return (await probes.get(serde)) ?? false;
}

/** Returns true if plain data may bypass the serializer. The bytes are the same, in a fraction of the time. */
export function isJsonPlus(serde: SerializerProtocol): boolean {
  return jsonPlus.get(serde) ?? false;
}

/**
 * Tests that the serializer writes plain data as JSON. If a later LangGraph does not, its serializer writes all data.
 */
async function probe(serde: SerializerProtocol): Promise<boolean> {
  const plain = {
    text: 'é"\ud800\n',
    list: [1, -0, 1e300, Number.NaN, null, true, [], {}],
    nested: { "": { lg_name: "sent" } },
  };
  try {
    const [tag, bytes] = await serde.dumpsTyped(plain);
    const json = JSON.stringify(plain);
    const read: unknown = await serde.loadsTyped("json", new TextEncoder().encode(json));
    return tag === "json" && Buffer.from(bytes).toString() === json && JSON.stringify(read) === json;
  } catch {
    return false;
  }
}
