// Other processes: what is read by them, races, and kills.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { race } from "../../suite/processes.js";
import type { Trial } from "../../suite/types.js";
import type { Saver } from "./store.js";
import { all, at, atStep, errorOf, id, normal, same, save, valuesAt, writesAt } from "./cases.js";
import { stepChannels, stepValues } from "./programs.js";

const durable = "documented: https://docs.langchain.com/oss/javascript/langgraph/persistence";
const shared = "framework: several servers run graphs of one checkpointer";

/** Returns the names of tasks that only one of several processes runs. */
const tasksOf = (part: number) => Array.from({ length: 10 }, (_, n) => `task ${part} ${n}`);

/** Saves a checkpoint of another thread: some stores make their tables only then, and to open a new store is another race. */
async function begin(trial: Trial<Saver>) {
  await save(await trial.store(), 1, { on: at("other") });
}

/** Runs a program in several processes, which begin at the same time. */
async function together(trial: Trial<Saver>, program: string, inputs: readonly object[]) {
  await begin(trial);
  await race(trial, ...inputs.map((input, part) => [program, { part, ...input }] as const));
}

/** Runs a program in three processes, each in a thread of its own, and kills one after the other. Returns what each has said. */
async function killed(trial: Trial<Saver>, program: string): Promise<Array<[thread: string, saved: number[]]>> {
  await begin(trial);
  const children = ["one", "two", "three"].map((thread) => [thread, trial.child(program, { thread })] as const);
  await Promise.all(children.map(([, child]) => child.next()));
  const said: Array<[string, number[]]> = [];
  for (const [thread, child] of children) {
    await trial.sleep(5 + trial.random(100));
    said.push([thread, await child.kill()]);
  }
  return said;
}

export const restarts = expectations<Saver>("restart", {
  "langgraph/reopen": {
    must: durable,
    title: "has the same checkpoints, values and writes when it is opened again",
    async checkStore(store, trial) {
      let on = at("thread", "sub");
      for (let step = 1; step <= 3; step++) {
        const values = { step, bytes: new Uint8Array([0, 255]), same: "same" };
        const versions = { step, bytes: step, same: 1 };
        const fresh = step === 1 ? versions : { step, bytes: step };
        on = (await save(store, step, { on, values, versions, fresh, metadata: { é: [step] } })) as typeof on;
        await store.putWrites(on, [["a", { step }]], "task");
      }
      await save(store, 8);
      await store.putWrites(atStep(9), [["early", 1]], "task");
      const before = normal(await all(store.list({})));
      const again = await trial.reopen();
      same(await all(again.list({})), before, "the list after the store was opened again");
      same(await writesAt(again, await save(again, 9)), [["task", "early", 1]], "the writes that came early");
    },
  },
  "langgraph/other-process": {
    must: durable,
    title: "shows another process all that was saved",
    async checkStore(store, trial) {
      for (let step = 1; step <= 3; step++) {
        const config = await save(store, step, { values: { step, bytes: new Uint8Array([255]) } });
        await store.putWrites(config, [["a", { step }]], "task");
      }
      same(await trial.child("read").result(), await all(store.list({})), "the list of another process");
    },
  },
  "langgraph/other-process-later": {
    must: shared,
    title: "shows a process that is open already what another one saves",
    async check(trial) {
      const child = trial.child("latest");
      same(await child.next(), undefined, "the thread in another process before it is saved");
      const store = await trial.store();
      for (const step of [1, 2]) {
        await save(store, step, { values: { step } });
        child.tell("look");
        same(await child.next(), { step }, `the values in another process after step ${step}`);
      }
    },
  },
});

export const races = expectations<Saver>("race", {
  "langgraph/race-open": {
    should: "framework: several servers begin at the same moment when a service is deployed",
    title: "can be opened by several processes at the same moment when it does not exist yet",
    async check(trial) {
      const names = ["a", "b", "c", "d"];
      const children = names.map((thread) => trial.child("own", { thread }));
      const found = await Promise.all(children.map((child) => child.result()));
      const store = await trial.store();
      for (const [n, thread] of names.entries())
        same(await store.getTuple(at(thread)), found[n], `the tuple of thread ${thread}`);
    },
  },
  "langgraph/race-checkpoints": {
    should: shared,
    title: "keeps every checkpoint that several processes put into one thread at the same time",
    async checkStore(store, trial) {
      const count = 20;
      await together(trial, "many", [{ count }, { count }, { count }]);
      const found = await all(store.list(at()));
      const expected = Array.from({ length: 3 * count }, (_, n) => id(n + 1));
      same(found.map((tuple) => tuple.checkpoint.id).toSorted(), expected, "the ids of the thread");
      for (const tuple of found) {
        const by = Math.floor(((tuple.metadata?.["step"] as number) - 1) / count);
        same(tuple.checkpoint.channel_values, { by }, "the values of a checkpoint");
      }
    },
  },
  "langgraph/race-writes": {
    should: shared,
    title: "keeps the writes of every task that several processes put to one checkpoint at the same time",
    async checkStore(store, trial) {
      await save(store, 1);
      await together(trial, "tasks", [{ tasks: tasksOf(0) }, { tasks: tasksOf(1) }, { tasks: tasksOf(2) }]);
      const found = await writesAt(store, atStep(1));
      const expected = [0, 1, 2].flatMap((part) =>
        tasksOf(part).flatMap((task) => stepChannels.map((name) => `${task} ${name} ${part}`)),
      );
      same(found?.map((write) => write.join(" ")).toSorted(), expected.toSorted(), "the pending writes");
    },
  },
  "langgraph/race-task": {
    ours: "two servers that run one task keep the result of one of them, and no mixture",
    title: "keeps all writes of one process if several put the writes of one task at the same time",
    async checkStore(store, trial) {
      await save(store, 1);
      const tasks = Array.from({ length: 10 }, (_, n) => `task ${n}`);
      await together(trial, "tasks", [{ tasks }, { tasks }, { tasks }]);
      const found = (await writesAt(store, atStep(1))) ?? [];
      for (const task of tasks) {
        const mine = found.filter((write) => write[0] === task);
        same(mine.length, stepChannels.length, `the number of writes of ${task}`);
        same(new Set(mine.map((write) => write[2])).size, 1, `the number of processes whose writes ${task} has`);
      }
    },
  },
  "langgraph/race-same-checkpoint": {
    ours: "two servers that save one checkpoint keep that of one of them, and no mixture",
    title: "keeps the values and the metadata of one process if several put the same checkpoint at the same time",
    async checkStore(store, trial) {
      await together(trial, "same", [{}, {}, {}]);
      const tuple = await store.getTuple(at());
      const by = tuple?.metadata?.["by"];
      const expected = Object.fromEntries(stepChannels.map((name) => [name, by]));
      same(tuple?.checkpoint.channel_values, expected, "the values of the process whose metadata is stored");
    },
  },
});

