// `getDeltaChannelHistory`: the writes from which a delta channel is rebuilt.
import { expectations } from "../../suite/expectations.js";
import type { Trial } from "../../suite/types.js";
import type { Config, Saver } from "./store.js";
import { NotOffered } from "../../suite/not-offered.js";
import { at, checkpoint, metadata, published, same, save, types, versionsOf, writes } from "./cases.js";

const channels = ["log"];

/** A saver that has the method. */
type DeltaSaver = Saver & Required<Pick<Saver, "getDeltaChannelHistory">>;

/** Returns the trial's store if it has `getDeltaChannelHistory`. */
async function opened(trial: Trial<Saver>): Promise<DeltaSaver> {
  const store = await trial.store();
  if (store.getDeltaChannelHistory === undefined)
    throw new NotOffered("the saver has no getDeltaChannelHistory, which is beta and optional");
  return store as DeltaSaver;
}

const written = async (store: DeltaSaver, config: Config) =>
  (await store.getDeltaChannelHistory({ config, channels }))["log"]?.writes.map((write) => write[2]);

/** Puts a checkpoint that stores only some of the delta channels. */
function put(store: Saver, step: number, on: Config, values: Record<string, unknown> = {}) {
  const versions = { a: step, b: step, log: step };
  return store.put(on, checkpoint(step, values, versions), metadata({ step }), versionsOf(values, step));
}

export const deltas = expectations<Saver>("contract", {
  "langgraph/delta-history": {
    must: `${published}getDeltaChannelHistory "walks ancestors collecting writes oldest→newest with a snapshot seed"`,
    title: "returns the writes of a channel from the nearest stored value on, for each channel by itself",
    async check(trial) {
      const store = await opened(trial);
      let on: Config = at();
      for (let step = 1; step <= 6; step++) {
        on = await put(store, step, on, step === 2 ? { a: ["seed a"] } : step === 4 ? { b: ["seed b"] } : {});
        await store.putWrites(
          on,
          ["a", "b", "c"].map((name): [string, string] => [name, `${name}${step}`]),
          "task",
        );
      }
      const found = await store.getDeltaChannelHistory({ config: on, channels: ["a", "b", "c", "none"] });
      const values = (name: string) => found[name]?.writes.map((write) => write[2]);
      same([found["a"]?.seed, values("a")], [["seed a"], ["a2", "a3", "a4", "a5"]], "the seed and the writes of a");
      same([found["b"]?.seed, values("b")], [["seed b"], ["b4", "b5"]], "the seed and the writes of b");
      same([found["c"]?.seed, values("c")], [undefined, ["c1", "c2", "c3", "c4", "c5"]], "those of c");
      same(found["none"], { writes: [] }, "the history of a channel without writes");
      same(await store.getDeltaChannelHistory({ config: on, channels: [] }), {}, "the history of no channels");
    },
  },
  "langgraph/delta-order": {
    group: "order",
    must: `${published}getDeltaChannelHistory "orders concurrent same-superstep writes by task id"`,
    title: "returns the writes of a step by task and position, also with more than ten of a task",
    async check(trial) {
      const store = await opened(trial);
      const root = await put(store, 1, at());
      await store.putWrites(root, writes(["log", "b0"], ["other", 0], ["log", "b2"]), "task-b");
      const many = Array.from({ length: 12 }, (_, n): [string, string] => ["log", `a${n}`]);
      await store.putWrites(root, many, "task-a");
      const expected = [...many.map(([, value]) => value), "b0", "b2"];
      same(await written(store, await put(store, 2, root)), expected, "the writes");
    },
  },
  "langgraph/delta-on-path": {
    group: "isolation",
    must: `${types}\`getDeltaChannelHistory\`: "for forked threads, only on-path ancestors contribute"`,
    title: "takes writes of ancestors only, not those of other branches or newer checkpoints",
    async check(trial) {
      const store = await opened(trial);
      const root = await put(store, 1, at());
      const left = await put(store, 2, root);
      await store.putWrites(left, [["log", "left"]], "task");
      const right = await put(store, 3, root);
      await store.putWrites(right, [["log", "right"]], "task");
      const tip = await put(store, 4, left);
      await put(store, 5, right);
      same(await written(store, tip), ["left"], "the writes of the first branch");
      same(await written(store, right), [], "the writes of a checkpoint without writes above it");
    },
  },
  "langgraph/delta-siblings": {
    group: "isolation",
    ours: "two forks of one checkpoint both write to it; no saver of the framework tells their writes apart (langgraphjs#2737)",
    title: "gives each of two branches only the writes of their common parent that led to it",
    async check(trial) {
      const store = await opened(trial);
      const root = await put(store, 1, at());
      await store.putWrites(root, [["log", "first"]], "task 1");
      const first = await put(store, 2, root);
      await store.putWrites(root, [["log", "second"]], "task 2");
      const second = await put(store, 3, root);
      same(await written(store, first), ["first"], "the writes of the first branch");
      same(await written(store, second), ["second"], "the writes of the second branch");
      await store.putWrites(first, [["log", "third"]], "task 1");
      same(await written(store, await put(store, 4, first)), ["first", "third"], "the writes below the first branch");
    },
  },
  "langgraph/delta-after-overwrite": {
    must: `${published}getDeltaChannelHistory "retains a plain (migration) seed and replays boundary writes"`,
    title: "returns the stored value of a channel that was no delta channel before, and the writes after it",
    async check(trial) {
      const store = await opened(trial);
      const root = await save(store, 1, { values: { log: [0, 1] }, versions: { log: 1 } });
      await store.putWrites(root, [["log", 2]], "task");
      const tip = await put(store, 2, root);
      const { log } = await store.getDeltaChannelHistory({ config: tip, channels });
      same([log?.seed, log?.writes.map((write) => write[2])], [[0, 1], [2]], "the seed and the writes");
    },
  },
});
