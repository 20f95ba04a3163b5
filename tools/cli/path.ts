/** Reads arguments that are paths or JSON. Mistakes in them are usage errors. */

import { readFile } from "node:fs/promises";
import { parseJson } from "../../ts/bridge/json-form/json-text.js";
import { type PathStep, parsePath } from "../../ts/bridge/json-form/path.js";
import { UsageError, describe } from "./errors.js";

export function readPath(text: string): PathStep[] {
  return asUsage("", () => parsePath(text));
}

/** `what` names the argument in the message. */
function readJson(text: string, what: string): unknown {
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

/** Splits `<path>=<json>` at the first `=` that ends a path. A key in quotes may contain one. */
export function readSetting(text: string): [path: string, value: unknown] {
  let first: unknown;
  for (let at = text.indexOf("="); at >= 0; at = text.indexOf("=", at + 1)) {
    const path = text.slice(0, at);
    try {
      readPath(path);
    } catch (error) {
      first ??= error;
      continue;
    }
    return [path, readJson(text.slice(at + 1), `--set ${path}`)];
  }
  throw first ?? new UsageError(`--set: expected <path>=<json>, but found ${JSON.stringify(text)}`);
}

/** Reads the patch of `--patch`: JSON, `@` and a file, or `-` for stdin. */
export async function readPatch(text: string): Promise<unknown> {
  const patch = readJson(await sourceOf(text), "--patch");
  if (typeof patch === "object" && patch !== null && !Array.isArray(patch)) return patch;
  throw new UsageError("--patch: expected a JSON object with the keys to change; null removes a key");
}

async function sourceOf(text: string): Promise<string> {
  if (text.startsWith("@")) return readFile(text.slice(1), "utf8");
  if (text !== "-") return text;
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
