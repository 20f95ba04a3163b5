/**
 * Converts values to bytes and back. The formats are structured clone with JSON's rules, JSON, and the user's own
 * serializer. Each record carries the name of its format. Reading an unknown format throws an error with its name.
 */

import { Deserializer, Serializer as V8Serializer } from "node:v8";
import { adopt } from "./adopt.js";
import { type Bytes, Pieces, whole } from "./bytes.js";
import { ForkpointError, isOwnError, messageOf, refusal, show, textOf, typeError } from "./errors.js";
import { JsonWriter } from "./incremental/json.js";
import { ListWriter, readLists } from "./incremental/list-format.js";
import { isPlainData, isSmallJson, plainCopy } from "./snapshot.js";

/**
 * Turns values into bytes and back, synchronously.
 *
 * @example
 * ```ts
 * const json: Serializer = {
 *   name: "my-json",
 *   serialize: (value) => Buffer.from(JSON.stringify(value)),
 *   deserialize: (bytes) => JSON.parse(Buffer.from(bytes).toString()),
 * };
 * ```
 */
export interface Serializer {
  /**
   * The serializer's name, which is stored with every record. Must not be `"v8"` or `"json"`. `deserialize` gets only
   * records with this name.
   */
  readonly name: string;
  /** Returns the bytes of a value. Must not keep or change the value. */
  serialize(value: unknown): Uint8Array;
  /** Turns the bytes back into their value. Must return a new value every time. */
  deserialize(bytes: Uint8Array): unknown;
}

/** A serialized value and the name of its format. */
export interface Serialized {
  tag: string;
  bytes: Bytes;
}

/** A stored value. Its bytes are in one piece. */
export interface Stored extends Serialized {
  bytes: Uint8Array;
}

/** A serializer inside the stores. It gets the path or the name of each value for error messages. */
export interface Format {
  readonly name: string;
  /** The format names that `serialize` may return. */
  readonly tags: readonly string[];
  /** `fromToJSON` is true if the value is the result of a toJSON. The value's own toJSON is then not called. */
  serialize(value: unknown, path: string, fromToJSON?: boolean): Serialized;
  /** Counts the bytes of a save that do not come from `serialize`. */
  readonly counter?: { take(bytes: Bytes): void };
  deserialize(bytes: Uint8Array): unknown;
}

const later = (): typeof import("./later.js") => require("./later.js");

const cloneFormat: Format = {
  name: "v8",
  tags: ["v8", "json", "lists"],
  serialize(value, path, fromToJSON) {
    // Most states are plain data, which V8 serializes directly. All other values are first copied into a serializable
    // form.
    try {
      if (isSmallJson(value)) return { tag: "json", bytes: Buffer.from(JSON.stringify(value)) };
      const put = listWriter.serialize(value);
      if (put !== undefined) return { tag: "lists", bytes: put };
      if (isPlainData(value)) return { tag: "v8", bytes: write(value) };
    } catch {
      // A proxy, or a value that is too deep for V8. The copy handles it or reports its path in an error.
    }
    const copy = plainCopy(value, path, fromToJSON);
    try {
      return { tag: "v8", bytes: write(copy) };
    } catch (error) {
      throw refusal(path, messageOf(error), error);
    }
  },
  deserialize: (bytes) => {
    const deserializer = new ValueDeserializer(bytes);
    deserializer.readHeader();
    return adopt(deserializer.readValue());
  },
};

/** Values with growing lists (`incremental/list-format.ts`), written by `v8`. */
const listsFormat: Format = {
  ...cloneFormat,
  name: "lists",
  deserialize: (bytes) => adopt(readLists(new ValueDeserializer(bytes))),
};

/** JSON text contains these characters only where an object has this key. */
const hasType = (text: string): boolean => text.includes('"$type":');

/**
 * The values of the default format as JSON text. A value that JSON cannot represent becomes an object with `$type`
 * (`json-form/form.ts`). Stores of text files use this format, so that people and jq can read every value. So do
 * runtimes without V8's serializer, such as Bun. Every runtime reads it.
 */
const textFormat: Format = {
  name: "json-form",
  tags: ["json-form", "json"],
  serialize: (value, path, fromToJSON) => asTextForm(later().toJsonForm, value, path, fromToJSON),
  deserialize: (bytes) => later().fromJsonForm(jsonFormat.deserialize(bytes)),
};

/** Serializes a value as JSON text. `formOf` makes the JSON form. */
function asTextForm(
  formOf: (value: unknown) => unknown,
  value: unknown,
  path: string,
  fromToJSON?: boolean,
): Serialized {
  let isSmall = false;
  try {
    isSmall = isSmallJson(value);
  } catch {
    // A proxy, or a very deep value. The copy handles it or reports its path in an error.
  }
  let text = isSmall ? JSON.stringify(value) : undefined;
  if (text === undefined || hasType(text)) text = JSON.stringify(formOf(plainCopy(value, path, fromToJSON)));
  return { tag: hasType(text) ? "json-form" : "json", bytes: Buffer.from(text) };
}

