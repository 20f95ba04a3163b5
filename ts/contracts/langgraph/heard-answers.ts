/**
 * Notices a program's answer with the durability "exit". LangGraph then hands nothing over before the run ends, and the
 * nodes would work with an answer that was neither compared nor stored. But LangGraph adds the answer to the pending
 * writes that it has read, before it runs a node.
 */

import type { CheckpointTuple, Config, PendingWrite } from "@langchain/langgraph-checkpoint";
import { RESUME } from "./answer-records.js";
import { answersIn, noteFailed } from "./following.js";
import { storesAtExit } from "./run-config.js";
import { tasksBehindAnswer } from "./running-nothing.js";
import type { Answering } from "./saving.js";

type TaskWrite = NonNullable<CheckpointTuple["pendingWrites"]>[number];

/** Stores an answer, as a write of a task to the config's checkpoint. */
type StoreAnswer = (config: Config, writes: PendingWrite[], task: string, answering: Answering) => Promise<void>;

/**
 * Returns the checkpoint at which a run begins. An answer that LangGraph adds to its pending writes is compared with the
 * stored ones and handed to `store`. If another one is stored, LangGraph gets the error and runs no node.
 */
export function hearAnswers(config: Config, tuple: CheckpointTuple, store: StoreAnswer): CheckpointTuple {
  const answers = answersIn(config);
  if (answers === undefined || !storesAtExit(config)) return tuple;
  const { checkpoint_ns: namespace, checkpoint_id: id } = tuple.config.configurable ?? {};
  const configurable = { ...config.configurable, checkpoint_ns: namespace, checkpoint_id: id };
  const at: Config = { ...config, configurable };
  const hear = (task: string, value: unknown) => {
    const writes: PendingWrite[] = [[RESUME.channel, value]];
    try {
      answers.isHeard = true;
      const taken = answers.take("", writes, task);
      if (taken === undefined) return;
      // If this fails, the effects and the other saves of the run fail.
      store(at, writes, task, { answers, taken, tasks: tasksBehindAnswer(at) }).catch(() => {});
    } catch (error) {
      // LangGraph stores the rest of the run in spite of the error.
      answers.refused = error;
      noteFailed(at, error, true);
      throw error;
    }
  };
  return { ...tuple, pendingWrites: HeardWrites.telling(tuple.pendingWrites ?? [], hear) };
}

/** Pending writes that tell which answers are added to them. LangGraph filters them first, which keeps this. */
class HeardWrites extends Array<TaskWrite> {
  #hear: (task: string, value: unknown) => void = () => {};

  /** Other methods return plain arrays. */
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  static telling(writes: readonly TaskWrite[], hear: (task: string, value: unknown) => void): HeardWrites {
    const made = new HeardWrites();
    for (const write of writes) made[made.length] = write;
    made.#hear = hear;
    return made;
  }

  override filter(keeps: (write: TaskWrite, at: number, all: TaskWrite[]) => unknown): TaskWrite[] {
    return HeardWrites.telling(super.filter(keeps), this.#hear);
  }

  override push(...writes: TaskWrite[]): number {
    for (const [task, channel, value] of writes) if (channel === RESUME.channel) this.#hear(task, value);
    return super.push(...writes);
  }
}
