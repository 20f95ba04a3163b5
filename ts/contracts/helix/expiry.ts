/** Removes expired sessions and checkpoints. Reads already ignore them, so the removal only frees space. */

import { readRecord } from "../../store/options.js";
import { prune as pruneCheckpoints, pruneOptions, throwIfStopped, type PruneOptions } from "../../store/retention.js";
import type { PruneResult, PruneProgress } from "../../store/results.js";
import { Expiry } from "../shared/expiry.js";
import { BATCH as PAGE, type Context, expire, isHeld } from "./sessions.js";
import { helix } from "./wire.js";

/** What `prune()` removed. With `dryRun`: what would be removed. */
export interface SessionPruneResult extends Omit<PruneResult, "lineages"> {
  /** The number of removed sessions, including their messages. */
  sessions: number;
}

/** Sweeps after writes, unless the clock of the machine was just set. */
export class Sweeper {
  readonly #expiry = new Expiry();

  async sweepIfDue(context: Context, closing: () => boolean): Promise<void> {
    const { clock, engine } = context;
    await this.#expiry.sweepIfDue({
      what: "expired sessions",
      ttlMs: clock.ttlMs,
      now: clock.isMachines ? Date.now : () => clock.now(),
      target: engine.native.databasePath ?? "memory:",
      closing,
      async sweep() {
        const aliveSince = clock.aliveSince();
        await expireSessions(context, aliveSince, closing, (sessionId) => expire(context, sessionId, aliveSince));
        const rule = { keepLastN: null, maxBytes: null, olderThan: aliveSince };
        await pruneCheckpoints(engine, helix.name, rule, closing);
      },
    });
  }
}

/** Calls `remove` for each session whose last write was before `aliveSince`. */
async function expireSessions(
  { engine: { native } }: Context,
  aliveSince: number,
  closing: () => boolean,
  remove: (sessionId: string) => Promise<unknown>,
): Promise<void> {
  let before: number | undefined;
  for (;;) {
    const page = await helix.call(native, "sessions", { before, limit: PAGE });
    for (const { id, savedAt } of page) {
      if (savedAt >= aliveSince) continue;
      await remove(id);
      throwIfStopped(undefined, closing);
    }
    if (page.length < PAGE) return;
    before = Number(page.at(-1)!.cursor);
    throwIfStopped(undefined, closing);
  }
}

export async function prune(
  context: Context,
  options: PruneOptions<SessionPruneResult> | undefined,
  closing: () => boolean,
): Promise<SessionPruneResult> {
  const { clock, engine } = context;
  const read = readRecord(options, "options", pruneOptions);
  const { signal, dryRun = false } = read;
  const onProgress = read.onProgress as PruneOptions<SessionPruneResult>["onProgress"];
  const olderThan = read.olderThan === undefined && clock.ttlMs !== null ? clock.aliveSince() : read.olderThan;
  const done: SessionPruneResult = { removed: 0, bytes: 0, sessions: 0 };
  const shown = ({ removed, bytes }: PruneProgress) => Object.assign(done, { removed, bytes });
  const report = (progress: PruneProgress) => onProgress?.({ ...shown(progress) });
  const checkpointOptions = { ...read, olderThan, onProgress: report };
  // The time to live applies to sessions, and is already in `olderThan`.
  const store = { ...engine, retention: { ...engine.retention, ttlMs: null } };
  shown(await pruneCheckpoints(store, helix.name, checkpointOptions, closing));
  if (olderThan === undefined || olderThan === null) return done;
  const aliveSince = Math.ceil(olderThan);
  await expireSessions(context, aliveSince, closing, async (sessionId) => {
    signal?.throwIfAborted();
    const removed = dryRun ? !(await isHeld(context, sessionId)) : await expire(context, sessionId, aliveSince);
    done.sessions += Number(removed);
    if (removed) onProgress?.({ ...done });
  });
  return done;
}
