// Shows a single value, on one line or in full.
import { typeOf } from "../../../ts/bridge/json-form/form.js";
import { type More, insideOf, moreOf } from "../forms.js";
import { bytes, count, counted, shown } from "./format.js";

/** The maximum number of characters on a line. */
const LINE = 300;

/** Returns the first bytes of a base64 text. */
export function firstBytes(base64: string, length: number): Uint8Array {
  try {
    const text = atob(base64.slice(0, Math.ceil(length / 3) * 4).replace(/[^A-Za-z0-9+/=]/g, ""));
    return Uint8Array.from(text.slice(0, length), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

export const hex = (some: Uint8Array): string =>
  Array.from(some, (byte) => byte.toString(16).padStart(2, "0")).join(" ");

/** The size of the decoded base64 text, in bytes. */
const sizeOfBase64 = (text: string): number => Math.floor((text.replace(/=+$/, "").length * 3) / 4);

/** Returns the number of entries of a container as text. */
function sizeText(kind: string, size: number): string {
  if (kind === "List") return `[${size === 0 ? "" : counted(size, "item")}]`;
  if (kind === "Object") return `{${size === 0 ? "" : counted(size, "key")}}`;
  return count(size);
}

/** A container on one line: its kind and number of entries, even if these are not loaded. */
function Container({ kind, size }: { kind: string; size: number }) {
  return (
    <>
      {kind !== "List" && kind !== "Object" && <span class="v-type">{shown(kind, 40)}</span>}
      <span class="dim">{sizeText(kind, size)}</span>
    </>
  );
}

/** A value that the answer has only a part of. */
function Cut({ more: { of, count: left, text } }: { more: More }) {
  if (of !== "Text") return <Container kind={of} size={left} />;
  return (
    <>
      <span class="v-text">{`"${oneLine(text ?? "")}`}</span>
      <span class="dim">… {count(left)} more</span>
    </>
  );
}

const oneLine = (text: string): string => shown(text.slice(0, LINE).replaceAll("\n", "↵"), LINE);

const textOfLeaf = (value: unknown): string => (typeof value === "string" ? value : (moreOf(value)?.text ?? ""));

/** A value on one line. `depth`: the number of steps to it. */
export function Value({ form, depth = 0 }: { form: unknown; depth?: number }) {
  if (form === undefined) return null;
  if (form === null) return <span class="v-word">null</span>;
  switch (typeof form) {
    case "string":
      return <span class="v-text">{`"${oneLine(form)}${form.length > LINE ? "…" : ""}"`}</span>;
    case "number":
      return <span class="v-number">{String(form)}</span>;
    case "boolean":
      return <span class="v-word">{String(form)}</span>;
  }
  const more = moreOf(form);
  if (more !== null) return <Cut more={more} />;
  const typed = form as Record<string, unknown>;
  const inside = insideOf(form, depth);
  if (inside?.kind === "Error") {
    const { name, message } = typed["value"] as { name?: unknown; message?: unknown };
    const text = `${textOfLeaf(name)}${message === undefined ? "" : `: ${textOfLeaf(message)}`}`;
    return (
      <>
        <span class="v-type">Error</span>
        <span class="v-text">{shown(text, LINE)}</span>
      </>
    );
  }
  if (inside !== null) return <Container kind={inside.kind} size={inside.entries.length + (inside.rest?.count ?? 0)} />;
  const { value } = typed;
  const type = String(typeOf(form));
  switch (type) {
    case "Undefined":
    case "Hole":
      return <span class="v-word">{type === "Hole" ? "hole" : "undefined"}</span>;
    case "Number":
    case "BigInt":
      return <span class="v-number">{`${shown(String(value), LINE)}${type === "BigInt" ? "n" : ""}`}</span>;
    case "Bytes": {
      const text = String(value);
      return (
        <>
          <span class="v-type">{shown(String(typed["view"] ?? "Bytes"), 40)}</span>
          <span class="dim">{bytes(sizeOfBase64(text))}</span>
          <span class="soft">{hex(firstBytes(text, 16))}</span>
        </>
      );
    }
    case "Opaque":
      return (
        <span class="row" data-testid="opaque">
          <span class="v-type">opaque</span>
          <span class="dim">
            {shown(String(typed["tag"]), 60)} · {bytes(Number(typed["bytes"]))}
          </span>
          <span class="soft">{hex(firstBytes(String(typed["base64"]), 16))}</span>
        </span>
      );
    case "RegExp": {
      const { source, flags } = (value ?? {}) as { source?: unknown; flags?: unknown };
      return <span class="v-text">{shown(`/${String(source)}/${String(flags)}`, LINE)}</span>;
    }
    default:
      return (
        <>
          <span class="v-type">{shown(type, 40)}</span>
          <span class="v-text">{shown(typeof value === "string" ? value : (JSON.stringify(value) ?? ""), LINE)}</span>
        </>
      );
  }
}

/** Writes a value with its content as JavaScript-like text, cut at a length. */
export function textOf(form: unknown, length: number): string {
  let text = "";
  const write = (piece: string): void => {
    text += shown(piece, length);
  };
  const add = (value: unknown, depth: number): void => {
    const inside = text.length > length ? null : insideOf(value, depth);
    if (inside === null) {
      write(leafText(value));
      return;
    }
    const { kind, entries, rest } = inside;
    const isList = kind === "List" || kind === "Set";
    write(`${kind === "List" || kind === "Object" ? "" : `${kind} `}${isList ? "[" : "{"}`);
    for (const [index, { step, steps, key, value: each }] of entries.entries()) {
      if (text.length > length) return;
      if (index > 0) write(", ");
      if (!isList) write(`${key === undefined ? String(step) : leafText(key)}: `);
      add(each, depth + steps.length);
    }
    if (rest !== null) write(`, … ${count(rest.count)} more`);
    write(isList ? "]" : "}");
  };
  add(form, 0);
  return text.length > length ? `${text.slice(0, length)}…` : text;
}

/** Writes a value without entries. */
function leafText(form: unknown): string {
  if (typeof form !== "object" || form === null) return typeof form === "string" ? JSON.stringify(form) : String(form);
  const { value, tag, bytes: size } = form as { value?: unknown; tag?: unknown; bytes?: unknown };
  const type = String(typeOf(form));
  const more = moreOf(form);
  if (more !== null)
    return more.of === "Text"
      ? `"${more.text ?? ""}… ${count(more.count)} more`
      : `${more.of} ${sizeText(more.of, more.count)}`;
  if (type === "Opaque") return `Opaque ${String(tag)} (${bytes(Number(size))})`;
  if (type === "Bytes") return `Bytes (${bytes(sizeOfBase64(String(value)))})`;
  if (type === "BigInt") return `${String(value)}n`;
  if (type === "Number") return String(value);
  if (value === undefined) return type.toLowerCase();
  return `${type}(${typeof value === "string" ? value : JSON.stringify(value)})`;
}

/** Bytes as a table of lines: offset, bytes, letters. */
export function hexDump(some: Uint8Array): string {
  const lines: string[] = [];
  for (let at = 0; at < some.length; at += 16) {
    const line = some.subarray(at, at + 16);
    const letters = Array.from(line, (byte) => (byte >= 32 && byte < 127 ? String.fromCharCode(byte) : "·")).join("");
    lines.push(`${at.toString(16).padStart(6, "0")}  ${hex(line).padEnd(47)}  ${letters}`);
  }
  return lines.join("\n");
}

/** A text with line breaks and tabs. Other characters that are not letters are escaped. */
const lines = (text: string): string =>
  text
    .split(/([\n\t])/)
    .map((each, at) => (at % 2 === 1 ? each : shown(each, text.length)))
    .join("");

/** Returns the complete value as text, for the details. Null: its line is complete. */
export function wholeText(form: unknown): string | null {
  if (typeof form === "string") return lines(form);
  const more = moreOf(form);
  if (more?.text !== undefined) return `${lines(more.text)}…`;
  if (more !== null || insideOf(form, 0) !== null) return null;
  const typed = form as Record<string, unknown> | null;
  if (typeOf(form) === "Bytes") return hexDump(firstBytes(String(typed?.["value"]), 4_096));
  if (typeOf(form) === "Opaque") return hexDump(firstBytes(String(typed?.["base64"]), 1_024));
  return typeof form === "object" && form !== null ? JSON.stringify(form, null, 2) : String(form);
}
