/** Reads arguments that are paths or JSON. Mistakes in them are usage errors. */

import { readFile } from "node:fs/promises";
import { parseJson, shellWord } from "../../ts/bridge/json-form/json-text.js";
import { type PathStep, formatPath, parsePath, valueAt } from "../../ts/bridge/json-form/path.js";
import { UsageError, describe } from "./errors.js";
import type { Change } from "../../ts/plugin/views.js";

export function readPath(text: string): PathStep[] {
  return asUsage("", () => parsePath(text));
}

/** `what` names the argument in the message. */
export function readJson(text: string, what: string): unknown {
  return asUsage(`${what}: `, () => parseJson(text));
}

function asUsage<T>(prefix: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const { code, message } = describe(error);
    throw code === "INVALID_ARGUMENT" ? new UsageError(`${prefix}${message}`) : error;
  }
}

/** A path and its new value. */
export type Setting = [path: string, value: unknown];

/** Splits `<path>=<json>` at the first `=` after a path. A quoted key may contain `=`. */
export function readSetting(text: string): Setting {
  let first: unknown;
  for (let at = text.indexOf("="); at >= 0; at = text.indexOf("=", at + 1)) {
    const path = text.slice(0, at);
    try {
      readPath(path);
    } catch (error) {
      first ??= error;
      continue;
    }
    return [path, readValue(path, text.slice(at + 1))];
  }
  throw first ?? new UsageError(`--set: expected <path>=<json>, but found ${JSON.stringify(text)}`);
}

/** Reads the JSON of a setting. The most frequent mistake is a text without quotes. */
function readValue(path: string, text: string): unknown {
  try {
    return readJson(text, `--set ${path}`);
  } catch (error) {
    if (!(error instanceof UsageError) || /^\s*[[{"]/.test(text)) throw error;
    const quoted = shellWord(`${path}=${JSON.stringify(text)}`);
    throw new UsageError(`${error.message}. Text needs quotes: --set ${quoted}`);
  }
}

/** Returns true for the name of a checkpoint's part, the first step of a path in `diff`. */
export function isPart(step: PathStep | undefined): step is Change["part"] {
  return step === "state" || step === "rest" || step === "writes";
}

/** Matches the names of channels that a graph makes for itself. */
const INTERNAL = /^(?:__.*|branch:to:.*|join:.*)$/s;

/** The maximum number of keys that a message lists. */
const LISTED = 12;

/** Lists the keys of an object for a message. Returns an empty text for any other value. */
export function namesOf(value: unknown): string {
  if (typeof value !== "object" || value === null || Array.isArray(value) || "$type" in value) return "";
  const names = Object.keys(value).filter((key) => !INTERNAL.test(key));
  const more = names.length > LISTED ? [`${names.length - LISTED} more`] : [];
  return [...names.slice(0, LISTED).map((name) => formatPath([name])), ...more].join(", ");
}

/**
 * Returns a setting whose path leads into the state. The path may begin with `state.`, as in the output of `diff`,
 * unless the state has a key `state`.
 */
export function settingIn(state: unknown, [path, value]: Setting): Setting {
  const [first, ...inside] = readPath(path);
  if (inside.length === 0 || !isPart(first) || valueAt(state, [first]) !== undefined) return [path, value];
  if (first !== "state") throw new UsageError(`--set ${path}: only values of the state can be set, not of ${first}`);
  return [path.replace(/^\.?(?:state|\["state"\])/, ""), value];
}

/** Returns a note if a setting adds a key to an object, because it may be a typo. */
export function newKey(state: unknown, [path]: Setting): string | undefined {
  const steps = readPath(path).filter((step) => typeof step !== "object");
  const [into, last] = [valueAt(state, steps.slice(0, -1)), steps.at(-1)];
  if (typeof last !== "string" || typeof into !== "object" || into === null) return undefined;
  if (valueAt(into, [last]) !== undefined) return undefined;
  const where = steps.length === 1 ? "the state" : formatPath(steps.slice(0, -1));
  const names = namesOf(into);
  return `${formatPath([last])} is a new key of ${where}${names === "" ? "" : `, which has ${names}`}`;
}

/** Reads the value of a flag: JSON, `@` and a file, or `-` for stdin. */
export async function readSource(text: string, flag: string): Promise<unknown> {
  return readJson(await sourceOf(text), flag);
}

/** Reads the patch of `--patch`. */
export async function readPatch(text: string): Promise<unknown> {
  const patch = await readSource(text, "--patch");
  if (typeof patch === "object" && patch !== null && !Array.isArray(patch)) return patch;
  throw new UsageError("--patch: expected a JSON object with the keys to change; null removes a key");
}

async function sourceOf(text: string): Promise<string> {
  if (text.startsWith("@")) return readFile(text.slice(1), "utf8");
  return text === "-" ? readStdin() : text;
}

export async function readStdin(): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
