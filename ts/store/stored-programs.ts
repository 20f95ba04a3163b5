/** Descriptions of programs in a store. See `engine/src/contract/program.rs`. */

import { crypto } from "../bridge/crypto.js";
import { isOvertaken } from "../bridge/errors.js";
import type { NativeStore, RunKey } from "../bridge/native.js";
import type { StoreHandle } from "./handle.js";
import { programCalls as calls } from "./ended-runs.js";
import { type ProgramShape, type ProgramVersion, shapeHash } from "./compare-programs.js";

/** The hashes that each handle has written or read. A store never loses a description. */
const known = new WeakMap<StoreHandle, Map<string, ProgramShape | null>>();

function knownOf(handle: StoreHandle): Map<string, ProgramShape | null> {
  const shapes = known.get(handle) ?? new Map<string, ProgramShape | null>();
  known.set(handle, shapes);
  return shapes;
}

/**
 * Stores the description of a contract's program, and that this version of the program has started. Does nothing if this
 * handle has already done both. A program without a name has no versions.
 */
export async function describeProgram(
  handle: StoreHandle,
  space: string,
  shape: ProgramShape,
  program?: string,
): Promise<void> {
  const id = shapeHash(shape);
  if (!knownOf(handle).get(`${space}\0${id}`)) await storeShape(handle, space, shape);
  const starts = startsOf.get(handle) ?? new Set<string>();
  startsOf.set(handle, starts);
  const start = `${space}\0${program}\0${id}`;
  if (program === undefined || starts.has(start)) return;
  await handle.run(async ({ native }) => {
    if ((await startedIn(native, space)).get(program) === id) return;
    const fields = { space: space + STARTED, id: crypto().randomUUID(), savedAt: Date.now() };
    await calls.call(native, "describe", { ...fields, description: JSON.stringify({ program, shape: id }) });
  }, null);
  starts.add(start);
}

/** A suffix for the contract in the entries of started versions. */
const STARTED = "/started";

/** The started versions that each handle has stored. */
const startsOf = new WeakMap<StoreHandle, Set<string>>();

/** Returns the hash of the version of each program that started last. */
export async function startedIn(native: NativeStore, space: string): Promise<Map<string, string>> {
  const started = new Map<string, string>();
  for (const { description } of await calls.call(native, "list", { space: space + STARTED })) {
    const { program, shape } = JSON.parse(description) as { program: string; shape: string };
    started.set(program, shape);
  }
  return started;
}

async function storeShape(handle: StoreHandle, space: string, shape: ProgramShape): Promise<void> {
  const id = shapeHash(shape);
  await handle.run(async ({ native }) => {
    const [found] = await calls.call(native, "read", { space, ids: [id] });
    const fields = { space, id, description: JSON.stringify(shape), savedAt: Date.now() };
    if (found !== null) return;
    await calls.call(native, "describe", fields).catch((error: unknown) => {
      // Another process was faster.
      if (!isOvertaken(error)) throw error;
    });
  }, null);
  knownOf(handle).set(`${space}\0${id}`, shape);
}

/** Reads the description with this hash. Returns null if the store has none. */
export async function programOf(handle: StoreHandle, space: string, id: string): Promise<ProgramShape | null> {
  const shapes = knownOf(handle);
  const found = shapes.get(`${space}\0${id}`);
  if (found) return found;
  const [text] = await handle.run(({ native }) => calls.call(native, "read", { space, ids: [id] }));
  const shape = text ? readShape(text) : null;
  if (shape !== null) shapes.set(`${space}\0${id}`, shape);
  return shape;
}

/** Lists the descriptions of a contract, in the order of their first save. */
export function programsOf(handle: StoreHandle, space: string): Promise<StoredProgram[]> {
  return handle.run(({ native }) => programsIn(native, space));
}

/** A description in a store. */
export interface StoredProgram {
  /** The hash of the description. */
  id: string;
  savedAt: number;
  shape: ProgramShape;
}

export async function programsIn(native: NativeStore, space: string): Promise<StoredProgram[]> {
  const found = await calls.call(native, "list", { space });
  return found.flatMap(({ id, savedAt, description }) => {
    const shape = readShape(description);
    return shape === null ? [] : [{ id, savedAt, shape }];
  });
}

/** The names of known versions of each store, by contract and hash. A store never loses a description. */
const names = new WeakMap<NativeStore, Map<string, string | null>>();

/**
 * Returns the versions with these hashes, and null for a missing hash. Reads only descriptions that were not read
 * before. A listing of runs without hashes reads nothing.
 */
export async function versionsOf(
  native: NativeStore,
  space: string,
  hashes: ReadonlyArray<string | null | undefined>,
): Promise<Array<ProgramVersion | null>> {
  const known = names.get(native) ?? new Map<string, string | null>();
  names.set(native, known);
  const keyOf = (hash: string) => `${space}\0${hash}`;
  const ids = [...new Set(hashes)].filter((hash) => typeof hash === "string" && !known.has(keyOf(hash))) as string[];
  if (ids.length > 0) {
    const found = await calls.call(native, "read", { space, ids });
    for (const [at, text] of found.entries()) {
      if (text !== null) known.set(keyOf(ids[at]!), readShape(text)?.version ?? null);
    }
  }
  return hashes.map((shape) =>
    typeof shape === "string" ? { version: known.get(keyOf(shape)) ?? null, shape } : null,
  );
}

/** Returns the hashes of the programs of a contract. */
export async function programIds(native: NativeStore, space: string): Promise<string[]> {
  return (await calls.call(native, "list", { space })).map(({ id }) => id);
}

/** The run keys of descriptions, for a copy. */
export const programKeys = (space: string, ids: string[]): RunKey[] =>
  ids.map((run) => ({ space: calls.name, run, ns: space }));

/** The run key of the entry of an ended or stopped run, for a copy. See `engine/src/contract/program.rs`. */
export const endedKey = ({ space, run, ns }: RunKey): RunKey => {
  if (ns === "") return { space: calls.name, run, ns: `${space}/ended` };
  return { space: calls.name, run: `${Buffer.byteLength(run)}:${run}${ns}`, ns: `${space}/ended/ns` };
};

/** Returns null if a later release wrote a description that this release cannot read. */
function readShape(text: string): ProgramShape | null {
  try {
    const shape = JSON.parse(text) as Partial<ProgramShape> | null;
    return Array.isArray(shape?.nodes) && Array.isArray(shape.edges) ? (shape as ProgramShape) : null;
  } catch {
    return null;
  }
}
