/** The metadata of chats: how it is stored, and how chats are found by it. */

import { isArray, show, typeError } from "../../bridge/errors.js";
import { whole } from "../../bridge/bytes.js";
import { type Format, type Stored, deserialize, isCustom } from "../../bridge/serializer.js";
import { type OptionParser, object } from "../../store/options.js";
import type { ChatMetadata } from "./contract.js";
import { isSame } from "./same.js";

/** The largest index of a chat's metadata, in characters. */
const MOST = 2_000;

/** Metadata as it is stored. Null: the chat has none. */
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

/** The index of metadata that is not indexed. The engine finds everything that has a backslash. */
const UNINDEXED = JSON.stringify({ "\\": 0 });

/** The keys with simple values, as JSON. The user's serializer may be there to encrypt them. */
function indexOf(value: ChatMetadata, format: Format): string {
  if (isCustom(format)) return UNINDEXED;
  const text = JSON.stringify(Object.fromEntries(Object.entries(value).filter(([, each]) => isSimple(each))));
  return text.length > MOST ? UNINDEXED : text;
}

const isSimple = (value: unknown): boolean =>
  typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);

/** A condition for the metadata of chats. */
export interface MetadataFilter {
  /** What the index of a chat that passes must contain. More chats may have it. */
  texts: string[] | undefined;
  key: { key: string; value: string } | undefined;
  passes(metadata: ChatMetadata | null): boolean;
}

export const filterOption: OptionParser<MetadataFilter> = (given, name) => {
  const wanted = Object.entries(object(given, name));
  for (const [key, value] of wanted) {
    // JSON and callers that have lost a value must not find the chats of all users.
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
