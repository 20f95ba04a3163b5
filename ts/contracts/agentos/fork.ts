/** Forks: a new run from a checkpoint, with a patch over its state. */

import { randomUUID } from "node:crypto";
import type { Engine } from "../../store/engine.js";
import { ForkpointError, quote, reading, readingArgument, show, typeError } from "../../bridge/errors.js";
import { idOrNull } from "../../store/ids.js";
import { decodeMark, encodeMark } from "../../store/mark.js";
import { hint } from "../../store/options.js";
import { stateAndRest } from "../shared/record.js";
import { type Serialized, deserialize } from "../../bridge/serializer.js";
import { type Fields, find, put } from "./checkpoints.js";
import { agentos } from "./wire.js";

const partitions = ["input", "scratch", "artifacts", "diagnostics"] as const;

/** The position of a run. The type of a patch in the framework allows it, and the framework ignores it, too. */
const ignored: ReadonlySet<string> = new Set(["currentNodeId", "visitedNodes", "iteration", "checkpointId"]);

export async function fork(engine: Engine, checkpointId: string, patchState: unknown): Promise<string> {
  // Serialise the patch now, because the caller may change it while the source checkpoint is read.
  const patch = snapshotPatch(patchState, engine);
  const [id, runId] = [randomUUID(), randomUUID()];
  if (patch === undefined) {
    const source = idOrNull(checkpointId, "checkpointId");
    if (source === null) throw nothingToFork(checkpointId);
    const timestamp = Date.now();
    await agentos.call(engine.native, "fork", { checkpointId: source, id, runId, timestamp, savedAt: timestamp });
    return runId;
  }
  const found = await find(engine, checkpointId);
  if (found === null) throw nothingToFork(checkpointId);
  const { format } = engine;
  const { id: parent, graphId, nodeId, hasMemorySnapshot } = found.metadata;
  const [state, rest] = stateAndRest(found.parts, parent);
  const { status } = found;
  const ids = { id, runId, graphId, nodeId, parent };
  // The fork belongs to the same program, and no process works on it.
  const mark = encodeMark({ ...decodeMark(found.mark), by: undefined });
  const fields: Fields = { ...ids, timestamp: Date.now(), hasMemorySnapshot, status, expectedNewest: undefined, mark };
  const what = `checkpoint ${quote(parent)}`;
  const patched = merge(
    deserialize(format, state.tag, state.bytes, what),
    deserialize(format, patch.tag, patch.bytes, "the patch"),
  );
  await put(engine, fields, format.serialize(patched, "state"), rest);
  return runId;
}

function nothingToFork(checkpointId: string): ForkpointError {
  return new ForkpointError("NOT_FOUND", `checkpoint ${quote(checkpointId)} not found: nothing to fork from`);
}

/** Serialises the patch before `fork` returns its promise. Returns undefined if the patch changes nothing. */
function snapshotPatch(patch: unknown, { format }: Engine): Serialized | undefined {
  if (patch === undefined || patch === null) return undefined;
  if (typeof patch !== "object") throw typeError(`patchState must be an object, and is ${show(patch)}`);
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

/** Refuses a key that is no partition of a state. No node would read its value. */
export function refuseUnknown(keys: readonly string[], what: string): void {
  const key = keys.find((each) => !(partitions as readonly string[]).includes(each));
  if (key === undefined) return;
  throw typeError(
    `Unknown partition ${quote(key)} in ${what}.${hint(key, partitions)} It takes ` +
      `{ ${partitions.join(", ")} }, each with the keys to change`,
  );
}

/** Only `input` may be a list, a Map or another special object, because AgentOS adds keys to the other partitions. */
function requirePartition(partition: string, value: unknown): void {
  const isObject = typeof value === "object" && value !== null;
  if (isObject && (partition === "input" || Object.prototype.toString.call(value) === "[object Object]")) return;
  throw typeError(
    `patchState.${partition} must be an object with the keys to change, and is ${show(value)}: leave a partition out to ` +
      "keep it",
  );
}

/**
 * Merges the patch's partitions over the state's partitions. The state and the patch are fresh objects, so this
 * function may change them.
 */
function merge(state: unknown, patch: unknown): unknown {
  const merged = state as Record<string, unknown>;
  for (const [partition, value] of Object.entries(patch as Record<string, unknown>)) {
    const old = merged[partition];
    // Spread syntax defines properties instead of assigning them, so a key "__proto__" of the patch is an ordinary key.
    merged[partition] = isRecord(old) && isRecord(value) ? { ...old, ...value } : value;
  }
  return merged;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