export const kills = expectations<Saver>("kill", {
  "langgraph/kill-keeps-checkpoints": {
    must: 'documented: https://docs.langchain.com/oss/javascript/langgraph/durable-execution: durability "sync"',
    title: "keeps every checkpoint whose `put` has resolved before the process is killed",
    async check(trial) {
      const threads = await killed(trial, "steps");
      const store = await trial.reopen();
      for (const [thread, saved] of threads) {
        for (const step of saved) {
          const tuple = await store.getTuple(atStep(step, thread));
          assert.ok(tuple, `step ${step} of ${saved.length} is missing after the kill`);
          same(tuple.checkpoint.channel_values, stepValues(step), `the values of step ${step}`);
          same(tuple.parentConfig, step === 1 ? undefined : atStep(step - 1, thread), `the parent of step ${step}`);
        }
      }
    },
  },
  "langgraph/kill-whole-checkpoints": {
    must: "framework: a graph goes on from the latest checkpoint, whatever it holds",
    title: "shows no part of a checkpoint when the process is killed while it is put",
    async check(trial) {
      const threads = await killed(trial, "steps");
      const store = await trial.reopen();
      for (const [thread] of threads) {
        for (const { checkpoint, metadata } of await all(store.list(at(thread)))) {
          const step = metadata?.["of"] as number;
          same([checkpoint.id, checkpoint.channel_values], [id(step), stepValues(step)], `what is stored of ${step}`);
        }
      }
    },
  },
  "langgraph/kill-whole-writes": {
    should: "framework: a task with stored writes does not run again, so what is missing of them stays missing",
    title: "keeps all writes of a task or none when the process is killed, and all once `putWrites` has resolved",
    async check(trial) {
      const threads = await killed(trial, "writes");
      const store = await trial.reopen();
      for (const [thread, saved] of threads) {
        const found = (await writesAt(store, at(thread))) ?? [];
        const counts = new Map<string, number>();
        for (const [task] of found) counts.set(task, (counts.get(task) ?? 0) + 1);
        for (const task of saved) same(counts.get(`task ${task}`), 3, `the number of stored writes of task ${task}`);
        for (const [task, count] of counts) same(count, 3, `the number of stored writes of ${task}`);
      }
    },
  },
  "langgraph/kill-before-writes": {
    must: "framework: `put` and `putWrites` are separate calls, and a process can end between them",
    title: "has a checkpoint whose process was killed before any writes, and takes the writes of another process",
    async check(trial) {
      const child = trial.child("one", { thread: "thread" });
      await child.next();
      await child.kill();
      const store = await trial.store();
      same(await valuesAt(store, at()), stepValues(1), "the values");
      same(await writesAt(store, atStep(1)), [], "the pending writes");
      await store.putWrites(atStep(1), [["a", 1]], "task");
      same(await writesAt(store, atStep(1)), [["task", "a", 1]], "the pending writes of another process");
    },
  },
  "langgraph/kill-goes-on": {
    must: durable,
    title: "can be opened and goes on with a thread after a process that was saving was killed",
    async check(trial) {
      const threads = await killed(trial, "steps");
      let store: Saver | undefined;
      const error = await errorOf(async () => (store = await trial.reopen()));
      assert.ok(error === undefined, `the store can't be opened after a kill: ${String(error)}`);
      for (const [thread] of threads) {
        const latest = (await store!.getTuple(at(thread)))!;
        const config = await save(store!, 100_000, { on: latest.config, values: { more: 1 } });
        same((await store!.getTuple(at(thread)))?.config, config, "the latest checkpoint");
        same((await store!.getTuple(config))?.parentConfig, latest.config, "its parent");
      }
    },
  },
});
