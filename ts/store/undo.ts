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

/** Removes the checkpoints after `to`, the newest first. If this is interrupted, it can be repeated. */
async function removeLater({ native }: Engine, of: RunKey, to: string | null): Promise<void> {
  if (to === null) return void (await inspect.call(native, "undo", { of }));
  const { space, run, ns } = of;
  const later: string[] = [];
  for (let from: "end" | { after: string } = "end"; ;) {
    const page = { space, run, ns, from, newestFirst: true, limit: BATCH, sums: false };
    const rows: Array<{ id: string; cursor: string }> =
      (await inspect.call(native, "rows", { pages: [page] }))[0]?.rows ?? [];
    const at = rows.findIndex(({ id }) => id === to);
    later.push(...rows.slice(0, at === -1 ? undefined : at).map(({ id }) => id));
    if (at !== -1) break;
    if (rows.length < BATCH) throw noPlace(of, `checkpoint ${quote(to)}, from which it began, was removed`);
    from = { after: rows.at(-1)!.cursor };
  }
  for (let begin = 0; begin < later.length; begin += BATCH)
    await inspect.call(native, "remove", { of, ids: later.slice(begin, begin + BATCH), reopen: [] });
}
