/**
 * Lets the writes of a run wait for their checkpoint.
 *
 * Under the durability "async", a node may end before LangGraph has handed over the checkpoint that the node works for, and under
 * "exit" the writes come first. Without their checkpoint such writes are of no use: a run that resumes begins at the checkpoint
 * before, and makes another one. If another run has overtaken this one, the checkpoint never comes. So the writes are stored
 * behind it, or not at all.
 */

import type { Config } from "@langchain/langgraph-checkpoint";
import { isOvertaken } from "../../bridge/errors.js";
import { type GraphRun, runIn } from "../../store/graph-run.js";
import { NO_TASK } from "./answer-records.js";
import type { CheckpointRef } from "./config.js";
import { throwIfFailed } from "./following.js";
import { isRun } from "./thread-leases.js";
import type { Needs } from "./wire.js";

/**
 * LangGraph hands over the checkpoint at once when the one before is stored. This limit only keeps a write from waiting for ever. The
 * turns of a timer count, because the time that a node blocks the event loop is no time in which a checkpoint could come.
 */
const PATIENCE = { turns: 10, turnMs: 1_000 };

/** What a run has handed over. */
interface Puts {
  /** The last checkpoint of each namespace, and whether it was stored. */
  last: Map<string, { id: string; stored: Promise<unknown> }>;
  /** The checkpoints that writes wait for, by their names. */
  waiting: Map<string, Coming>;
}

/** A checkpoint that writes wait for. */
interface Coming {
  come: Promise<void>;
  /** Lets the writes go on. */
  go: () => void;
}

const putsOf = new WeakMap<GraphRun, Puts>();

function putsIn(config: Config): Puts | undefined {
  const run = runIn(config.configurable);
  if (run === undefined) return undefined;
  const known = putsOf.get(run) ?? { last: new Map(), waiting: new Map() };
  putsOf.set(run, known);
  return known;
}

const nameOf = ({ namespace, id }: CheckpointRef): string => `${namespace}\0${id}`;

/** Notes that a run has handed over a checkpoint. `stored` rejects if it is refused. */
export function noteHanded(config: Config, of: CheckpointRef, stored: Promise<unknown>): void {
  const puts = putsIn(config);
  if (puts === undefined) return;
  // Whoever has called `put` gets the error.
  stored.catch(() => {});
  puts.last.set(of.namespace, { id: of.id, stored });
  puts.waiting.get(nameOf(of))?.go();
}

/** Lets the writes that wait in the namespace of a config go, because a save has failed there. */
export function letGo(config: Config): void {
  try {
    const namespace = String((config.configurable?.["checkpoint_ns"] as unknown) ?? "");
    for (const [name, waiting] of putsIn(config)?.waiting ?? []) if (name.startsWith(`${namespace}\0`)) waiting.go();
  } catch {
    // The call refuses a config that cannot be read.
  }
}

/** True if a run that the saver knows writes to a checkpoint that it has not stored or read yet. */
export function isEarly(config: Config, seen: boolean): boolean {
  return !seen && isRun(config) && putsIn(config) !== undefined;
}

/**
 * True for an answer to a thread that has nothing. LangGraph writes it to an empty checkpoint of its own, which it never hands over.
 */
export function answersNothing(config: Config, task: string): boolean {
  const run = runIn(config.configurable);
  return task === NO_TASK && run !== undefined && !run.stored && putsIn(config)!.last.size === 0;
}

/**
 * Stores the writes of a run behind their checkpoint. If the checkpoint does not come, the thread must be there.
 */
export async function storeBehind(
  config: Config,
  of: CheckpointRef,
  store: (needs: Needs) => Promise<unknown>,
): Promise<void> {
  const puts = putsIn(config)!;
  const handed = () => {
    const last = puts.last.get(of.namespace);
    return last?.id === of.id ? last : undefined;
  };
  if (handed() === undefined) await comes(puts, nameOf(of));
  throwIfFailed(config);
  const put = handed();
  try {
    await store(put === undefined ? "thread" : "checkpoint");
  } catch (error) {
    if (put === undefined || !isOvertaken(error)) throw error;
    // If the checkpoint was refused, its error says why.
    await put.stored;
    // A checkpoint whose parent is gone is handed over a second time, with all of its values.
    await store("checkpoint");
  }
}

/** Waits until a checkpoint is handed over, or does not come. */
function comes({ waiting }: Puts, name: string): Promise<void> {
  const known = waiting.get(name);
  if (known !== undefined) return known.come;
  let timer: NodeJS.Timeout;
  let go!: () => void;
  const come = new Promise<void>((resolve) => {
    go = () => {
      clearTimeout(timer);
      waiting.delete(name);
      resolve();
    };
  });
  const turn = (left: number) => {
    timer = setTimeout(() => (left > 1 ? turn(left - 1) : go()), PATIENCE.turnMs);
  };
  turn(PATIENCE.turns);
  waiting.set(name, { come, go });
  return come;
}
