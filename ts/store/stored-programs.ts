/** Descriptions of programs in a store, and the runs that a program has ended. See `engine/src/contract/program.rs`. */

import type { CallsOf } from "../bridge/calls.js";
import type * as engine from "../bridge/calls.generated.js";
import { isOvertaken } from "../bridge/errors.js";
import type { NativeStore, RunKey } from "../bridge/native.js";
import { Contract } from "../bridge/wire.js";
import type { StoreHandle } from "./handle.js";
import type { HeldLease } from "./lease.js";
import { type ProgramShape, type ProgramVersion, shapeHash } from "./compare-programs.js";

/** A run that a program has ended for good. */
export interface EndedRun {
  /** The id of the run's newest checkpoint. If the run has a later one, it counts as open. */
  at: string;
  /** The fork that continues the run, until the fork has a checkpoint of its own. */
  fork?: PendingFork | undefined;
}

/** A fork that may not be there yet. */
export interface PendingFork {
  /** The id of the checkpoint from which the fork begins. */
  from: string;
  /** The ids of the fork and of its first checkpoint. */
  run: string;
  id: string;
}

type ProgramCalls = CallsOf<
  engine.program.Call,
  {
    describe: null;
    read: Array<string | null>;
    list: Array<{ id: string; savedAt: number; description: string }>;
    end: null;
    ended: string | null;
  }
>;

const calls = new Contract<ProgramCalls>("program", {
  kinds: { describe: null, read: null, list: null, end: null, ended: null },
  subject: ({ space, run }) => ({ space, run }),
});

/** The hashes that each handle has written or read. A store never loses a description. */
const known = new WeakMap<StoreHandle, Map<string, ProgramShape | null>>();

function knownOf(handle: StoreHandle): Map<string, ProgramShape | null> {
  const shapes = known.get(handle) ?? new Map<string, ProgramShape | null>();
  known.set(handle, shapes);
  return shapes;
}

/** Stores the description of a program of a contract. Costs nothing if this handle has done it before. */
export async function describeProgram(handle: StoreHandle, space: string, shape: ProgramShape): Promise<void> {
  const id = shapeHash(shape);
  const shapes = knownOf(handle);
  if (shapes.get(`${space}\0${id}`)) return;
  await handle.run(async ({ native }) => {
    const [found] = await calls.call(native, "read", { space, ids: [id] });
    const fields = { space, id, description: JSON.stringify(shape), savedAt: Date.now() };
    if (found !== null) return;
    await calls.call(native, "describe", fields).catch((error: unknown) => {
      // Another process was faster.
      if (!isOvertaken(error)) throw error;
    });
  }, null);
  shapes.set(`${space}\0${id}`, shape);
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

/** Lists the descriptions of a contract, in the order in which they were stored first. */
export function programsOf(handle: StoreHandle, space: string): Promise<StoredProgram[]> {
  return handle.run(({ native }) => programsIn(native, space));
}

/** A description in a store. */
export interface StoredProgram {
  /** Its hash. */
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

/** The names of the versions that are known of each store, by contract and hash. A store never loses a description. */
const names = new WeakMap<NativeStore, Map<string, string | null>>();

/**
 * Returns the versions with these hashes. Null for no hash. Reads only the descriptions that were not read before, so a listing
 * of runs without hashes reads nothing.
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

/** The places of descriptions, for a copy. */
export const programKeys = (space: string, ids: string[]): RunKey[] =>
  ids.map((run) => ({ space: calls.name, run, ns: space }));

/** The place of what {@link endRun} says of a run, for a copy. */
export const endedKey = ({ space, run }: { space: string; run: string }): RunKey => {
  return { space: calls.name, run, ns: `${space}/ended` };
};

/** Says that a run was ended for good. No program recovers it again, unless it has a later checkpoint. */
export async function endRun(
  handle: StoreHandle,
  { space, run }: { space: string; run: string },
  ended: EndedRun,
  lease: HeldLease,
): Promise<void> {
  const fields = { space, run, ended: JSON.stringify(ended), savedAt: Date.now() };
  await handle.run(({ native }) => calls.call(native, "end", fields), lease);
}

/** Returns what {@link endRun} has said of a run. Returns null if it has said nothing, or if the run has a later checkpoint. */
export async function endOf(
  handle: StoreHandle,
  { space, run }: { space: string; run: string },
  newest: string,
): Promise<EndedRun | null> {
  const text = await handle.run(({ native }) => calls.call(native, "ended", { space, run }));
  const ended = text === null ? null : (JSON.parse(text) as EndedRun);
  return ended?.at === newest ? ended : null;
}

/** Returns null for a description of a later release that cannot be read. */
function readShape(text: string): ProgramShape | null {
  try {
    const shape = JSON.parse(text) as Partial<ProgramShape> | null;
    return Array.isArray(shape?.nodes) && Array.isArray(shape.edges) ? (shape as ProgramShape) : null;
  } catch {
    return null;
  }
}
