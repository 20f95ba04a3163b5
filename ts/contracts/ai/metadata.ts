/** Stores the metadata of chats, and finds chats by it. */

import { isArray, show, typeError } from "../../bridge/errors.js";
import { whole } from "../../bridge/bytes.js";
import { type Format, type Stored, copyOfFilter, deserialize, isCustom } from "../../bridge/serializer.js";
import { type OptionParser, object } from "../../store/options.js";
import type { ChatMetadata } from "./contract.js";
import { isSame } from "./same.js";

/** The maximum size of a chat's metadata index, in characters. */
const MOST = 2_000;

/** Stored metadata. Null: the chat has none. */
export interface StoredMetadata {
  value: ChatMetadata | null;
  stored: Stored | undefined;
  index: string;
}

export const NO_METADATA: StoredMetadata = { value: null, stored: undefined, index: "{}" };

export const metadataOption: OptionParser<ChatMetadata | null> = (value, name) => {
  if (value === null) return null;
  if (typeof value === "object" && !isArray(value)) return value as ChatMetadata;
  throw typeError(`${name} must be an object or null, but is ${show(value)}`);
};

/** Takes a snapshot of metadata. */
export function metadataOf(value: ChatMetadata | null, format: Format): StoredMetadata {
  if (value === null) return NO_METADATA;
  const { tag, bytes } = format.serialize(value, "metadata");
  const stored = { tag, bytes: whole(bytes) };
  return readMetadata(stored, indexOf(readValue(stored, format), format), format);
}

/** Reads stored metadata. */
export function readMetadata(stored: Stored | undefined, index: string, format: Format): StoredMetadata {
  return stored === undefined ? NO_METADATA : { value: readValue(stored, format), stored, index };
}

const readValue = ({ tag, bytes }: Stored, format: Format): ChatMetadata =>
  deserialize(format, tag, bytes, "the metadata of a chat") as ChatMetadata;

/** The index of metadata without an index. The engine returns every chat with a backslash in its index. */
const UNINDEXED = JSON.stringify({ "\\": 0 });

/** Returns the keys with simple values, as JSON. The user's serializer may encrypt, so its data is not indexed. */
function indexOf(value: ChatMetadata, format: Format): string {
  if (isCustom(format)) return UNINDEXED;
  const text = JSON.stringify(Object.fromEntries(Object.entries(value).filter(([, each]) => isSimple(each))));
  return text.length > MOST ? UNINDEXED : text;
}

const isSimple = (value: unknown): boolean =>
  typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);

/** A condition on the metadata of chats. */
export interface MetadataFilter {
  /** Texts in the index of every matching chat. Other chats may have them too. */
  texts: string[] | undefined;
  key: { key: string; value: string } | undefined;
  passes(metadata: ChatMetadata | null): boolean;
}

export const filterOption: OptionParser<MetadataFilter> = (given, name) => {
  const wanted = Object.entries(copyOfFilter(object(given, name), name));
  for (const [key, value] of wanted) {
    // A caller that lost a value must not get the chats of all users.
    if (value === undefined) throw typeError(`${name}.${key} is undefined: pass a value, or leave out the key`);
  }
  const passes = (metadata: ChatMetadata | null) =>
    wanted.every(([key, value]) => metadata !== null && Object.hasOwn(metadata, key) && isSame(metadata[key], value));
  const simple = wanted.filter(([key, value]) => isSimple(value) && !JSON.stringify([key, value]).includes("\\"));
  const pairs = simple.map(([key, value]) => ({ key, value: JSON.stringify(value) }));
  const texts = pairs.map(({ key, value }) => `${JSON.stringify(key)}:${value}`);
  const key = pairs.find(({ value }) => value.startsWith('"'));
  return { texts: texts.length === 0 ? undefined : texts, key, passes };
};
