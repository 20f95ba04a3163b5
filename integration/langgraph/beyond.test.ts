// What ForkpointSaver offers beyond BaseCheckpointSaver: removing, copying and listing threads, statistics, closing,
// shared stores, and options.
import { Annotation, Command, DeltaChannel, interrupt } from "@langchain/langgraph";
import {
  type CheckpointMetadata,
  type CheckpointTuple,
  INTERRUPT as INTERRUPT_WRITE,
  MemorySaver,
  type SerializerProtocol,
  TASKS,
  uuid6,
} from "@langchain/langgraph-checkpoint";
import { CheckpointStore } from "forkpoint";
import { ForkpointSaver, type PruneStrategy, type SaverOptions } from "forkpoint/langgraph";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { holding } from "../../__test__/helpers.js";
import { hostileIds as hostile } from "../../__test__/hostile-values.js";
import {
  Log,
  all,
  checkpoint,
  deltas,
  mainKinds,
  metadata,
  place,
  rejection,
  saver,
  says,
  sequence,
  sideBySide,
  thread,
  openShared,
} from "./helpers.js";

type Config = { configurable?: Record<string, unknown> };

/** LangGraph's own serializer, which it does not export. */
const plus = new MemorySaver().serde;

/** Returns the error of a promise that must reject with this code. */
async function refused(promise: Promise<unknown>, code = "INVALID_ARGUMENT"): Promise<Error> {
  const error = await rejection(promise);
  expect(error.code, error.message).toBe(code);
  return error;
}

/** Returns the error that a call must throw with this code. */
function thrown(call: () => unknown, code = "INVALID_ARGUMENT"): Error {
  try {
    call();
  } catch (error) {
    expect((error as { code?: unknown }).code).toBe(code);
    return error as Error;
  }
  throw new Error("nothing was thrown");
}

/** Lists the checkpoints of a thread in all namespaces. Without a `thread_id`, lists the checkpoints of all threads. */
function tuples(of: ForkpointSaver, thread_id?: string): Promise<CheckpointTuple[]> {
  return all(of.list(thread_id === undefined ? {} : thread(thread_id)));
}

const ids = (found: CheckpointTuple[]) => found.map((tuple) => tuple.checkpoint.id);

const namespaceOf = ({ config }: CheckpointTuple) => config.configurable!["checkpoint_ns"] as string;

/**
 * Puts a chain of checkpoints, each the child of the previous one. Each has ordinary writes, writes of bytes and
 * special writes.
 */
async function chain(to: ForkpointSaver, from: Config, length: number, fields: object = {}): Promise<Config[]> {
  const made: Config[] = [];
  let parent = from;
  for (let i = 0; i < length; i++) {
    const values = { n: i, same: "same", list: Array.from({ length: i }, (_, at) => at) };
    const versions = { n: i + 1, same: 1, list: i + 1 };
    const news = i === 0 ? versions : { n: i + 1, list: i + 1 };
    const put = checkpoint({ channel_values: values, channel_versions: versions });
    parent = await to.put(parent, put, metadata({ step: i, ...fields }), news);
    await to.putWrites(parent, Object.entries({ n: i + 1, bytes: new Uint8Array([i, 255]) }), `task ${i}`);
    await to.putWrites(parent, [[INTERRUPT_WRITE, [{ value: i }]]], "asking");
    made.push(parent);
  }
  return made;
}

/** Runs the work while the clock is set to this time. */
async function at(time: number, work: () => Promise<unknown>): Promise<void> {
  vi.useFakeTimers({ toFake: ["Date"], now: time });
  try {
    await work();
  } finally {
    vi.useRealTimers();
  }
}

/** Returns the tuples that are expected after a copy to another thread. */
function moved(found: CheckpointTuple[], thread_id: string): CheckpointTuple[] {
  const move = ({ configurable }: Config) => ({ configurable: { ...configurable, thread_id } });
  return found.map((tuple) => ({
    ...tuple,
    config: move(tuple.config),
    ...(tuple.parentConfig && { parentConfig: move(tuple.parentConfig) }),
  }));
}

/** A graph of three nodes. */
function three(checkpointer: ForkpointSaver) {
  return sequence(Log, { a: says("a"), b: says("b"), c: says("c") }).compile({ checkpointer });
}

/** A graph with a subgraph that interrupts. */
function nested(checkpointer: ForkpointSaver) {
  const inner = sequence(Log, {
    first: says("inner first"),
    ask: () => ({ log: [`answer: ${interrupt<string, string>("inside?")}`] }),
    last: says("inner last"),
  }).compile();
  const Outer = Annotation.Root({ log: Annotation<string[]> });
  return sequence(Outer, {
    before: ({ log }) => ({ log: [...log, "before"] }),
    inner,
    after: ({ log }) => ({ log: [...log, "after"] }),
  }).compile({ checkpointer });
}

const added = (before: string[], more: string[][]) => [...before, ...more.flat()];

