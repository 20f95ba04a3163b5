/** Undoes the work of a stopped run: the policy `"rollback"`. */

import { ForkpointError, quote } from "../bridge/errors.js";
import type { RunKey } from "../bridge/native.js";
import { traitsOf } from "../contracts/registry.js";
import type { Engine } from "./engine.js";
import type { StoreContract, Undo } from "./host.js";
import { inspect, newestId } from "./newest.js";

/** The number of checkpoints that one transaction removes. */
const BATCH = 500;

/** Returns how a contract undoes work. Undefined: it cannot. */
export function undoOf({ name, undo }: StoreContract): Undo | undefined {
  return undo ?? (traitsOf(name).goesBack === true ? { goBack: removeLater } : undefined);
}

/** Returns the place to which an undo of later work goes back. Empty: nothing is stored. */
export async function placeOf(undo: Undo | undefined, engine: Engine, of: RunKey): Promise<string> {
  return (await (undo?.placeOf?.(engine, of) ?? newestId(engine, of))) ?? "";
}

/** The error for a place that no longer exists. */
export function noPlace({ run }: RunKey, what: string): ForkpointError {
  const message = `the work on run ${quote(run)} cannot be undone, because ${what}: continue it with whenBusy: "interrupt"`;
  return new ForkpointError("NOT_FOUND", message);
}

/** Removes the checkpoints after `to`. */
async function removeLater(engine: Engine, of: RunKey, to: string | null): Promise<void> {
  const isThere = to !== null && (await removeDownTo(engine, of, ({ id }) => id === to));
  if (to === null) await inspect.call(engine.native, "undo", { of });
  else if (!isThere) throw noPlace(of, `checkpoint ${quote(to)}, from which it began, was removed`);
}

/**
 * Removes the newest checkpoints of a run, down to a place. If this is interrupted, it can be repeated. Without the
 * place, returns false and removes nothing.
 */
export async function removeDownTo(
  { native }: Engine,
  of: RunKey,
  isPlace: (row: { id: string; seq: number }) => boolean,
): Promise<boolean> {
  const { space, run, ns } = of;
  const later: string[] = [];
  for (let from: "end" | { after: string } = "end"; ;) {
    const page = { space, run, ns, from, newestFirst: true, limit: BATCH, sums: false };
    const rows: Array<{ id: string; seq: number; cursor: string }> =
      (await inspect.call(native, "rows", { pages: [page] }))[0]?.rows ?? [];
    const at = rows.findIndex(isPlace);
    later.push(...rows.slice(0, at === -1 ? undefined : at).map(({ id }) => id));
    if (at !== -1) break;
    if (rows.length < BATCH) return false;
    from = { after: rows.at(-1)!.cursor };
  }
  for (let begin = 0; begin < later.length; begin += BATCH)
    await inspect.call(native, "remove", { of, ids: later.slice(begin, begin + BATCH), reopen: [] });
  return true;
}
