/**
 * Lets the writes of a run wait until their checkpoint is stored.
 *
 * LangGraph may hand over writes before their checkpoint: under the durability "async" if a node ends early, and under
 * "exit" always. Writes without their checkpoint are useless: a resumed run begins at the checkpoint before and makes
 * another one. If another run was faster, the checkpoint never comes. The writes are therefore stored after their
 * checkpoint, or not at all.
 */

import type { Config } from "@langchain/langgraph-checkpoint";
import { isOvertaken } from "../../bridge/errors.js";
import { type GraphRun, runIn } from "../../store/graph-run.js";
import { NO_TASK } from "./answer-records.js";
import type { CheckpointRef } from "./config.js";
import { throwIfFailed } from "./following.js";
import { isRun } from "./run-config.js";
import type { Needs } from "./wire.js";

/**
 * Limits the wait for a checkpoint. LangGraph hands over a checkpoint as soon as the one before is stored. The limit
 * counts timer turns, because no checkpoint can come while a node blocks the event loop.
 */
const PATIENCE = { turns: 10, turnMs: 1_000 };

/** The checkpoints that a run has handed over. */
interface Puts {
  /** The last checkpoint of each namespace, and whether it was stored. */
  last: Map<string, { id: string; stored: Promise<unknown> }>;
  /** The checkpoints that writes wait for, by their names. */
  waiting: Map<string, Coming>;
}

/** A checkpoint that writes wait for. */
interface Coming {
  come: Promise<void>;
  /** Ends the wait of the writes. */
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

/** Notes that a run has handed over a checkpoint. `stored` rejects if the store refuses the checkpoint. */
export function noteHanded(config: Config, of: CheckpointRef, stored: Promise<unknown>): void {
  const puts = putsIn(config);
  if (puts === undefined) return;
  // The caller of `put` gets the error.
  stored.catch(() => {});
  puts.last.set(of.namespace, { id: of.id, stored });
  puts.waiting.get(nameOf(of))?.go();
}

/** Ends the wait of all writes in the namespace of a config, because a save has failed there. */
export function letGo(config: Config): void {
  try {
    const namespace = String((config.configurable?.["checkpoint_ns"] as unknown) ?? "");
    for (const [name, waiting] of putsIn(config)?.waiting ?? []) if (name.startsWith(`${namespace}\0`)) waiting.go();
  } catch {
    // The call refuses a config that cannot be read.
  }
}

/** True if a run that the saver knows writes to a checkpoint that the saver has neither stored nor read. */
export function isEarly(config: Config, seen: boolean): boolean {
  return !seen && isRun(config) && putsIn(config) !== undefined;
}

/** True for an answer in an empty thread. LangGraph writes it to an empty checkpoint that it never hands over. */
export function answersNothing(config: Config, task: string): boolean {
  const run = runIn(config.configurable);
  return task === NO_TASK && run !== undefined && !run.stored && putsIn(config)!.last.size === 0;
}

/** Stores the writes of a run after their checkpoint. If the checkpoint does not come, the thread must exist. */
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
    // A checkpoint whose parent was removed is handed over again, with all of its values.
    await store("checkpoint");
  }
}

/** Waits until a checkpoint is handed over, up to the limit. */
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