/** Rejects V8's format in a runtime without V8. */
function unreadable(): never {
  throw new ForkpointError(
    "UNSUPPORTED",
    "this value was written by V8's serializer, and this runtime is not built on V8: read it with Node.js. Every " +
      'runtime reads the values of text files, and those of a store that was opened with serializer: "json"',
  );
}

const jsonFormat: Format = {
  name: "json",
  tags: ["json"],
  serialize(value, path) {
    let text: string | undefined;
    try {
      const put = jsonWriter.serialize(value);
      if (put !== undefined) return { tag: "json", bytes: put };
      text = JSON.stringify(value);
    } catch (error) {
      throw refusal(path, messageOf(error), error);
    }
    if (text === undefined) throw refusal(path, `JSON has no ${typeof value}`);
    return { tag: "json", bytes: Buffer.from(text) };
  },
  deserialize: (bytes) => JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()),
};

const hasV8 = hasV8Serializer();

const readable = (format: Format): Format => (hasV8 ? format : { ...format, deserialize: unreadable });

/** The format of the default serializer. */
const v8Format = hasV8 ? cloneFormat : textFormat;

const builtIn = new Map(
  [readable(cloneFormat), readable(listsFormat), textFormat, jsonFormat].map((format) => [format.name, format]),
);

function hasV8Serializer(): boolean {
  try {
    return new V8Serializer() instanceof V8Serializer;
  } catch {
    return false;
  }
}

export function builtInFormat(name: string): Format | undefined {
  return builtIn.get(name);
}

/** Returns true for a user's serializer. Its output may be encrypted. */
export const isCustom = ({ name }: Format): boolean => !builtIn.has(name);

/** Returns the format that replaces this one in a store of text files. */
export function asText(format: Format): Format {
  return format === v8Format ? textFormat : format;
}

/** The names of the formats whose values {@link storedAsText} converts. */
export const binaryTags = ["v8", "lists"];

/**
 * Returns a value of a binary format as text. Some values stay as they are: those without a JSON form, those that
 * cannot be read here, and those that would take minutes as text.
 */
export function storedAsText(stored: Stored): Stored {
  try {
    const { tag, bytes } = asTextForm(later().shortForm, readBack(stored), "value");
    return { tag, bytes: whole(bytes) };
  } catch {
    return stored;
  }
}

/** Returns the format for the `serializer` option. */
export function formatOf(option: "v8" | "json" | Serializer): Format {
  if (option === "v8") return v8Format;
  if (option === "json") return jsonFormat;
  if (typeof option !== "object" || option === null) {
    const shown = typeof option === "string" ? JSON.stringify(option) : show(option);
    throw typeError(`option "serializer" must be "v8", "json" or an object, but is ${shown}`);
  }
  const { name } = option;
  if (typeof name !== "string" || name === "" || name.length > 64 || !name.isWellFormed()) {
    throw typeError('option "serializer" must have a name of 1 to 64 characters');
  }
  if (builtIn.has(name)) throw typeError(`option "serializer" is named "${name}", which is taken: choose another name`);
  for (const method of ["serialize", "deserialize"] as const) {
    if (typeof option[method] !== "function") throw typeError(`option "serializer" must have a method ${method}()`);
  }
  return {
    name,
    tags: [name],
    serialize(value, path) {
      let bytes: Uint8Array;
      try {
        bytes = option.serialize(value);
      } catch (error) {
        if (isOwnError(error)) throw error;
        throw refusal(path, `the serializer "${name}" threw ${textOf(error)}`, error);
      }
      if (!(bytes instanceof Uint8Array)) {
        throw typeError(`serializer "${name}" must return a Uint8Array for ${path}, but returned ${show(bytes)}`);
      }
      // Copy the bytes, because the serializer may reuse its buffer for the next part.
      return { tag: name, bytes: Uint8Array.prototype.slice.call(bytes) };
    },
    // Pass a copy, because the serializer may return a view of its input.
    deserialize: (bytes) => option.deserialize(Buffer.from(new Uint8Array(bytes).buffer)),
  };
}

/** Deserializes an object that the format named `tag` wrote. */
export function deserialize(storeFormat: Format, tag: string, bytes: Bytes, what: string): object {
  const value = deserializeValue(storeFormat, tag, bytes, what);
  // An object was stored, so anything else is an error of the user's serializer.
  if (typeof value !== "object" || value === null) throw notWhatWasStored(tag, value, what);
  return value;
}

