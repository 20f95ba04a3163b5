/** Loads the serializers of the user's own modules: `--serializer <module>`. */

import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { isAbsolute, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { messageOf, quote } from "../../ts/bridge/errors.js";
import { UsageError } from "./errors.js";
import type { Serializer } from "../../ts/bridge/serializer.js";

/** Returns the serializers that the modules export: as the default export, by name, or in a list. */
export async function loadSerializers(modules: string[]): Promise<Serializer[]> {
  const found = await Promise.all(modules.map(loadModule));
  return found.flat();
}

async function loadModule(name: string): Promise<Serializer[]> {
  let exported: Record<string, unknown>;
  try {
    exported = (await import(placeOf(name))) as Record<string, unknown>;
  } catch (error) {
    throw new UsageError(`cannot load the module ${quote(name)} of --serializer: ${messageOf(error)}`);
  }
  const serializers = new Set([...Object.values(exported), exported["default"]].flatMap(serializersIn));
  if (serializers.size > 0) return [...serializers];
  throw new UsageError(
    `the module ${quote(name)} of --serializer exports no serializer: export an object with name, serialize and deserialize`,
  );
}

/** A CommonJS module also has its named exports in the default export. */
function serializersIn(exported: unknown): Serializer[] {
  if (isSerializer(exported)) return [exported];
  return typeof exported === "object" && exported !== null ? Object.values(exported).filter(isSerializer) : [];
}

function isSerializer(value: unknown): value is Serializer {
  if (typeof value !== "object" || value === null) return false;
  const { name, serialize, deserialize } = value as Record<string, unknown>;
  return typeof name === "string" && typeof serialize === "function" && typeof deserialize === "function";
}

/** Resolves a path or the name of a package from the working directory. */
function placeOf(name: string): string {
  if (/^file:/i.test(name)) return name;
  const path = resolve(name);
  if (isAbsolute(name) || name.startsWith(".") || existsSync(path)) return pathToFileURL(path).href;
  return pathToFileURL(createRequire(join(process.cwd(), "package.json")).resolve(name)).href;
}