describe.each(mainKinds)("on %s", (kind) => {
  describe("prune", () => {
    const namespaces = ["", "sub:1"];

    /** Makes the threads a and b. Each has two namespaces with five checkpoints. */
    async function filled() {
      const checkpointer = saver(kind, { durability: "off" });
      for (const id of ["a", "b"]) {
        for (const checkpoint_ns of namespaces) await chain(checkpointer, thread(id, { checkpoint_ns }), 5);
      }
      return checkpointer;
    }

    const strategies: Array<[name: string, strategy: PruneStrategy | undefined, stay: number]> = [
      ["nothing said", undefined, 1],
      ["keep_latest", "keep_latest", 1],
      ["delete", "delete", 0],
      ["keepLastN 2", { keepLastN: 2 }, 2],
      ["keepLastN 5", { keepLastN: 5 }, 5],
      ["keepLastN Infinity", { keepLastN: Number.POSITIVE_INFINITY }, 5],
      ["keepLastN 0, which is no limit", { keepLastN: 0 }, 5],
      ["keepLastN null, which is no limit", { keepLastN: null }, 5],
      ["olderThan null, which is no limit", { olderThan: null }, 5],
      ["an empty object, which is no limit", {}, 5],
    ];

    it.each(strategies)(
      "by %s: what stays reads exactly as before, in each namespace by itself",
      async (_, strategy, stay) => {
        const checkpointer = await filled();
        const before = { a: await tuples(checkpointer, "a"), b: await tuples(checkpointer, "b") };
        expect(before.a).toHaveLength(10);
        expect(before.a.every(({ pendingWrites }) => pendingWrites!.length === 3)).toBe(true);
        const result = await (strategy === undefined ? checkpointer.prune(["a"]) : checkpointer.prune(["a"], strategy));
        expect(result).toMatchObject({ removed: 2 * (5 - stay) });
        const kept = new Set(
          namespaces.flatMap((ns) => before.a.filter((tuple) => namespaceOf(tuple) === ns).slice(0, stay)),
        );
        const expected = before.a.filter((tuple) => kept.has(tuple));
        expect(await tuples(checkpointer, "a")).toStrictEqual(expected);
        for (const tuple of before.a) {
          const found = await checkpointer.getTuple(tuple.config);
          if (kept.has(tuple)) expect(found).toStrictEqual(tuple);
          else expect(found).toBeUndefined();
        }
        for (const checkpoint_ns of namespaces) {
          const latest = await checkpointer.getTuple(thread("a", { checkpoint_ns }));
          expect(latest?.checkpoint.id).toBe(
            expected.find((tuple) => namespaceOf(tuple) === checkpoint_ns)?.checkpoint.id,
          );
        }
        expect(await tuples(checkpointer, "b")).toStrictEqual(before.b);
        // A second prune has nothing left to remove.
        expect(await checkpointer.prune(["a"], strategy)).toMatchObject({ removed: 0 });
        expect(await tuples(checkpointer, "a")).toStrictEqual(expected);
      },
    );

    it.each<[PruneStrategy, number[]]>([
      [{ olderThan: new Date(3_000) }, [4, 3, 2]],
      [{ olderThan: 3_001 }, [4, 3]],
      [{ olderThan: 2_999.5 }, [4, 3, 2]],
      [{ olderThan: new Date(-1) }, [4, 3, 2, 1, 0]],
      [{ olderThan: 5_000 }, [4]],
      [{ olderThan: new Date(8_640_000_000_000_000) }, []],
      [{ olderThan: 2_000, keepLastN: 2 }, [4, 3]],
      [{ olderThan: 4_500, keepLastN: 2 }, [4]],
      [{ olderThan: 2_000, keepLastN: null }, [4, 3, 2, 1]],
      [{ olderThan: null, keepLastN: 2 }, [4, 3]],
    ])("of checkpoints that were saved at 1,000 to 5,000, %j leaves %j", async (strategy, expected) => {
      const checkpointer = saver(kind);
      for (const i of [0, 1, 2, 3, 4]) {
        const put = checkpoint({ channel_values: { i }, channel_versions: { i: i + 1 } });
        await at(1_000 * (i + 1), () => checkpointer.put(thread("a"), put, metadata({ i }), { i: i + 1 }));
      }
      const before = await tuples(checkpointer, "a");
      expect(await checkpointer.prune(["a"], strategy)).toMatchObject({ removed: 5 - expected.length });
      const left = await tuples(checkpointer, "a");
      expect(left.map((tuple) => tuple.checkpoint.channel_values["i"])).toEqual(expected);
      expect(left).toStrictEqual(before.slice(0, expected.length));
    });

    it("several threads at once, one of them unknown, one named twice", async () => {
      const checkpointer = await filled();
      await chain(checkpointer, thread("c"), 3);
      const [a, c] = [await tuples(checkpointer, "a"), await tuples(checkpointer, "c")];
      expect(await checkpointer.prune(["c", "unknown", "a", "c"])).toMatchObject({ removed: 2 + 8 });
      expect(await tuples(checkpointer, "c")).toStrictEqual([c[0]]);
      expect(await tuples(checkpointer, "a")).toStrictEqual([a[0], a[5]]);
      expect(await tuples(checkpointer, "b")).toHaveLength(10);
      expect(await tuples(checkpointer, "unknown")).toEqual([]);
    });

    it("removes more than fit in one transaction", async () => {
      const checkpointer = saver(kind, { durability: "off" });
      const [, ...rest] = await chain(checkpointer, thread("a"), 1_201);
      const latest = (await checkpointer.getTuple(rest.at(-1)!))!;
      expect(await checkpointer.prune(["a"])).toMatchObject({ removed: 1_200 });
      expect(await tuples(checkpointer)).toStrictEqual([latest]);
    });

    it("v < 4: a checkpoint that stays keeps the sends that wait in its parent", async () => {
      const checkpointer = saver(kind);
      const old = () => ({ ...checkpoint(), v: 3 });
      const root = await checkpointer.put(thread("a"), old(), metadata(), {});
      const parent = await checkpointer.put(root, old(), metadata(), {});
      await checkpointer.putWrites(parent, [[TASKS, "send"]], "task");
      const child = await checkpointer.put(parent, old(), metadata(), {});
      const before = (await checkpointer.getTuple(child))!;
      expect(before.checkpoint.channel_values[TASKS]).toEqual(["send"]);
      await checkpointer.prune(["a"]);
      expect(await checkpointer.getTuple(child)).toStrictEqual(before);
      expect(await checkpointer.getTuple(root)).toBeUndefined();
    });

    it("of a graph whose subgraph waits for an answer: it is given", async () => {
      const checkpointer = saver(kind);
      const app = nested(checkpointer);
      await app.invoke({ log: ["in"] }, thread());
      const before = await app.getState(thread(), { subgraphs: true });
      const { removed } = await checkpointer.prune(["thread"]);
      expect(removed).toBe(4);
      expect((await tuples(checkpointer)).map((tuple) => namespaceOf(tuple).split(":")[0]).toSorted()).toEqual([
        "",
        "inner",
      ]);
      expect(await app.getState(thread(), { subgraphs: true })).toEqual(before);
      expect(await app.invoke(new Command({ resume: "yes" }), thread())).toEqual({
        log: ["in", "before", "inner first", "answer: yes", "inner last", "after"],
      });
    });

    describe.each([1, 2, 3, 1_000])("of a graph with delta channels, a snapshot every %i updates,", (frequency) => {
      it.each(["sync", "async", "exit"] as const)(
        "durability %s: what stays reads as before, and the graph goes on",
        async (durability) => {
          const checkpointer = saver(kind);
          const app = deltas(checkpointer, frequency);
          const expected: string[] = [];
          for (let round = 1; round <= 4; round++) {
            expected.push(`in${round}`, `a${round}`, `b${round}`);
            const result = await app.invoke({ log: [`in${round}`], round }, { ...thread(), durability });
            expect(result).toEqual({ log: expected, rare: ["once"], round });
            const [before] = await all(app.getStateHistory(thread()));
            await checkpointer.prune(["thread"]);
            // A checkpoint that stays only because a later one needs it may have lost some of its own ancestors.
            expect((await all(app.getStateHistory(thread())))[0]).toEqual(before);
          }
        },
      );

      it("keepLastN: each of those reads as before", async () => {
        const checkpointer = saver(kind);
        const app = deltas(checkpointer, frequency);
        for (let round = 1; round <= 4; round++) await app.invoke({ log: [`in${round}`], round }, thread());
        const before = await all(app.getStateHistory(thread()));
        expect(before.length).toBeGreaterThan(5);
        await checkpointer.prune(["thread"], { keepLastN: 5 });
        expect((await all(app.getStateHistory(thread(), { limit: 5 }))).map(({ values }) => values)).toEqual(
          before.slice(0, 5).map(({ values }) => values),
        );
        for (const { config, values } of before.slice(0, 5))
          expect((await app.getState(config)).values).toEqual(values);
      });

      it.each([
        ["an update", (app: ReturnType<typeof deltas>) => app.updateState(thread(), { log: ["edited"] }, "b")],
        [
          "an update of another channel",
          (app: ReturnType<typeof deltas>) => app.updateState(thread(), { round: 9 }, "b"),
        ],
        ["a copy", (app: ReturnType<typeof deltas>) => app.updateState(thread(), null, "__copy__")],
        ["an end", (app: ReturnType<typeof deltas>) => app.updateState(thread(), null, "__end__")],
        [
          "a new input",
          (app: ReturnType<typeof deltas>) => app.updateState(thread(), { log: ["more"], round: 9 }, "__input__"),
        ],
      ] as const)("whose latest is %s", async (_, update) => {
        const checkpointer = saver(kind);
        const app = deltas(checkpointer, frequency);
        for (const round of [1, 2]) await app.invoke({ log: [`in${round}`], round }, thread());
        await update(app);
        const before = await app.getState(thread());
        await checkpointer.prune(["thread"]);
        expect((await app.getState(thread())).values).toEqual(before.values);
        const { log } = await app.invoke({ log: ["in3"], round: 3 }, thread());
        expect(log).toEqual([...before.values.log, "in3", "a3", "b3"]);
      });

      it("whose latest is a branch: it reads its own writes only", async () => {
        const checkpointer = saver(kind);
        const app = deltas(checkpointer, frequency);
        await app.invoke({ log: ["in1"], round: 1 }, thread());
        const base = (await all(app.getStateHistory(thread()))).find(({ next }) => next[0] === "b")!;
        for (const name of ["x", "y"]) await app.invoke(null, await app.updateState(base.config, { log: [name] }, "a"));
        await checkpointer.prune(["thread"]);
        expect((await app.getState(thread())).values.log).toEqual(["in1", "a1", "y", "b1"]);
        expect((await app.invoke({ log: ["in2"], round: 2 }, thread())).log).toEqual([
          "in1",
          "a1",
          "y",
          "b1",
          "in2",
          "a2",
          "b2",
        ]);
      });
    });

    it("of a graph with delta channels removes what is before their snapshots", async () => {
      const checkpointer = saver(kind);
      const app = deltas(checkpointer, 1);
      for (let round = 1; round <= 10; round++) await app.invoke({ log: [`in${round}`], rare: ["r"], round }, thread());
      const { removed } = await checkpointer.prune(["thread"]);
      expect(removed).toBeGreaterThanOrEqual(30);
    });

    it.each([
      ["keep_latest", 16],
      ["delete", 20],
      [{ keepLastN: 3 }, 8],
      // The threads wait.
      [{ olderThan: Date.now() + 1e9 }, 16],
      [{ olderThan: Date.now() + 1e9, waiting: true }, 20],
      [{}, 0],
    ] as const)("dryRun says what %j would remove, and removes nothing", async (strategy, removed) => {
      const checkpointer = await filled();
      await checkpointer.putWrites(thread("a", { checkpoint_id: uuid6(0) }), [["w", 1]], "task");
      const before = await tuples(checkpointer);
      const progress: unknown[] = [];
      const onProgress = (now: unknown) => progress.push(now);
      const planned = await checkpointer.prune(["a", "b", "a"], strategy, { dryRun: true, onProgress });
      expect(await tuples(checkpointer)).toStrictEqual(before);
      expect(planned.removed).toBe(removed);
      expect(progress.at(-1)).toEqual(removed > 0 ? planned : undefined);
      expect(await checkpointer.prune(["a", "b", "a"], strategy)).toEqual(planned);
      expect(await tuples(checkpointer)).toHaveLength(20 - planned.removed);
    });

    it("onProgress is called after each transaction, and a signal stops between two of them", async () => {
      const checkpointer = await filled();
      const seen: number[] = [];
      const reason = new Error("enough");
      const controller = new AbortController();
      const onProgress = ({ removed }: { removed: number }) => {
        seen.push(removed);
        if (seen.length === 3) controller.abort(reason);
      };
      const stopped = checkpointer.prune(["a", "b"], { keepLastN: 3 }, { signal: controller.signal, onProgress });
      await expect(stopped).rejects.toBe(reason);
      expect(seen).toEqual([2, 4, 6]);
      expect(await tuples(checkpointer)).toHaveLength(14);
      // An aborted signal makes `prune` reject before it removes anything, even if there is nothing to remove.
      for (const threads of [[], ["a"]]) {
        await expect(checkpointer.prune(threads, "delete", { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      }
      expect(await tuples(checkpointer)).toHaveLength(14);
      // An error that `onProgress` throws also stops `prune`.
      const throwing = () => {
        throw reason;
      };
      await expect(checkpointer.prune(["a", "b"], "keep_latest", { onProgress: throwing })).rejects.toBe(reason);
      expect((await tuples(checkpointer)).length).toBeGreaterThan(8);
      // An abort after the last step has no effect.
      const late = new AbortController();
      const last = checkpointer.prune(["a"], "delete", { signal: late.signal, onProgress: () => late.abort(reason) });
      await expect(last).resolves.toMatchObject({ namespaces: 2 });
    });

    it("stopped half-way, what was written to a checkpoint whose children are gone is pending again", async () => {
      const checkpointer = saver(kind, { durability: "off" });
      const put = async (id: string, parent: string | undefined, savedAt: number) => {
        const config = thread("a", parent === undefined ? {} : { checkpoint_ns: "", checkpoint_id: parent });
        await at(savedAt, () => checkpointer.put(config, { ...checkpoint(), id }, metadata(), {}));
        return thread("a", { checkpoint_ns: "", checkpoint_id: id });
      };
      // The checkpoints with the smallest ids are removed in the second transaction.
      for (let n = 0; n < 600; n++) await put(`a${String(n).padStart(3, "0")}`, undefined, 1_000);
      const stays = await put("b", undefined, 9_000);
      await checkpointer.putWrites(stays, [["w", "kept"]], "task");
      await put("c", "b", 1_000);
      const controller = new AbortController();
      const options = { signal: controller.signal, onProgress: () => controller.abort() };
      await expect(checkpointer.prune(["a"], { olderThan: 5_000 }, options)).rejects.toMatchObject({
        name: "AbortError",
      });
      expect(await tuples(checkpointer)).toHaveLength(102);
      const child = await put("d", "b", 9_000);
      const history = await checkpointer.getDeltaChannelHistory({ config: child, channels: ["w"] });
      expect(history["w"]!.writes).toEqual([["task", "w", "kept"]]);
    });

    it("closing ends it", async () => {
      const checkpointer = await filled();
      let closed: Promise<void> | undefined;
      const onProgress = () => void (closed ??= checkpointer.close());
      await refused(checkpointer.prune(["a", "b"], "keep_latest", { onProgress }), "CLOSED");
      await closed;
    });
  });

  describe("deleteForRuns", () => {
    it("removes the checkpoints of these runs in every thread and namespace; the others read as before", async () => {
      const checkpointer = saver(kind, { durability: "off" });
      for (const id of ["a", "b"]) {
        for (const checkpoint_ns of ["", "sub:1"]) {
          let tip: Config = thread(id, { checkpoint_ns });
          for (const run_id of ["r1", "r2", "r3"]) tip = (await chain(checkpointer, tip, 3, { run_id })).at(-1)!;
        }
      }
      await chain(checkpointer, thread("c"), 3);
      const before = await tuples(checkpointer);
      const of = ({ metadata: made }: CheckpointTuple) => (made as { run_id?: string }).run_id;
      const planned = { removed: 12, namespaces: 0 };
      expect(await checkpointer.deleteForRuns(["r2"], { dryRun: true })).toEqual(planned);
      expect(await tuples(checkpointer)).toStrictEqual(before);
      expect(await checkpointer.deleteForRuns(["r2"])).toEqual(planned);
      expect(await tuples(checkpointer)).toStrictEqual(before.filter((tuple) => of(tuple) !== "r2"));
      const rest = { removed: 24, namespaces: 4 };
      expect(await checkpointer.deleteForRuns(["r3", "unknown", "r1", "r3"], { dryRun: true })).toEqual(rest);
      expect(await checkpointer.deleteForRuns(["r3", "unknown", "r1", "r3"])).toEqual(rest);
      expect(await tuples(checkpointer)).toStrictEqual(before.filter((tuple) => of(tuple) === undefined));
      expect(await checkpointer.deleteForRuns(["r1", "r2", "r3"])).toMatchObject({ removed: 0 });
      // A thread without checkpoints is no longer listed.
      expect((await checkpointer.listThreads()).threads.map(({ threadId }) => threadId)).toEqual(["c"]);
    });

    it("looks at the run_id of the metadata only, and only at texts", async () => {
      const checkpointer = saver(kind);
      const others = [5, null, ["5"], { run_id: "5" }, true, "5 ", undefined];
      for (const run_id of others) await checkpointer.put(thread("a"), checkpoint(), metadata({ run_id }), {});
      for (const fields of [{ runId: "5" }, { "run_id.": "5" }, { deep: { run_id: "5" } }, { thread_id: "5" }]) {
        await checkpointer.put(thread("a"), checkpoint(), metadata(fields), {});
      }
      const channel = checkpoint({ channel_values: { run_id: "5" }, channel_versions: { run_id: 1 } });
      await checkpointer.put(thread("5"), channel, metadata(), { run_id: 1 });
      const before = await tuples(checkpointer);
      expect(await checkpointer.deleteForRuns(["5"])).toMatchObject({ removed: 0 });
      expect(await tuples(checkpointer)).toStrictEqual(before);
      await checkpointer.put(thread("a"), checkpoint(), metadata({ run_id: "5" }), {});
      expect(await checkpointer.deleteForRuns(["5"])).toMatchObject({ removed: 1 });
      expect(await tuples(checkpointer)).toStrictEqual(before);
    });

    it("finds them among thousands, and among copies, which have the same ids", async () => {
      const checkpointer = saver(kind, { durability: "off" });
      const made = await chain(checkpointer, thread("source"), 3, { run_id: "r" });
      await chain(checkpointer, made.at(-1)!, 1, { run_id: "other" });
      for (let i = 0; i < 250; i++) await checkpointer.copyThread("source", `copy ${i}`);
      expect(await checkpointer.deleteForRuns(["r"])).toMatchObject({ removed: 251 * 3 });
      const left = await tuples(checkpointer);
      expect(left).toHaveLength(251);
      expect(new Set(left.map(({ config }) => config.configurable!["thread_id"])).size).toBe(251);
      expect(left.every(({ metadata: found }) => (found as { run_id?: string }).run_id === "other")).toBe(true);
    });

    describe("of a graph whose checkpoints are marked by run", () => {
      /** A saver whose `put` marks each checkpoint. */
      class Marking extends ForkpointSaver {
        run = "none";

        override put(...[config, put, made, versions]: Parameters<ForkpointSaver["put"]>) {
          const marked: CheckpointMetadata<{ run_id: string }> = { ...made, run_id: this.run };
          return super.put(config, put, marked, versions);
        }
      }

      function marking() {
        const made = new Marking(place(kind));
        onTestFinished(() => made.close());
        return made;
      }

      it("the last one is taken back: the state is the one before, and the graph goes on from there", async () => {
        const checkpointer = marking();
        const app = three(checkpointer);
        for (const run of ["r1", "r2", "r3"]) {
          checkpointer.run = run;
          await app.invoke({ log: [run] }, thread());
        }
        await app.invoke({ log: ["r3"] }, thread("other"));
        expect(await checkpointer.deleteForRuns(["r3"])).toMatchObject({ removed: 10 });
        const state = await app.getState(thread());
        expect(state.values).toEqual({ log: ["r1", "a", "b", "c", "r2", "a", "b", "c"] });
        expect(state.next).toEqual([]);
        expect((await app.getState(thread("other"))).values).toEqual({});
        checkpointer.run = "r4";
        expect((await app.invoke({ log: ["r4"] }, thread())).log).toEqual([...state.values.log, "r4", "a", "b", "c"]);
        // Also remove the first run. The remaining checkpoints inherit from its checkpoints and must not change.
        const before = await app.getState(thread());
        expect(await checkpointer.deleteForRuns(["r1"])).toMatchObject({ removed: 5 });
        expect(await app.getState(thread())).toEqual(before);
      });

      it("with delta channels: a run that was made of another's writes is taken back, and the writes are used again", async () => {
        const checkpointer = marking();
        const channel = () => new DeltaChannel<string[], string[]>(added, { snapshotFrequency: 1_000 });
        const State = Annotation.Root({ log: channel as never as typeof Annotation<string[]> });
        let broken = true;
        const app = sideBySide(State, {
          done: () => ({ log: ["done"] }),
          fails: () => {
            if (broken) throw new Error("not yet");
            return { log: ["fails"] };
          },
        }).compile({ checkpointer });
        checkpointer.run = "r1";
        await rejection(app.invoke({ log: ["in"] }, thread()));
        broken = false;
        for (const run of ["r2", "r3"]) {
          checkpointer.run = run;
          const { log } = await app.invoke(null, thread());
          expect(log.toSorted()).toEqual(["done", "fails", "in"]);
          expect((await app.getState(thread())).values.log.toSorted()).toEqual(["done", "fails", "in"]);
          await checkpointer.deleteForRuns([run]);
        }
      });
    });
  });

  describe("copyThread", () => {
    it("copies every namespace, checkpoint and write; all is equal but the thread", async () => {
      const checkpointer = saver(kind, { durability: "off" });
      for (const checkpoint_ns of ["", "sub:1", "sub:1|deep:2", "a:b"]) {
        const made = await chain(checkpointer, thread("source", { checkpoint_ns }), 5, { run_id: "r", "a.b": [1] });
        // Add branches, and a checkpoint whose parent is missing.
        await chain(checkpointer, made[1]!, 3);
        await chain(checkpointer, thread("source", { checkpoint_ns, checkpoint_id: uuid6(0) }), 1);
      }
      await chain(checkpointer, thread("other"), 2);
      const [source, other] = [await tuples(checkpointer, "source"), await tuples(checkpointer, "other")];
      expect(source).toHaveLength(36);
      expect(await checkpointer.copyThread("source", "target")).toBeUndefined();
      const target = await tuples(checkpointer, "target");
      expect(target).toStrictEqual(moved(source, "target"));
      expect(await tuples(checkpointer, "source")).toStrictEqual(source);
      expect(await tuples(checkpointer, "other")).toStrictEqual(other);
      for (const tuple of target) expect(await checkpointer.getTuple(tuple.config)).toStrictEqual(tuple);
    });

    it("takes little room: what is the same is not stored anew in every checkpoint", async () => {
      const checkpointer = saver(kind, { durability: "off" });
      const big = Array.from({ length: 20_000 }, (_, i) => String((i * 7_919) % 10_007)).join(" ");
      let tip: Config = thread("source");
      for (let i = 0; i < 50; i++) {
        const put = checkpoint({ channel_values: { big, i }, channel_versions: { big: 1, i: i + 1 } });
        tip = await checkpointer.put(tip, put, metadata(), i === 0 ? { big: 1, i: 1 } : { i: i + 1 });
      }
      const before = await checkpointer.stats();
      await checkpointer.copyThread("source", "target");
      const after = await checkpointer.stats();
      expect(after.checkpoints).toBe(100);
      expect(after.logicalBytes).toBe(2 * before.logicalBytes);
      if (kind === "sqlite") expect(after.storedBytes).toBeLessThan(3 * before.storedBytes);
      expect(await tuples(checkpointer, "target")).toStrictEqual(moved(await tuples(checkpointer, "source"), "target"));
    });

    it("a copy and its source are removed and pruned by themselves", async () => {
      const checkpointer = saver(kind);
      const app = three(checkpointer);
      await app.invoke({ log: ["in"] }, thread("source"));
      const source = await tuples(checkpointer, "source");
      await checkpointer.copyThread("source", "target");
      await checkpointer.deleteThread("target");
      expect(await tuples(checkpointer)).toStrictEqual(source);
      await checkpointer.copyThread("source", "target");
      await checkpointer.prune(["target"]);
      expect(await tuples(checkpointer, "source")).toStrictEqual(source);
      expect(await tuples(checkpointer, "target")).toStrictEqual(moved(source.slice(0, 1), "target"));
      await checkpointer.deleteThread("source");
      expect(await tuples(checkpointer)).toStrictEqual(moved(source.slice(0, 1), "target"));
      expect((await app.invoke({ log: ["more"] }, thread("target"))).log.slice(-4)).toEqual(["more", "a", "b", "c"]);
    });

    it("a copy and its source have the same histories of delta channels, forks included", async () => {
      for (const frequency of [1, 3, 1_000]) {
        const checkpointer = saver(kind, { durability: "off" });
        const app = deltas(checkpointer, frequency);
        for (const round of [1, 2]) await app.invoke({ log: [`in${round}`], round }, thread("source"));
        const bases = (await all(app.getStateHistory(thread("source")))).filter(({ next }) => next[0] === "b");
        for (const base of bases) {
          for (const name of ["x", "y", "z"]) {
            await app.invoke(null, await app.updateState(base.config, { log: [name] }, "a"));
          }
          await app.invoke(null, base.config);
        }
        await checkpointer.copyThread("source", "target");
        const source = await tuples(checkpointer, "source");
        expect(await tuples(checkpointer, "target")).toStrictEqual(moved(source, "target"));
        const channels = ["log", "rare", "none"];
        for (const { config } of source) {
          const twin = { configurable: { ...config.configurable, thread_id: "target" } };
          const history = await checkpointer.getDeltaChannelHistory({ config, channels });
          expect(await checkpointer.getDeltaChannelHistory({ config: twin, channels })).toEqual(history);
          expect((await app.getState(twin)).values).toEqual((await app.getState(config)).values);
        }
        const before = (await app.getState(thread("source"))).values.log;
        const { log } = await app.invoke({ log: ["in3"], round: 3 }, thread("target"));
        expect(log).toEqual([...before, "in3", "a3", "b3"]);
        expect((await app.getState(thread("target"))).values.log).toEqual(log);
        expect((await app.getState(thread("source"))).values.log).toEqual(before);
      }
    });

    it("of several children, whose ids are in another order than they came: each keeps what it was made of", async () => {
      const checkpointer = saver(kind);
      const put = (parent: Config, id: string) => checkpointer.put(parent, { ...checkpoint(), id }, metadata(), {});
      const root = await put(thread("source"), "m");
      // One has an id below its parent's.
      for (const id of ["z", "n", "a"]) {
        await checkpointer.putWrites(root, Object.entries({ log: `for ${id}`, n: id }), "task");
        await put(root, id);
      }
      await checkpointer.putWrites(root, [["log", "for nobody"]], "task");
      await checkpointer.copyThread("source", "target");
      const at = (id: string) => thread("target", { checkpoint_ns: "", checkpoint_id: id });
      const history = async (config: Config) => {
        const { log } = await checkpointer.getDeltaChannelHistory({ config, channels: ["log"] });
        return log!.writes.map((write) => write[2]);
      };
      for (const id of ["z", "n", "a"]) expect(await history(at(id))).toEqual([`for ${id}`]);
      // A write that no checkpoint has claimed belongs to the next child.
      expect(await history(await put(at("m"), "next"))).toEqual(["for nobody"]);
    });

    it("from what is not there is NOT_FOUND, and makes nothing", async () => {
      const checkpointer = saver(kind);
      await chain(checkpointer, thread("a"), 2);
      for (const source of ["", "A", "a ", "1:a", "%"])
        await refused(checkpointer.copyThread(source, "target"), "NOT_FOUND");
      await refused(checkpointer.copyThread("none", "none"), "NOT_FOUND");
      expect(await tuples(checkpointer)).toHaveLength(2);
    });

    it("to what is there is a CONFLICT, and changes nothing", async () => {
      const checkpointer = saver(kind);
      await chain(checkpointer, thread("source"), 3);
      await chain(checkpointer, thread("target"), 2);
      // A thread that only has a subgraph's checkpoints exists too.
      await chain(checkpointer, thread("sub", { checkpoint_ns: "sub:1" }), 1);
      const before = await tuples(checkpointer);
      for (const target of ["target", "sub", "source"]) {
        const error = await refused(checkpointer.copyThread("source", target), "CONFLICT");
        expect(error.message).toContain(JSON.stringify(target));
      }
      expect(await tuples(checkpointer)).toStrictEqual(before);
    });

    it("of two at once to the same thread, one is a CONFLICT and the other is whole", async () => {
      const checkpointer = saver(kind);
      await chain(checkpointer, thread("one"), 8);
      await chain(checkpointer, thread("two"), 4);
      const outcomes = await Promise.allSettled(
        ["one", "two"].map((source) => checkpointer.copyThread(source, "target")),
      );
      const winners = ["one", "two"].filter((_, i) => outcomes[i]!.status === "fulfilled");
      expect(winners).toHaveLength(1);
      for (const outcome of outcomes) {
        if (outcome.status === "rejected") expect((outcome.reason as { code?: unknown }).code).toBe("CONFLICT");
      }
      const source = await tuples(checkpointer, winners[0]!);
      expect(await tuples(checkpointer, "target")).toStrictEqual(moved(source, "target"));
    });

    it("list goes over more copies than a page has, each once", async () => {
      const checkpointer = saver(kind, { durability: "off" });
      await chain(checkpointer, thread("0"), 2);
      for (let i = 1; i < 150; i++) await checkpointer.copyThread("0", String(i));
      const found = await tuples(checkpointer);
      expect(found).toHaveLength(300);
      expect(new Set(found.map(({ config }) => JSON.stringify(config))).size).toBe(300);
      const sorted = ids(found);
      expect(sorted).toEqual(sorted.toSorted().toReversed());
      for (const limit of [1, 99, 100, 101, 150, 151, 299]) {
        expect(ids(await all(checkpointer.list({}, { limit })))).toEqual(sorted.slice(0, limit));
      }
    });

    it("list finds by its metadata each of more threads than a page has whose checkpoints have the same id", async () => {
      const checkpointer = saver(kind, { durability: "off" });
      const put = checkpoint();
      for (let i = 0; i < 150; i++) await checkpointer.put(thread(String(i)), put, metadata({ i }), {});
      for (const i of [0, 1, 49, 50, 51, 99, 100, 149]) {
        for (const limit of [1, 2, 100, 1_000]) {
          const found = await all(checkpointer.list({}, { filter: { i }, limit }));
          expect(
            found.map(({ config }) => config.configurable!["thread_id"]),
            `${i} of ${limit}`,
          ).toEqual([String(i)]);
        }
      }
    });

    it("list finds each namespace without a thread where several have checkpoints of the same id", async () => {
      const checkpointer = saver(kind);
      const put = checkpoint();
      for (const checkpoint_ns of ["x", "y", "z", ""])
        await checkpointer.put(thread("a", { checkpoint_ns }), put, metadata(), {});
      for (const checkpoint_ns of ["x", "y", "z", ""]) {
        for (const limit of [1, 2, 4, 5]) {
          const found = await all(checkpointer.list({ configurable: { checkpoint_ns } }, { limit }));
          expect(found.map(namespaceOf), `${checkpoint_ns} of ${limit}`).toEqual([checkpoint_ns]);
        }
      }
    });
  });

  it("stats are zeros of an empty store, and count what there is, and what is removed no more", async () => {
    const checkpointer = saver(kind, { durability: "off" });
    const zeros = { checkpoints: 0, namespaces: 0, logicalBytes: 0, storedBytes: 0, ratio: 1, largest: [] };
    const empty = await checkpointer.stats();
    expect(empty).toMatchObject(zeros);
    expect(typeof empty.fileBytes).toBe(kind === "memory" ? "undefined" : "number");
    await chain(checkpointer, thread("a"), 20);
    await chain(checkpointer, thread("a", { checkpoint_ns: "sub:1" }), 3);
    await chain(checkpointer, thread("b"), 5);
    const stats = await checkpointer.stats({ largest: 10 });
    expect(stats).toMatchObject({ checkpoints: 28, namespaces: 3 });
    const rest = { logicalBytes: expect.any(Number), storedBytes: expect.any(Number) };
    expect(stats.largest).toEqual([
      { threadId: "a", checkpointNs: "", checkpoints: 20, ...rest },
      { threadId: "b", checkpointNs: "", checkpoints: 5, ...rest },
      { threadId: "a", checkpointNs: "sub:1", checkpoints: 3, ...rest },
    ]);
    for (const key of ["logicalBytes", "storedBytes"] as const)
      expect(stats.largest.reduce((sum, line) => sum + line[key], 0)).toBe(stats[key]);
    expect(stats.ratio).toBeCloseTo(stats.logicalBytes / stats.storedBytes);
    expect((await checkpointer.stats({ largest: 1 })).largest).toEqual(stats.largest.slice(0, 1));
    await checkpointer.prune(["a"]);
    expect(await checkpointer.stats()).toMatchObject({ checkpoints: 7, namespaces: 3, largest: [] });
    await checkpointer.deleteThread("a");
    const left = await checkpointer.stats();
    expect(left).toMatchObject({ checkpoints: 5, namespaces: 1 });
    expect(left.logicalBytes).toBeLessThan(stats.logicalBytes);
  });

  describe("close", () => {
    /** Calls of every method with correct arguments. */
    function calls(checkpointer: ForkpointSaver): Record<string, () => Promise<unknown>> {
      const there = thread("thread", { checkpoint_ns: "", checkpoint_id: uuid6(0) });
      return {
        getTuple: () => checkpointer.getTuple(thread()),
        get: () => checkpointer.get(thread()),
        list: () => all(checkpointer.list({})),
        put: () => checkpointer.put(thread(), checkpoint(), metadata(), {}),
        putWrites: () => checkpointer.putWrites(there, [["a", 1]], "task"),
        deleteThread: () => checkpointer.deleteThread("thread"),
        getDeltaChannelHistory: () => checkpointer.getDeltaChannelHistory({ config: thread(), channels: ["a"] }),
        prune: () => checkpointer.prune(["thread"]),
        deleteForRuns: () => checkpointer.deleteForRuns(["r"]),
        copyThread: () => checkpointer.copyThread("thread", "other"),
        listThreads: () => checkpointer.listThreads(),
        stats: () => checkpointer.stats(),
        vacuum: () => checkpointer.vacuum(),
      };
    }

    it("may be called again, also at once, and ends every method", async () => {
      const checkpointer = new ForkpointSaver(place(kind));
      await chain(checkpointer, thread(), 2);
      await Promise.all([checkpointer.close(), checkpointer.close()]);
      for (const [name, call] of Object.entries(calls(checkpointer))) {
        const error = await refused(call(), "CLOSED");
        expect(error.message, name).toContain("closed");
        expect((error as { retryable?: boolean }).retryable, name).toBe(false);
      }
      await using unused = new ForkpointSaver(place(kind));
      await unused[Symbol.asyncDispose]();
      await refused(unused.getTuple(thread()), "CLOSED");
    });

    it("waits for what was called before", async () => {
      const checkpointer = new ForkpointSaver(place(kind));
      await chain(checkpointer, thread("source"), 20);
      const at = checkpointer.put(thread("a"), checkpoint(), metadata(), {});
      const copied = checkpointer.copyThread("source", "target");
      const pruned = checkpointer.prune(["source"], { keepLastN: 20 });
      const page = checkpointer.listThreads();
      await checkpointer.close();
      expect((await at).configurable!["thread_id"]).toBe("a");
      expect(await copied).toBeUndefined();
      expect(await pruned).toEqual({ removed: 0, namespaces: 0 });
      expect((await page).cursor).toBeNull();
    });

    it("ends a list that is under way", async () => {
      const checkpointer = new ForkpointSaver(place(kind));
      await chain(checkpointer, thread(), 5);
      const list = checkpointer.list(thread());
      await list.next();
      await checkpointer.close();
      await refused(all(list), "CLOSED");
    });
  });

  it("takes the names of threads and runs literally", async () => {
    const checkpointer = saver(kind, { durability: "off" });
    for (const name of hostile) await chain(checkpointer, thread(name, { checkpoint_ns: name }), 2, { run_id: name });
    expect(Object.keys(Object.prototype)).toEqual([]);
    for (const [i, name] of hostile.entries()) {
      const before = await tuples(checkpointer, name);
      expect(before).toHaveLength(2);
      await refused(checkpointer.copyThread("a", hostile[hostile.length - 1 - i]!), "CONFLICT");
      await checkpointer.copyThread(name, `${name}:${i}`);
      expect(await tuples(checkpointer, `${name}:${i}`)).toStrictEqual(moved(before, `${name}:${i}`));
      expect(await checkpointer.prune([`${name}:${i}`], "delete")).toMatchObject({ removed: 2 });
      expect(await checkpointer.prune([name])).toMatchObject({ removed: 1 });
    }
    for (const [i, name] of hostile.entries()) {
      expect(await checkpointer.deleteForRuns([name])).toMatchObject({ removed: 1 });
      expect((await tuples(checkpointer)).map(({ metadata: made }) => made)).toMatchObject(
        hostile
          .slice(i + 1)
          .toReversed()
          .map((run_id) => ({ run_id })),
      );
    }
  });

  it("refuses wrong arguments, and changes nothing", async () => {
    const checkpointer = saver(kind);
    await chain(checkpointer, thread("a"), 2, { run_id: "r" });
    const before = await tuples(checkpointer);
    const strategies: unknown[] = ["all", "keep-latest", "", null, 5, ["delete"], () => true, { keepLast: 1 }];
    strategies.push({ keepLastN: 1, dryRun: true }, { keepLastN: 1, olderThan: "now" });
    for (const keepLastN of [-1, 1.5, Number.NaN, "1", true]) strategies.push({ keepLastN });
    for (const olderThan of ["yesterday", new Date(Number.NaN), Infinity, 5n]) strategies.push({ olderThan });
    for (const strategy of strategies)
      // Wrong arguments are refused even if there is nothing to do.
      for (const threads of [["a"], []]) {
        const error = await refused(checkpointer.prune(threads, strategy as PruneStrategy));
        expect([TypeError, RangeError]).toContain(error.constructor);
      }
    const lists = ["a", undefined, null, { 0: "a", length: 1 }, new Set(["a"]), ["a", 5], ["a", null], ["a", "\uD800"]];
    for (const list of lists as string[][]) {
      for (const strategy of ["keep_latest", "delete", { keepLastN: 1 }] as const)
        await refused(checkpointer.prune(list, strategy));
      await refused(checkpointer.deleteForRuns(list));
    }
    for (const [options, message] of [
      [{ dryrun: true }, 'Unknown option "dryrun". Did you mean "dryRun"?'],
      [{ keepLastN: 1 }, 'Unknown option "keepLastN".'],
      [{ dryRun: 1 }, 'option "dryRun" must be true or false, but is 1'],
      [{ signal: {} }, 'option "signal" must be an AbortSignal, but is an object'],
      [{ onProgress: true }, 'option "onProgress" must be a function, but is true'],
      [null, "options must be an object, but is null"],
    ] as Array<[object, string]>)
      for (const call of [checkpointer.prune(["a"], "delete", options), checkpointer.deleteForRuns(["r"], options)])
        expect((await refused(call)).message).toContain(message);
    for (const name of ["", "\uD800", "x".repeat(5_000), undefined, null, 5, {}, ["a"]] as string[]) {
      await refused(checkpointer.copyThread("a", name));
      if (typeof name !== "string") await refused(checkpointer.copyThread(name, "target"));
    }
    expect(await tuples(checkpointer)).toStrictEqual(before);
    expect((await checkpointer.listThreads()).threads).toHaveLength(1);
    // A name that is short enough for the root namespace only.
    await chain(checkpointer, thread("a", { checkpoint_ns: "n".repeat(3_000) }), 1);
    await refused(checkpointer.copyThread("a", "x".repeat(2_000)));
    expect((await checkpointer.listThreads()).threads).toHaveLength(1);
  });

  describe("over an open store", () => {
    const shared = () => openShared(place(kind));

    it("several savers see the same, close alone, and leave the store open", async () => {
      const store = await shared();
      const [one, two] = [new ForkpointSaver(store), new ForkpointSaver(store)];
      const { log } = await three(one).invoke({ log: ["in"] }, thread());
      expect((await three(two).getState(thread())).values).toEqual({ log });
      await one.close();
      await one.close();
      await refused(one.getTuple(thread()), "CLOSED");
      expect((await three(two).invoke({ log: ["more"] }, thread())).log).toEqual([...log, "more", "a", "b", "c"]);
      await two.close();
      expect((await store.stats()).checkpoints).toBe(10);
      const third = new ForkpointSaver(store);
      expect(await tuples(third)).toHaveLength(10);
      await store.close();
      await refused(third.getTuple(thread()), "CLOSED");
      await refused(new Promise((resolve) => resolve(new ForkpointSaver(store).getTuple(thread()))), "CLOSED");
      await third.close();
    });

    it("each may have a serde of its own, and no other option", async () => {
      const store = await shared();
      const shouting: SerializerProtocol = {
        dumpsTyped: async (value) => ["shout", Buffer.from(JSON.stringify(value).toUpperCase())],
        loadsTyped: async (_, data) => JSON.parse(Buffer.from(data).toString().toLowerCase()) as unknown,
      };
      const [plain, loud] = [new ForkpointSaver(store), new ForkpointSaver(store, { serde: shouting })];
      const put = checkpoint({ channel_values: { a: "Text" }, channel_versions: { a: 1 } });
      await plain.put(thread("plain"), put, metadata(), { a: 1 });
      await loud.put(thread("loud"), put, metadata(), { a: 1 });
      expect((await plain.getTuple(thread("plain")))!.checkpoint.channel_values).toEqual({ a: "Text" });
      expect((await loud.getTuple(thread("loud")))!.checkpoint.channel_values).toEqual({ a: "text" });
      for (const options of [
        { durability: "off" },
        { busyTimeoutMs: 1 },
        { serde: shouting, cacheBytes: 0 },
      ] as const) {
        expect(thrown(() => new ForkpointSaver(store, options))).toBeInstanceOf(TypeError);
      }
    });

    it("checkpoints of another contract are not seen, counted or removed, nor these by it", async () => {
      const store = await shared();
      const [checkpointer, steps] = [new ForkpointSaver(store), new CheckpointStore(store)];
      const step = (id: string, runId: string) => ({ ...holding("state"), id, graphId: runId, runId });
      const put = { ...checkpoint(), id: "same" };
      const tip = await checkpointer.put(thread("same"), put, metadata({ run_id: "same" }), {});
      await chain(checkpointer, tip, 1);
      // Use ids that the other contract's checkpoints may have in the store.
      for (const id of ["same", "4:same0:same"]) await steps.save(step(id, "same"));
      await steps.save(step("other", "4:same"));
      const [before, saved] = [await tuples(checkpointer), await steps.list("same")];
      expect(before).toHaveLength(2);
      expect(saved).toHaveLength(2);
      expect((await checkpointer.listThreads()).threads).toMatchObject([{ threadId: "same", checkpoints: 2 }]);
      expect((await steps.runs()).runs.map(({ runId }) => runId)).toEqual(["4:same", "same"]);
      expect(await checkpointer.stats()).toMatchObject({ checkpoints: 2, namespaces: 1 });
      expect(await steps.stats()).toMatchObject({ checkpoints: 3, runs: 2 });

      await steps.delete("other");
      await checkpointer.copyThread("same", "copy");
      await checkpointer.prune(["copy"], "delete");
      expect(await steps.list("same")).toEqual(saved);
      expect((await steps.prune({ olderThan: Date.now() + 1e9 })).removed).toBe(2);
      expect(await tuples(checkpointer)).toStrictEqual(before);
      await steps.save(step("same", "same"));
      await checkpointer.deleteForRuns(["same"]);
      await checkpointer.deleteThread("same");
      expect(await tuples(checkpointer)).toEqual([]);
      expect(await steps.get("same")).toEqual(step("same", "same"));
      await chain(checkpointer, thread("same"), 2);
      // The store's own statistics cover both contracts.
      expect(await store.stats()).toMatchObject({ checkpoints: 3, lineages: 2 });
    });
  });

  describe("the options", () => {
    it.each<[string, unknown]>([
      ["one that is not known", { durabilty: "full" }],
      ["a serializer, whose place serde takes", { serializer: "json" }],
      ["a serde without methods", { serde: {} }],
      ["a serde that only writes", { serde: { dumpsTyped: plus.dumpsTyped.bind(plus) } }],
      ["a serde that only reads", { serde: { loadsTyped: plus.loadsTyped.bind(plus) } }],
      ["a serde whose method is none", { serde: { dumpsTyped: true, loadsTyped: true } }],
      ["null for a serde", { serde: null }],
      ["the name of a serde", { serde: "json" }],
      ["a text", "full"],
      ["a list", []],
    ])("refused: %s", (_, options) => {
      const error = thrown(() => new ForkpointSaver("memory:", options as SaverOptions));
      expect([TypeError, RangeError]).toContain(error.constructor);
    });

    it("targets that are none are refused", () => {
      for (const target of [undefined, null, 5, "", {}, thread(), "\uD800"])
        expect(
          thrown(() => new ForkpointSaver(target as string)),
          String(target),
        ).toBeInstanceOf(TypeError);
    });
  });

  describe("a serde of one's own", () => {
    /** A serializer that obscures its bytes and records its calls. */
    function hiding() {
      const calls: Array<[method: "dumps" | "loads", type: string, size: number]> = [];
      const hide = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0xa5);
      const serde: SerializerProtocol = {
        async dumpsTyped(value) {
          const [type, bytes] = await plus.dumpsTyped(value);
          calls.push(["dumps", `hidden ${type}\n`, bytes.length]);
          return [`hidden ${type}\n`, hide(bytes)];
        },
        async loadsTyped(type, data) {
          const bytes = data as Uint8Array;
          expect(type).toMatch(/^hidden \w+\n$/);
          expect(bytes).toBeInstanceOf(Uint8Array);
          calls.push(["loads", type, bytes.length]);
          return plus.loadsTyped(type.slice("hidden ".length, -1), hide(bytes));
        },
      };
      return { serde, calls };
    }

    it("is used for values, writes and metadata, by every method", async () => {
      const { serde, calls } = hiding();
      const checkpointer = saver(kind, { serde });
      expect(checkpointer.serde).toBe(serde);
      const put = checkpoint({
        channel_values: { a: "value", b: new Uint8Array([1]) },
        channel_versions: { a: 1, b: 1 },
      });
      const tip = await checkpointer.put(thread("a"), put, metadata({ run_id: "r" }), { a: 1, b: 1 });
      // Four calls: the two channels, the rest of the checkpoint, and the metadata.
      expect(calls.map(([method]) => method)).toEqual(["dumps", "dumps", "dumps", "dumps"]);
      await checkpointer.putWrites(tip, Object.entries({ a: "write", [INTERRUPT_WRITE]: "?" }), "task");
      expect(calls).toHaveLength(6);
      const written = calls.splice(0).map(([, ...rest]) => rest.join());
      expect(await checkpointer.getTuple(tip)).toMatchObject({
        checkpoint: put,
        metadata: metadata({ run_id: "r" }),
        pendingWrites: expect.arrayContaining([
          ["task", INTERRUPT_WRITE, "?"],
          ["task", "a", "write"],
        ]),
      });
      // The serializer reads back everything that it wrote.
      const read = calls.splice(0);
      expect(read.every(([method]) => method === "loads")).toBe(true);
      expect(read.map(([, ...rest]) => rest.join()).toSorted()).toEqual(written.toSorted());

      await checkpointer.copyThread("a", "b");
      expect(await tuples(checkpointer, "b")).toStrictEqual(moved(await tuples(checkpointer, "a"), "b"));
      expect(await all(checkpointer.list({}, { filter: { run_id: "r" } }))).toHaveLength(2);
      await checkpointer.put(tip, checkpoint(), metadata(), {});
      expect(await checkpointer.prune(["a"])).toMatchObject({ removed: 1 });
      expect(await checkpointer.deleteForRuns(["r"])).toMatchObject({ removed: 1 });
      expect(await tuples(checkpointer)).toHaveLength(1);
    });
  });
});
