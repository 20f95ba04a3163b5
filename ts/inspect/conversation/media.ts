/** Reads the types and sizes of images, sounds and files in messages. Their content is left out. */

import { typeOf } from "../../bridge/json-form/form.js";
import type { Reader } from "./reader.js";
import type { MessagePart } from "./message.js";

/** The maximum length of a URL or a name that is shown. */
const SHOWN = 500;

/** Matches a `data:` URL: its media type, and whether it is base64. */
const DATA = /^data:([^;,]{0,100})[^,]{0,200}?(;base64)?,/i;

type Media = Extract<MessagePart, { type: "media" }>;

/** The keys of a file's content in different formats. */
const contents = [
  "data",
  "image",
  "url",
  "image_url",
  "imageUrl",
  "fileData",
  "file_data",
  "source",
  "file",
  "input_audio",
  "audio",
  "base64",
];

/** Reads a part that contains a file. `kind` is the kind of the part, such as `"input_image"`. */
export function mediaOf(reader: Reader, part: unknown, kind: string): Media {
  const content = contentOf(reader, part, 0);
  const named = [part, ...["source", "file", "image", "input_audio", "inlineData"].map((key) => reader.get(part, key))];
  const first = (...keys: string[]) =>
    named.map((each) => reader.text(each, ...keys)).find((each) => each !== null) ?? null;
  const said = first("mediaType", "mimeType", "mime_type", "media_type", "format");
  return {
    type: "media",
    mediaType: (said ?? content.mediaType ?? kind.replace(/^input_|_url$/g, "")).slice(0, SHOWN),
    bytes: content.bytes,
    name: first("filename", "fileName", "name", "title")?.slice(0, SHOWN) ?? null,
    url: content.url?.slice(0, SHOWN) ?? null,
  };
}

interface Content {
  mediaType: string | null;
  bytes: number | null;
  url: string | null;
}

const none: Content = { mediaType: null, bytes: null, url: null };

/** Finds the content: base64, bytes, or a URL. It may be nested up to two levels deep. */
function contentOf(reader: Reader, holder: unknown, depth: number): Content {
  for (const key of contents) {
    const value = reader.get(holder, key);
    if (typeof value === "string") return contentIn(value);
    if (typeOf(value) === "Bytes") {
      const { value: base64 } = value as { value?: unknown };
      return { ...none, bytes: typeof base64 === "string" ? sizeOfBase64(base64) : null };
    }
    if (value !== undefined && depth < 2) {
      const inner = contentOf(reader, value, depth + 1);
      if (inner !== none) return inner;
    }
  }
  return none;
}

function contentIn(text: string): Content {
  const [head, mediaType, isBase64] = DATA.exec(text) ?? [];
  if (head !== undefined) {
    const bytes = isBase64 === undefined ? text.length - head.length : sizeOfBase64(text, head.length);
    return { mediaType: mediaType || null, bytes, url: null };
  }
  if (/^[a-z][a-z\d+.-]{1,20}:/i.test(text)) return { ...none, url: text };
  return { ...none, bytes: sizeOfBase64(text) };
}

/** Returns the size of decoded base64 text, in bytes, starting at an index. */
function sizeOfBase64(text: string, from = 0): number {
  const padding = text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0;
  return Math.max(0, Math.floor(((text.length - from) * 3) / 4) - padding);
}
