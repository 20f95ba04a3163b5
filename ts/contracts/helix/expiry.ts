/** Removes expired sessions and checkpoints. Reads already ignore them, so the removal only frees space. */

import { readRecord } from "../../store/options.js";
import { prune as pruneCheckpoints, pruneOptions, throwIfStopped, type PruneOptions } from "../../store/retention.js";
import type { PruneResult, PruneProgress } from "../../store/results.js";
import { batches } from "../../store/page.js";
import { BATCH, type Context, expire, isHeld } from "./sessions.js";
import { type Row, helix } from "./wire.js";

/** What `prune()` removed. With `dryRun`: what would be removed. */
export interface SessionPruneResult extends Omit<PruneResult, "lineages"> {
  /** The number of removed sessions, including their messages. */
  sessions: number;
}

/** The statuses of sessions that wait for a person. */
const WAITING: ReadonlySet<string> = new Set(["interrupted", "paused"]);

/** Removes all expired sessions and checkpoints. */
export async function sweep(context: Context, closing: () => boolean): Promise<void> {
  const aliveSince = context.clock.aliveSince();
  await expireSessions(context, aliveSince, closing, ({ id }) => expire(context, id, aliveSince));
  const rule = { keepLastN: null, maxBytes: null, olderThan: aliveSince };
  await pruneCheckpoints(context.engine, helix.name, rule, closing);
}

/** Calls `remove` for each session whose last write was before `aliveSince`. */
async function expireSessions(
  { engine: { native } }: Context,
  aliveSince: number,
  closing: () => boolean,
  remove: (session: Row) => Promise<unknown>,
): Promise<void> {
  const read = (before: number | undefined, limit: number) => helix.call(native, "sessions", { before, limit });
  for await (const sessions of batches(read, BATCH)) {
    for (const session of sessions) {
      if (session.savedAt >= aliveSince) continue;
      await remove(session);
      throwIfStopped(undefined, closing);
    }
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
  const store = { ...engine, retention: { ...engine.retention, ttlMs: null, waitingTtlMs: null } };
  shown(await pruneCheckpoints(store, helix.name, checkpointOptions, closing));
  if (olderThan === undefined || olderThan === null) return done;
  const aliveSince = Math.ceil(olderThan);
  await expireSessions(context, aliveSince, closing, async ({ id: sessionId, status, savedAt }) => {
    signal?.throwIfAborted();
    // An expired session is not alive, whatever it waits for.
    if (read.waiting !== true && WAITING.has(status) && savedAt >= clock.aliveSince()) return;
    const removed = dryRun ? !(await isHeld(context, sessionId)) : await expire(context, sessionId, aliveSince);
    done.sessions += Number(removed);
    if (removed) onProgress?.({ ...done });
  });
  return done;
}
