/** Copies the answer of a thread's question before the thread's later checkpoints. */

import { newestOf, readPages } from "../../plugin/pages.js";
import { type FoundCheckpoint, type FoundWrite, type Key, inspect, openCheckpoint } from "../../plugin/wire.js";
import type { Engine } from "../../store/engine.js";
import { putWrites } from "./writing.js";

/** The task of an answer to all tasks: `new Command({ resume })`. */
const NO_TASK = "00000000-0000-0000-0000-000000000000";

/** The statuses of threads that may have an open question. */
const OPEN: ReadonlySet<string> = new Set(["waiting", "failed"]);

function isOpenQuestion({ claimedBy, part }: FoundWrite): boolean {
  return claimedBy === null && part.name === "__interrupt__";
}

/** True for an answer that a checkpoint has claimed. An unclaimed answer is copied like every other write. */
function isClaimedAnswer({ task, claimedBy, part }: FoundWrite): boolean {
  return task === NO_TASK && claimedBy !== null && part.name === "__resume__";
}

/**
 * Copies answers to questions that were open in the last copy. A store notes an answer when it is stored, so an answer
 * must come before the checkpoints that claim it. `to` must be an earlier state of `from`.
 */
export async function copyAnswers(from: Engine, to: Engine, key: Key): Promise<void> {
  const [page] = await readPages({ engine: to }, [newestOf(key)]);
  const row = page!.rows[0];
  if (row === undefined || !OPEN.has(page!.status)) return;
  const read = ({ native }: Engine): Promise<FoundCheckpoint | null> =>
    inspect.find(native, "read", { ...key, id: row.id }, openCheckpoint);
  const [source, copy] = [await read(from), await read(to)];
  if (source === null || copy === null || !copy.writes.some(isOpenQuestion)) return;
  const answer = source.writes.find(isClaimedAnswer);
  if (answer === undefined) return;
  const of = { threadId: key.run, namespace: key.ns, id: row.id };
  await putWrites(to.native, of, { task: NO_TASK, path: "" }, [{ ...answer, claimedBy: null }], true);
}
