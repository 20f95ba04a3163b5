// Tests delta channels. A checkpoint stores only the additions to such a channel, and a read of the channel also reads
// the checkpoint's ancestors.
import { Overwrite } from "@langchain/langgraph";
import { DeltaSnapshot, MemorySaver, type SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { describe, expect, it } from "vitest";
import { all, checkpoint, deltas, mainKinds, metadata, saver, thread } from "./helpers.js";

type Config = { configurable?: Record<string, unknown> };

const log = (values: unknown) => (values as { log: string[] }).log;

describe.each(mainKinds)("on %s", (kind) => {
  describe.each([1, 2, 3, 1_000])("a snapshot every %i updates", (frequency) => {
    it("every state of the history reads as it was", async () => {
      const checkpointer = saver(kind);
      const app = deltas(checkpointer, frequency);
      const expected: string[] = [];
      for (let round = 1; round <= 5; round++) {
        expected.push(`in${round}`, `a${round}`, `b${round}`);
        expect(log(await app.invoke({ log: [`in${round}`], round }, thread()))).toEqual(expected);
        expect(log((await app.getState(thread())).values)).toEqual(expected);
      }
      for (const { values, next, metadata: made, config } of await all(app.getStateHistory(thread()))) {
        const done = 4 * Math.floor((made!.step + 1) / 4);
        const length = 3 * (done / 4) + ((made!.step + 1) % 4);
        expect(log(values)).toEqual(expected.slice(0, length));
        expect((await app.getState(config)).values).toEqual(values);
        expect((await app.getState(config)).next).toEqual(next);
      }
      // The first checkpoint has an empty channel and no parent.
      expect(await checkpointer.check()).toMatchObject({ ok: true, findings: [] });
    });

    it("langgraphjs#2737: forks from one checkpoint do not see each other's writes", async () => {
      const app = deltas(saver(kind), frequency);
      await app.invoke({ log: ["in1"], round: 1 }, thread());
      const main = await app.invoke({ log: ["in2"], round: 2 }, thread());
      const history = await all(app.getStateHistory(thread()));
      const base = history.find(({ next, metadata: made }) => next[0] === "b" && made!.step > 2)!;
      expect(log(base.values)).toEqual(["in1", "a1", "b1", "in2", "a2"]);
      const forks = new Map<string, Config>();
      for (const name of ["x", "y", "z"]) {
        const fork = await app.updateState(base.config, { log: [name] }, "a");
        forks.set(name, fork);
        expect(log((await app.getState(fork)).values)).toEqual([...log(base.values), name]);
      }
      for (const [name, fork] of forks) {
        expect(log(await app.invoke(null, fork))).toEqual([...log(base.values), name, "b2"]);
      }
      // The older checkpoints must also read the same as before.
      for (const { config, values } of history) expect((await app.getState(config)).values).toEqual(values);
      expect(log(main)).toEqual(["in1", "a1", "b1", "in2", "a2", "b2"]);
      for (const [name, fork] of forks) {
        expect(log((await app.getState(fork)).values)).toEqual([...log(base.values), name]);
      }
    });
  });

  it("an Overwrite begins the log anew, for its own branch only", async () => {
    const app = deltas(saver(kind));
    await app.invoke({ log: ["in1"], round: 1 }, thread());
    const before = await app.getState(thread());
    const fork = await app.updateState(before.config, { log: new Overwrite(["new"]) as never }, "a");
    expect(log((await app.getState(fork)).values)).toEqual(["new"]);
    expect(log(await app.invoke(null, fork))).toEqual(["new", "b1"]);
    expect(log((await app.getState(before.config)).values)).toEqual(["in1", "a1", "b1"]);
  });

  describe("getDeltaChannelHistory", () => {
    const channels = ["log"];
    const values = (entry: { writes: unknown[][] } | undefined) => entry!.writes.map((write) => write[2]);

    /** Puts a checkpoint. Its log is stored only if `seed` is given. */
    function put(to: ReturnType<typeof saver>, parent: Config, seed?: unknown) {
      const channel_values = seed === undefined ? {} : { log: seed };
      const made = checkpoint({ channel_values, channel_versions: { log: 1 } });
      return to.put(parent, made, metadata(), seed === undefined ? {} : { log: 1 });
    }

    it("without an id it is the latest checkpoint's; of what is not there it is empty", async () => {
      const checkpointer = saver(kind);
      const root = await put(checkpointer, thread(), new DeltaSnapshot([0]));
      await checkpointer.putWrites(root, [["log", 1]], "task");
      await put(checkpointer, root);
      expect(values((await checkpointer.getDeltaChannelHistory({ config: thread(), channels }))["log"])).toEqual([1]);
      const nowhere = await checkpointer.getDeltaChannelHistory({ config: thread("other"), channels });
      expect(nowhere).toEqual({ log: { writes: [] } });
    });

    it("writes that a slow serializer finishes late still belong to the child that was put after them", async () => {
      const plus = new MemorySaver().serde;
      const serde: SerializerProtocol = {
        async dumpsTyped(value) {
          if (typeof value === "string" && value.startsWith("slow")) {
            for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
          }
          return plus.dumpsTyped(value);
        },
        loadsTyped: (type, data) => plus.loadsTyped(type, data),
      };
      const checkpointer = saver(kind, { serde });
      const root = await put(checkpointer, thread());
      // Call without awaiting, as a graph does under async durability.
      const writes = checkpointer.putWrites(root, [["log", "slow 1"]], "task");
      const child = put(checkpointer, root);
      await Promise.all([writes, child]);
      const after = await put(checkpointer, root);
      const history = async (config: Config) =>
        values((await checkpointer.getDeltaChannelHistory({ config, channels }))["log"]);
      expect(await history(await child)).toEqual(["slow 1"]);
      expect(await history(after)).toEqual([]);
    });

    it("reaches over thousands of ancestors", async () => {
      const checkpointer = saver(kind, { durability: "off" });
      let at = await put(checkpointer, thread());
      for (let i = 0; i < 2_000; i++) {
        await checkpointer.putWrites(at, [["log", i]], "task");
        at = await put(checkpointer, at);
      }
      const found = await checkpointer.getDeltaChannelHistory({ config: at, channels });
      expect(values(found["log"])).toEqual(Array.from({ length: 2_000 }, (_, i) => i));
    });
  });
});
