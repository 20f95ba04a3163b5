/** Patches for the state of a fork. */

import type { Engine } from "../../store/engine.js";
import { quote, reading, readingArgument, show, typeError } from "../../bridge/errors.js";
import { hint } from "../../store/options.js";
import { type Format, type Serialized, deserialize } from "../../bridge/serializer.js";

const partitions = ["input", "scratch", "artifacts", "diagnostics"] as const;

/**
 * Fields of a patch that are ignored: a run's position, and the memory, which a resume reads again. The framework's
 * type allows them, and the framework ignores them too.
 */
const ignored: ReadonlySet<string> = new Set(["currentNodeId", "visitedNodes", "iteration", "checkpointId", "memory"]);

/** Serializes the patch before `fork` returns its promise. Returns undefined if the patch changes nothing. */
export function snapshotPatch(patch: unknown, { format }: Engine): Serialized | undefined {
  if (patch === undefined || patch === null) return undefined;
  if (typeof patch !== "object") throw typeError(`patchState must be an object, but is ${show(patch)}`);
  const keys = reading("patchState", () => Object.keys(patch));
  const lost = reading("patchState", () => keys.filter((key) => (patch as Record<string, unknown>)[key] !== undefined));
  refuseUnknown(
    lost.filter((key) => !ignored.has(key)),
    "patchState",
  );
  const given = reading("patchState", () => {
    return partitions.map((partition) => [partition, (patch as Record<string, unknown>)[partition]] as const);
  }).filter(([, value]) => value !== undefined && value !== null);
  for (const [partition, value] of given)
    readingArgument(`patchState.${partition}`, () => requirePartition(partition, value));
  return given.length === 0 ? undefined : format.serialize(Object.fromEntries(given), "patchState");
}

/** Refuses a key that is not a partition. No node would read its value. */
export function refuseUnknown(keys: readonly string[], what: string): void {
  const key = keys.find((each) => !(partitions as readonly string[]).includes(each));
  if (key === undefined) return;
  throw typeError(
    `Unknown partition ${quote(key)} in ${what}.${hint(key, partitions)} It takes ` +
      `{ ${partitions.join(", ")} }, each with the keys to change`,
  );
}

/** Only `input` may be a list, a Map or another special object. AgentOS adds keys to the other partitions. */
function requirePartition(partition: string, value: unknown): void {
  const isObject = typeof value === "object" && value !== null;
  if (isObject && (partition === "input" || Object.prototype.toString.call(value) === "[object Object]")) return;
  throw typeError(
    `patchState.${partition} must be an object with the keys to change, but is ${show(value)}: leave a partition out to ` +
      "keep it",
  );
}

/** Returns the state of a checkpoint with the patch's partitions merged over its own. */
export function patched(format: Format, checkpointId: string, state: Serialized, patch: Serialized): Serialized {
  const of = `checkpoint ${quote(checkpointId)}`;
  const merged = deserialize(format, state.tag, state.bytes, of) as Record<string, unknown>;
  for (const [partition, value] of Object.entries(deserialize(format, patch.tag, patch.bytes, "the patch"))) {
    const old = merged[partition];
    // Spread syntax defines properties instead of assigning them, so a key "__proto__" of the patch is an ordinary key.
    merged[partition] = isRecord(old) && isRecord(value) ? { ...old, ...value } : value;
  }
  return format.serialize(merged, "state");
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
