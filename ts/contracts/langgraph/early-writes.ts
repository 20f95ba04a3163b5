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
import { type CheckpointRef, configOf } from "./config.js";
import { throwIfFailed } from "./following.js";
import { isRun } from "./run-config.js";
import type { Needs } from "./wire.js";

/**
 * Limits the wait for a checkpoint. LangGraph hands over a checkpoint as soon as the one before is stored. The limit
 * counts timer turns, because no checkpoint can come while a node blocks the event loop.
 */
const PATIENCE = { turns: 10, turnMs: 1_000 };

/** A checkpoint that a run has handed over. */
export class Handed {
  readonly of: CheckpointRef;
  /** The outcome of the checkpoint. */
  stored!: Promise<unknown>;
  settled = false;
  /** True if the call was sent to the engine, which keeps the order of calls. */
  isSent = false;
  #next: (() => void) | undefined;

  constructor(of: CheckpointRef) {
    this.of = of;
  }

  noteSent(): void {
    this.isSent = true;
    this.#next?.();
  }

  /** Calls the function when the call has been sent. */
  whenSent(next: () => void): void {
    if (this.isSent) next();
    else this.#next = next;
  }
}

/** The checkpoints that a run has handed over. */
interface Puts {
  /** The last checkpoint of each namespace. */
  last: Map<string, Handed>;
  /** The number of checkpoints without an outcome. */
  unsettled: number;
  /** Called when writes to a later checkpoint come. By namespace. */
  letNextCome: Map<string, () => void>;
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
  const known = putsOf.get(run) ?? { last: new Map(), unsettled: 0, letNextCome: new Map(), waiting: new Map() };
  putsOf.set(run, known);
  return known;
}

const nameOf = ({ namespace, id }: CheckpointRef): string => `${namespace}\0${id}`;

/** Notes that a run has handed over a checkpoint. `stored` rejects if the store refuses the checkpoint. */
export function noteHanded(config: Config, handed: Handed, stored: Promise<unknown>): void {
  const puts = putsIn(config);
  if (puts === undefined) return;
  const { of } = handed;
  handed.stored = stored;
  puts.unsettled += 1;
  const settle = () => {
    handed.settled = true;
    puts.unsettled -= 1;
  };
  // The caller of `put` gets the error.
  stored.then(settle, settle);
  puts.last.set(of.namespace, handed);
  puts.waiting.get(nameOf(of))?.go();
}

/** Returns the checkpoint that a run has handed over last, if it has no outcome yet. */
export function handedOver(config: Config): Handed | undefined {
  try {
    const last = isRun(config) ? putsIn(config)?.last.get(namespaceOf(config)) : undefined;
    return last?.settled === false ? last : undefined;
  } catch {
    // The call refuses a config that cannot be read.
    return undefined;
  }
}

/** The maximum number of checkpoints of a run that wait for their outcomes. */
const MOST_UNSETTLED = 32;

/**
 * Resolves when a checkpoint is stored, or earlier if a later one is certain to come.
 *
 * With the durability "async", LangGraph hands over a checkpoint when the one before is stored. If the nodes do no I/O,
 * the event loop turns only at the end, and each checkpoint would take a commit of its own then. Writes to a checkpoint
 * that was not handed over show that LangGraph has it ready. The run awaits its outcome at the end. If the earlier
 * checkpoint fails, the later one fails too. `hasRoom` returns false if too many bytes wait to be stored.
 */
export function untilNext(
  config: Config,
  handed: Handed,
  stored: Promise<Config>,
  hasRoom: () => boolean,
): Promise<Config> {
  const { of } = handed;
  const { namespace } = of;
  const puts = putsIn(config)!;
  return new Promise((resolve, reject) => {
    stored.then(resolve, reject);
    const next = () => {
      if (puts.unsettled < MOST_UNSETTLED && hasRoom()) resolve(configOf(of));
    };
    const letNextCome = () => handed.whenSent(next);
    puts.letNextCome.set(namespace, letNextCome);
    if ([...puts.waiting.keys()].some((name) => name.startsWith(`${namespace}\0`))) letNextCome();
  });
}

const namespaceOf = (config: Config): string => String((config.configurable?.["checkpoint_ns"] as unknown) ?? "");

/** Ends the wait of all writes in the namespace of a config, because a save has failed there. */
export function letGo(config: Config): void {
  try {
    const namespace = namespaceOf(config);
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
  store: (needs: Needs, behind?: Handed) => Promise<unknown>,
): Promise<void> {
  const puts = putsIn(config)!;
  const handed = () => {
    const last = puts.last.get(of.namespace);
    return last?.of.id === of.id ? last : undefined;
  };
  if (handed() === undefined) {
    const come = comes(puts, nameOf(of));
    puts.letNextCome.get(of.namespace)?.();
    await come;
  }
  throwIfFailed(config);
  const put = handed();
  try {
    await store(put === undefined ? "thread" : "checkpoint", put);
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
