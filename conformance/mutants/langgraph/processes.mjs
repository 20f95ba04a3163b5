// Mutants of the groups restart, race, kill and growth.
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ReferenceSaver } from "./reference.mjs";

/** Half of a change: some of the channels, or some of the writes. */
function half(method, args) {
  if (method === "putWrites") return [args[0], args[1].slice(0, 1), ...args.slice(2)];
  if (method !== "put") return args;
  const [config, { channel_values, ...checkpoint }, ...rest] = args;
  const values = Object.fromEntries(Object.entries(channel_values).slice(0, 2));
  return [config, { ...checkpoint, channel_values: values }, ...rest];
}

/** A list of names in a file, which is read, changed and written. Another process can change it in the meantime. */
function index(path) {
  const read = () => (existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : []);
  const add = async (name) => {
    const names = read();
    await sleep(10);
    writeFileSync(`${path}.${process.pid}`, JSON.stringify([...names, name]));
    renameSync(`${path}.${process.pid}`, path);
  };
  return [add, (name) => read().includes(name)];
}

/** Returns true if the process exists. */
function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Returns true if a figure of the mutant is several times that of the reference. */
const isWorse = (mutant, reference) => mutant[0].value > 2 * reference[0].value;

export const processes = {
  "langgraph/reopen": { faults: { forgets: (method) => method === "putWrites" } },
  "langgraph/other-process": { faults: { lateMs: 60_000 } },
  "langgraph/other-process-later": { faults: { isDeaf: true } },
  "langgraph/race-open": {
    // Only one process can make the store, and the others do not wait for it.
    async open(target) {
      mkdirSync(dirname(target), { recursive: true });
      if (existsSync(`${target}.made`)) return;
      writeFileSync(`${target}.making`, "", { flag: "wx" });
      await sleep(2_000);
      writeFileSync(`${target}.made`, "");
    },
  },
  "langgraph/race-checkpoints": {
    wrap(saver, target) {
      const [add, has] = index(`${target}.checkpoints`);
      return {
        ...saver,
        async put(...args) {
          const made = await saver.put(...args);
          await add(made.configurable.checkpoint_id);
          return made;
        },
        async *list(...args) {
          for await (const tuple of saver.list(...args)) if (has(tuple.checkpoint.id)) yield tuple;
        },
      };
    },
  },
  "langgraph/race-writes": {
    wrap(saver, target) {
      const [add, has] = index(`${target}.writes`);
      return {
        ...saver,
        async putWrites(config, writes, task) {
          await saver.putWrites(config, writes, task);
          await add(task);
        },
        async getTuple(config) {
          const tuple = await saver.getTuple(config);
          return tuple && { ...tuple, pendingWrites: tuple.pendingWrites.filter(([task]) => has(task)) };
        },
      };
    },
  },
  // The first write of a task is the first that came, and the others are the last that came.
  "langgraph/race-task": class extends ReferenceSaver {
    async putWrites(config, writes, task, path) {
      const rows = this.writes.get(this.key(...this.place(config)));
      for (const at of writes.keys()) if (at > 0) rows?.delete(this.key(task, at));
      await super.putWrites(config, writes, task, path);
    }
  },
  // The metadata is that of the last process, and the values are those of the first.
  "langgraph/race-same-checkpoint": class extends ReferenceSaver {
    async put(config, checkpoint, ...rest) {
      const [thread, ns] = this.place(config);
      const before = this.checkpoints.get(this.key(thread, ns, checkpoint.id));
      const made = await super.put(config, checkpoint, ...rest);
      if (before !== undefined) this.row(made).values = before.values;
      return made;
    }
  },
  "langgraph/kill-keeps-checkpoints": { faults: { lateMs: 500 } },
  "langgraph/kill-whole-checkpoints": { faults: { half, tornMs: 100 } },
  "langgraph/kill-whole-writes": { faults: { half, tornMs: 100 } },
  "langgraph/kill-before-writes": {
    // It saves a checkpoint when its first writes come.
    wrap(saver) {
      let held;
      const save = async () => {
        const args = held;
        held = undefined;
        if (args !== undefined) await saver.put(...args);
      };
      return {
        ...saver,
        async put(...args) {
          await save();
          held = args;
          const { thread_id, checkpoint_ns = "" } = args[0].configurable;
          return { configurable: { thread_id, checkpoint_ns, checkpoint_id: args[1].id } };
        },
        async putWrites(...args) {
          await save();
          await saver.putWrites(...args);
        },
      };
    },
  },
  "langgraph/kill-goes-on": {
    // A process that is killed leaves its mark, and no other one removes it.
    open(target) {
      const marks = `${target}.marks`;
      mkdirSync(marks, { recursive: true });
      if (readdirSync(marks).some((pid) => !isAlive(Number(pid)))) throw new Error("the store is in use");
      writeFileSync(`${marks}/${process.pid}`, "");
    },
  },
  // Each checkpoint is stored twice.
  "langgraph/growth-steps": { isWorse, encode: (args) => [...args, structuredClone(args), structuredClone(args)] },
  "langgraph/growth-unchanged": { isWorse, encode: (args) => [...args, structuredClone(args), structuredClone(args)] },
  "langgraph/growth-branches": { isWorse, encode: (args) => [...args, structuredClone(args), structuredClone(args)] },
  "langgraph/growth-list": {
    isWorse,
    wrap: (saver) => ({
      ...saver,
      async *list(...args) {
        const all = [];
        for await (const tuple of saver.list(...args)) all.push(tuple);
        yield* all;
      },
    }),
  },
};