/** Deserializes a value that the format named `tag` wrote. Undefined is not a valid result. */
export function deserializeValue(storeFormat: Format, tag: string, bytes: Bytes, what: string): unknown {
  const format = tag === storeFormat.name ? storeFormat : builtIn.get(tag);
  if (format === undefined) {
    throw new ForkpointError(
      "UNSUPPORTED",
      `${what} was written by the serializer "${tag}": open the store with that serializer to read it`,
    );
  }
  let value: unknown;
  try {
    value = format.deserialize(whole(bytes));
  } catch (error) {
    if (isOwnError(error)) throw error;
    throw notReadable(format.name, what, error);
  }
  if (value === undefined) throw notWhatWasStored(tag, value, what);
  return value;
}

/** Makes the error for stored bytes that their serializer cannot read. */
export function notReadable(serializer: string, what: string, cause: unknown): ForkpointError {
  return new ForkpointError(
    "CORRUPT",
    `${what} cannot be read: the serializer "${serializer}" threw ${textOf(cause)}. Check that the serializer ` +
      "and its keys are the ones that wrote the value. If they are, restore a backup",
    { cause },
  );
}

function notWhatWasStored(tag: string, value: unknown, what: string): ForkpointError {
  return new ForkpointError(
    "INVALID_ARGUMENT",
    `serializer "${tag}" returned ${show(value)} for ${what}: deserialize() must return the value that serialize() received`,
  );
}

export function parseStored(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw notReadable("json", what, error);
  }
}

/** Deserializes a value that a built-in format wrote. */
export function readBack({ tag, bytes }: Serialized): unknown {
  return builtIn.get(tag)!.deserialize(whole(bytes));
}

/** Copies a value by serializing and deserializing it. The copy equals the value that a store would return. */
export function copyOf<T>(value: T, path: string): T {
  const serialized = v8Format.serialize(value, path);
  try {
    return readBack(serialized) as T;
  } finally {
    if (serialized.bytes instanceof Pieces) serialized.bytes.letGo();
  }
}

/** Copies a filter, because the caller may change it during the search. Values that are no plain data are not copied. */
export function copyOfFilter<T extends object>(filter: T, path: string): T {
  const entries = Object.entries(filter).map(([key, value]: [string, unknown]) => [
    key,
    typeof value === "object" && value !== null && isPlainData(value) ? copyOf(value, `${path}.${key}`) : value,
  ]);
  return Object.fromEntries(entries) as T;
}

// This module serializes typed arrays and buffers itself. Node's subclass also numbers these types, but its numbers may
// change, and its deserializer returns views of one shared buffer. Records store the index of a type in this list: add
// types at the end, and never reorder them.
const views = [
  Int8Array,
  Uint8Array,
  Uint8ClampedArray,
  Int16Array,
  Uint16Array,
  Int32Array,
  Uint32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
  DataView,
] as const;
const BUFFER = 64;

const viewNumbers = new Map<string, number>(views.map((view, number) => [view.name, number]));

class Writer extends V8Serializer {
  _writeHostObject(object: object): void {
    if (!ArrayBuffer.isView(object)) throw new TypeError(`${Object.prototype.toString.call(object)} cannot be stored`);
    const name = Object.prototype.toString.call(object).slice(8, -1);
    const number = Buffer.isBuffer(object) ? BUFFER : viewNumbers.get(name);
    if (number === undefined) throw new TypeError(`a ${name} cannot be stored`);
    this.writeUint32(number);
    this.writeUint32(object.byteLength);
    this.writeRawBytes(new Uint8Array(object.buffer, object.byteOffset, object.byteLength));
  }
}

class ValueDeserializer extends Deserializer {
  _readHostObject(): unknown {
    const number = this.readUint32();
    // Give each view its own buffer.
    const { buffer } = new Uint8Array(this.readRawBytes(this.readUint32()));
    if (number === BUFFER) return Buffer.from(buffer);
    const View = views[number] as (new (buffer: ArrayBuffer) => ArrayBufferView) | undefined;
    if (View === undefined) {
      throw new ForkpointError("UNSUPPORTED", `a typed array of kind ${number} needs a later version of forkpoint`);
    }
    return new View(buffer);
  }
}

function makeWriter(): V8Serializer {
  const writer = new Writer();
  // Missing from Node's types: https://nodejs.org/api/v8.html#serializer_settreatarraybufferviewsashostobjectsflag
  (
    writer as unknown as { _setTreatArrayBufferViewsAsHostObjects(on: boolean): void }
  )._setTreatArrayBufferViewsAsHostObjects(true);
  return writer;
}

/** Serializes a value with V8's serializer. Throws if V8 cannot write it. */
function write(value: unknown): Uint8Array {
  const writer = makeWriter();
  writer.writeHeader();
  writer.writeValue(value);
  return writer.releaseBuffer();
}

const listWriter = new ListWriter(makeWriter);
const jsonWriter = new JsonWriter({ render: (item) => Buffer.from(JSON.stringify(item)) });
