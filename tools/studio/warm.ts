/** Reads a checkpoint before the first request, because the first answer is slow until the code is compiled. */

import { setTimeout as sleep } from "node:timers/promises";
import { Query } from "./query.js";
import { routes } from "./routes.js";
import type { Inspector } from "../../ts/inspect/inspector.js";

/** The number of last active runs from which the largest state is chosen. */
const RUNS = 20;

/** The maximum bytes of states to read, and the maximum number of reads. */
const [MOST_BYTES, MOST_TIMES] = [8 * 2 ** 20, 20];

/** The pause between two reads, and after a request, in ms. */
const PAUSE = 100;

/**
 * Reads the largest newest checkpoint of the last active runs a few times, like the page. Pauses while requests arrive.
 * Keeps no process alive.
 *
 * @param lastRequest returns the time of the last request, as `performance.now()`.
 */
export async function warmUp(inspector: Inspector, lastRequest: () => number, closing: AbortSignal): Promise<void> {
  const quiet = async () => {
    do await sleep(PAUSE, undefined, { ref: false, signal: closing });
    while (performance.now() - lastRequest() < PAUSE);
  };
  await quiet();
  const { items } = await inspector.runs({ limit: RUNS });
  const sizes = items.map(({ latest }) => latest.bytes.logical);
  // Each state is read at least twice.
  const most = Math.max(...sizes.filter((size) => size <= MOST_BYTES / 2));
  const chosen = items[sizes.indexOf(most)];
  if (chosen === undefined) return;
  const { space, run, ns } = chosen;
  const query = new Query(new URLSearchParams({ space, run, ...(ns !== null && { ns }) }).toString());
  for (let times = 0; times < MOST_TIMES && (times + 1) * most <= MOST_BYTES; times++) {
    await quiet();
    JSON.stringify(await routes["checkpoint"]!(inspector, query, closing));
  }
}
