// `importFrom` and `exportTo` with RedisSaver and MongoDBSaver, on servers that the environment names:
// FORKPOINT_TEST_REDIS_URL (Redis 8 or Redis Stack; it is emptied) and FORKPOINT_TEST_MONGODB_URL. Needs the packages of
// integration/peers.
import { describe, expect, it } from "vitest";
import { chat, exportTests, fill } from "./export-to.js";
import { importAgain, tuplesOf } from "./import-again.js";
import { all, isShort, saver, thread } from "./helpers.js";
import { plainRedisSaver, serverSavers, shallowRedisSaver } from "./other-savers.js";

// One file at a time uses the servers.
const savers = isShort ? [] : serverSavers;

describe.skipIf(savers.length === 0)("savers with a server", () => {
  exportTests(savers, ["sqlite"]);

  for (const { name, make } of savers) {
    describe(`from ${name}`, () =>
      importAgain(["sqlite"], async () => {
        const old = await make();
        return { saver: old, importInto: (target, options) => target.importFrom(old, options) };
      }));
  }
});

describe.skipIf(!savers.some(({ name }) => name === "RedisSaver"))("Redis", () => {
  it("lists 10 checkpoints by default, but an import takes all", async () => {
    const [old, target] = [await plainRedisSaver(), saver("sqlite")];
    await fill(old, ["deltas"]);
    expect(await all(old.list({}))).toHaveLength(10);
    const imported = await target.importFrom(old);
    expect(imported).toMatchObject({ threads: 5, ofThreads: 5, skipped: 0 });
    expect(imported.checkpoints).toBeGreaterThan(20);
    expect(await target.importFrom(old, { threads: ["long"] })).toMatchObject({ threads: 1, checkpoints: 12 });
  });

  it("branches: each keeps its own values, which RedisSaver itself mixes up", async () => {
    const [ours, other] = [saver("sqlite"), await plainRedisSaver()];
    await fill(ours, ["deltas"]);
    const history = await all(chat(ours).getStateHistory(thread("long")));
    for (const content of ["one", "two"])
      await chat(ours).updateState(history[4]!.config, { messages: [{ content }] }, "say");
    expect(await ours.exportTo(other)).toMatchObject({ threads: 5, skipped: 0 });
    const back = saver("memory");
    expect(await back.importFrom(other)).toMatchObject({ threads: 5, skipped: 0 });
    expect(await tuplesOf(back)).toEqual(await tuplesOf(ours));
  });

  it("refuses ids with characters of patterns, and the other threads are exported", async () => {
    const [ours, other] = [saver("sqlite"), await plainRedisSaver()];
    for (const id of ["what?", "fine"]) await chat(ours).invoke({ messages: [] }, thread(id));
    const { threads, skippedThreads } = await ours.exportTo(other);
    expect(threads).toBe(1);
    expect(skippedThreads).toMatchObject([{ threadId: "what?", why: "refused" }]);
    expect(skippedThreads[0]!.message).toContain(
      "getTuple() of the other saver failed: Error: Invalid configurable value",
    );
  });

  it("ShallowRedisSaver: the newest checkpoints are imported, and an export says that the others are missing", async () => {
    const [shallow, ours] = [await shallowRedisSaver(), saver("sqlite")];
    await fill(shallow, ["deltas"]);
    const imported = await ours.importFrom(shallow);
    expect(imported).toMatchObject({ threads: 5, ofThreads: 5, skipped: 0 });
    // The root of each thread, and the namespace of the subgraph.
    expect(imported.checkpoints).toBe(6);
    expect((await chat(ours).getState(thread("waiting"))).next).toEqual(["ask"]);

    const [full, target] = [saver("memory"), await shallowRedisSaver()];
    await chat(full).invoke({ messages: [] }, thread("waiting"));
    for (let again = 0; again < 2; again++) {
      const { skippedThreads } = await full.exportTo(target);
      expect(skippedThreads).toMatchObject([{ threadId: "waiting", why: "differs" }]);
      expect(skippedThreads[0]!.message).toContain("is missing: the other saver may keep only the newest one");
    }
    expect((await target.getTuple(thread("waiting")))!.checkpoint).toEqual(
      (await full.getTuple(thread("waiting")))!.checkpoint,
    );
  });
});
