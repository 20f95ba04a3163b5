// What runs in other processes.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { Program } from "../../suite/types.js";
import type { Config, Saver, Write } from "./store.js";
import { all, at, atStep, checkpoint, metadata, normal, save, versionsOf } from "./cases.js";

/** The channels of the checkpoints that `steps` saves. */
export const stepChannels = ["a", "b", "c", "d"];
export const stepValues = (step: number) => Object.fromEntries(stepChannels.map((name) => [name, `${name}${step}`]));

/** Returns the bytes of the process's values and of its buffers that are still used. */
function used(): number[] {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const { heapUsed, external } = process.memoryUsage();
  return [heapUsed, external];
}

export const programs: Record<string, Program<Saver>> = {
  /** Puts checkpoints, each below the one before, and says the step of each that is stored. */
  async steps({ store, input, say }) {
    let on: Config = at(input.thread);
    for (let step = 1; ; step++) {
      on = await save(store, step, { on, values: stepValues(step), metadata: { of: step } });
      await say(step);
    }
  },

  /** Puts the writes of one task after the other, three each, and says the number of each task. */
  async writes({ store, input, say }) {
    const config = await save(store, 1, { on: at(input.thread) });
    for (let task = 1; ; task++) {
      const made = stepChannels.slice(0, 3).map((name): Write => [name, task]);
      await store.putWrites(config, made, `task ${task}`);
      await say(task);
    }
  },

  /** Puts one checkpoint, and waits to be killed. */
  async one({ store, input, say, told }) {
    await save(store, 1, { on: at(input.thread), values: stepValues(1) });
    await say("saved");
    await told();
  },

  /** Puts a thread of its own, and then reads it. */
  async own({ store, input }) {
    const config = await save(store, 1, { on: at(input.thread), values: stepValues(1) });
    await store.putWrites(config, [["a", input.thread]], "task");
    return normal(await store.getTuple(config));
  },

  /** Waits, and then puts checkpoints into one thread. */
  async many({ store, input, say, told }) {
    await say("ready");
    await told();
    for (let n = 0; n < input.count; n++) {
      const step = input.count * input.part + n + 1;
      await save(store, step, { values: { by: input.part } });
    }
  },

  /** Waits, and then puts the writes of tasks to one checkpoint. */
  async tasks({ store, input, say, told }) {
    await say("ready");
    await told();
    for (const task of input.tasks as string[])
      await store.putWrites(
        atStep(1),
        stepChannels.map((name): Write => [name, input.part]),
        task,
      );
  },

  /** Waits, and then puts the same checkpoint as others, with values of its own. */
  async same({ store, input, say, told }) {
    await say("ready");
    await told();
    const values = Object.fromEntries(stepChannels.map((name) => [name, input.part]));
    await store.put(at(), checkpoint(1, values), metadata({ by: input.part }), versionsOf(values, 1));
  },

  /** Returns all tuples. */
  async read({ store }) {
    return normal(await all(store.list({})));
  },

  /** Puts a checkpoint, and says how it is read by this process, whenever it is told to. */
  async latest({ store, say, told }) {
    for (;;) {
      await say((await store.getTuple(at()))?.checkpoint.channel_values);
      await told();
    }
  },

  /** Returns how many bytes a list holds when it has given its first checkpoint. */
  async first({ store }) {
    await store.getTuple(at("other"));
    const before = used();
    const list = store.list(at());
    const { value } = await list.next();
    const after = used();
    await list.return?.();
    return value === undefined ? undefined : Math.max(0, ...after.map((bytes, n) => bytes - before[n]!));
  },
};
