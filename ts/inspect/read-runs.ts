/** Reads all data of some runs, to check that it is readable. */

import { isOwnError } from "../bridge/errors.js";
import { detachBuffers } from "../bridge/detach.js";
import type { Context } from "./context.js";
import { everyRow } from "../plugin/pages.js";
import { type Key, inspect, openCheckpoint } from "../plugin/wire.js";

/** The counts of readable data. */
export interface ReadCounts {
  /** Checkpoints and effects. */
  checkpoints: number;
  payloads: number;
  writes: number;
}

/** Reads the checkpoints, values, pending writes and effects of these keys. Damaged ones are not counted. */
export async function readRuns(
  context: Pick<Context, "engine">,
  keys: readonly Key[],
  signal: AbortSignal | undefined,
  onDamage: (error: Error) => void,
): Promise<ReadCounts> {
  const { native } = context.engine;
  const counts: ReadCounts = { checkpoints: 0, payloads: 0, writes: 0 };
  const damaged = (error: unknown) => {
    if (!isOwnError(error) || error.code !== "CORRUPT") throw error;
    onDamage(error);
  };
  for (const key of keys) {
    try {
      for await (const row of everyRow(context, key)) {
        signal?.throwIfAborted();
        counts.checkpoints += 1;
        const found = await inspect.find(native, "read", { ...key, id: row.id }, openCheckpoint).catch(damaged);
        if (found == null) continue;
        counts.payloads += 1;
        counts.writes += found.writes.length;
        detachBuffers(...found.parts, ...found.writes.map(({ part }) => part), ...(found.records ?? []));
      }
    } catch (error) {
      damaged(error);
    }
  }
  return counts;
}
