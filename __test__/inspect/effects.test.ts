// The effects of runs in the inspector: lists, results, settling by hand, events, checks and copies.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { CheckpointStore, copyStore, openStore } from "forkpoint";
import { type RunRef, effects } from "forkpoint/effects";
import { type Inspector, openInspector } from "forkpoint/inspect";
import { Checkpointer } from "forkpoint/tinyagents";
import { describe, expect, it, onTestFinished } from "vitest";
import { fill, opened } from "../contents.js";
import {
  checkpoint,
  damage,
  durable,
  everyKind,
  failure,
  folder,
  kinds,
  place,
  rejection,
  run as runProgram,
  wrongType,
} from "../helpers.js";

const run = { space: "agentos", run: "run-1" } satisfies RunRef;

async function inspecting(target: Parameters<typeof openInspector>[0], write = false): Promise<Inspector> {
  const inspector = await openInspector(target, { write });
  onTestFinished(() => inspector.close());
  return inspector;
}

/** A store with a run whose effect may have happened: its process was killed. */
async function killed(): Promise<string> {
  const target = place(durable);
  await using store = await openStore(target);
  await new CheckpointStore(store).save(checkpoint({ id: "c1" }));
  await store.close();
  const { signal } = await runProgram("effect.mjs", [target, run.space, run.run, "charge"]);
  expect(signal).toBe("SIGKILL");
  return target;
}

describe.each(kinds)("effects in the inspector, on %s", (kind) => {
  it("are listed with their place, and their results are read on request", async () => {
    const store = await opened(place(kind));
    const [graphs, once] = [new CheckpointStore(store), effects(store)];
    const inspector = await inspecting(store);
    await once(run, "before", () => null);
    await graphs.save(checkpoint({ id: "c1" }));
    await once(run, "charge", () => ({ at: new Date(0), amounts: new Map([["a", 1n]]) }));
    await rejection(once(run, "mail", () => Promise.reject(new Error("no route"))));
    await graphs.save(checkpoint({ id: "c2", timestamp: 1_800_000_000_000 }));
    const declined = () => Promise.reject(new TypeError("declined"));
    await rejection(once(run, "refund", declined, { remember: "errors" }));

    const all = await inspector.effects(run);
    expect(
      all.map(({ key, state, checkpointId, attempts, error }) => [key, state, checkpointId, attempts, error]),
    ).toEqual([
      ["before", "done", null, 1, null],
      ["charge", "done", "c1", 1, null],
      ["mail", "failed", "c1", 1, "no route"],
      ["refund", "error", "c2", 1, "declined"],
    ]);
    const [, charge] = all;
    expect(charge).toMatchObject({ ...run, ns: null, branch: 0, holder: expect.stringMatching(/^process \d+ on /) });
    expect(charge!.endedAt).toBeGreaterThanOrEqual(charge!.startedAt);
    const detail = await inspector.effect({ ...run, key: "charge" });
    expect(detail).toEqual({
      effect: charge,
      result: {
        at: { $type: "Date", value: "1970-01-01T00:00:00.000Z" },
        amounts: { $type: "Map", value: [["a", { $type: "BigInt", value: "1" }]] },
      },
      part: { name: "result", tag: expect.any(String), bytes: expect.any(Number), readable: true },
    });
    expect(await inspector.effect({ ...run, key: "mail" })).toMatchObject({ result: null, part: null });
    expect(await inspector.effect({ ...run, key: "refund" })).toMatchObject({ result: { $type: "Error" } });
    expect(await inspector.effect({ ...run, key: "other" })).toBeNull();
    expect(await inspector.effects({ ...run, run: "other" })).toEqual([]);
    expect(await inspector.effects({ space: "storage", run: "key", ns: "namespace" })).toEqual([]);
    await wrongType(inspector.effect({ ...run } as never));
    await wrongType(inspector.effects({ space: "agentos/effects", run: "run-1" }));
  });

  it("are no runs and no checkpoints, and are counted apart", async () => {
    const store = await opened(place(kind));
    const [graphs, once] = [new CheckpointStore(store), effects(store)];
    await graphs.save(checkpoint({ id: "c1" }));
    for (const key of ["a", "b"]) await once(run, key, () => "x".repeat(5000));
    await once({ space: "tinyagents", run: "t", ns: ["inner"] }, "a", () => 1);
    const inspector = await inspecting(store);
    for (const sort of ["active", "began", "size"] as const) {
      const { items } = await inspector.runs({ sort, allNs: true });
      expect(items.map(({ space, run: id, checkpoints }) => [space, id, checkpoints])).toEqual([
        ["agentos", "run-1", 1],
      ]);
    }
    const { spaces } = await inspector.info();
    expect(spaces.map(({ space, runs, checkpoints, effects: count }) => [space, runs, checkpoints, count])).toEqual([
      ["agentos", 1, 1, 2],
      ["tinyagents", 0, 0, 1],
    ]);
    const stats = await inspector.stats();
    expect(stats).toMatchObject({ checkpoints: 1, lineages: 1, effects: 3 });
    expect(stats.largest.map(({ space, run: id }) => [space, id])).toEqual([["agentos", "run-1"]]);
    expect(await store.stats({ largest: 5 })).toMatchObject({
      checkpoints: 1,
      effects: 3,
      largest: [{ lineage: "run-1" }],
    });
    expect(await graphs.stats({ largest: 5 })).toMatchObject({ checkpoints: 1, runs: 1, effects: 2 });
    expect((await graphs.runs()).runs).toHaveLength(1);
    expect(await new Checkpointer(store).listThreads()).toEqual([]);
    expect((await inspector.checkpoints(run)).items).toHaveLength(1);
    expect(JSON.stringify([await inspector.info(), stats, await inspector.runs(), await store.check()])).not.toContain(
      "/effects",
    );
  });

  it("are events of a watch, between the saves, and are not taken for removals", async () => {
    const store = await opened(place(kind));
    const [graphs, once] = [new CheckpointStore(store), effects(store)];
    const inspector = await inspecting(store);
    await graphs.save(checkpoint({ id: "c0" }));
    await once(run, "old", () => 1);
    const stop = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const event of inspector.watch({ last: 1, signal: stop.signal })) {
        if (event.type === "changed") seen.push("changed");
        else seen.push(event.type === "saved" ? event.checkpoint.id : `${event.effect.key} ${event.effect.state}`);
        if (event.type === "effect") expect(event.effect).toMatchObject({ ...run, ns: null, branch: 0 });
        if (seen.includes("c2")) stop.abort();
      }
    })();
    await expect.poll(() => seen).toContain("c0");
    const mid = async () => void (await expect.poll(() => seen).toContain("charge running"));
    await once(run, "charge", mid);
    await graphs.save(checkpoint({ id: "c2" }));
    await watching;
    // A server counts replaced rows as removed ones.
    const removed = kind === "postgres" ? seen.filter((each) => each !== "changed") : seen;
    expect(removed).toEqual(["c0", "charge running", "charge done", "c2"]);
  });
});

describe("an effect that may have happened", () => {
  it("is settled with a result, or forgotten", async () => {
    const target = await killed();
    const inspector = await inspecting(target, true);
    const named = { ...run, key: "charge" };
    expect(await inspector.effects(run)).toMatchObject([
      { state: "unknown", attempts: 1, checkpointId: "c1", endedAt: null },
    ]);
    const settled = await inspector.settleEffect(named, {
      receipt: { $type: "Date", value: "1970-01-01T00:00:00.000Z" },
    });
    expect(settled).toMatchObject({ state: "done", checkpointId: "c1" });
    await failure(inspector.settleEffect(named, 1), "CONFLICT");
    const key = (await inspector.effects(run))[0]!.idempotencyKey;
    expect(key).toBe(settled.idempotencyKey);
    expect(await inspector.forgetEffect(named)).toEqual({ forgotten: 1 });
    expect(await inspector.effects(run)).toEqual([]);
    await failure(inspector.forgetEffect(named), "NOT_FOUND");
    await failure(inspector.settleEffect(named, 1), "NOT_FOUND");
    await wrongType(inspector.settleEffect(named, undefined));
  });

  it("is forgotten: the program runs it again, with another key", async () => {
    const target = await killed();
    let before: string;
    {
      await using inspector = await openInspector(target, { write: true });
      before = (await inspector.effects(run))[0]!.idempotencyKey;
      await inspector.forgetEffect({ ...run, key: "charge" });
    }
    await using store = await openStore(target);
    expect(await effects(store)(run, "charge", ({ idempotencyKey }) => idempotencyKey)).not.toBe(before);
  });

  it("is left alone while a process runs it or has leased the run, and by a reader", async () => {
    const store = await opened(place("memory"));
    const once = effects(store);
    const named = { ...run, key: "charge" };
    const [reader, writer] = [await inspecting(store), await inspecting(store, true)];
    await failure(reader.settleEffect(named, 1), "UNSUPPORTED");
    await failure(reader.forgetEffect(named), "UNSUPPORTED");
    let end = () => {};
    const running = once(run, "charge", () => new Promise<number>((resolve) => (end = () => resolve(1))));
    await expect.poll(async () => (await reader.effects(run)).map(({ state }) => state)).toEqual(["running"]);
    for (const refused of [writer.settleEffect(named, 1), writer.forgetEffect(named)]) {
      expect((await failure(refused, "CONFLICT")).message).toMatch(/is running in process \d+ on /);
    }
    end();
    expect(await running).toBe(1);
    const lease = await store.lease({ ...run });
    expect((await failure(writer.forgetEffect(named), "CONFLICT")).message).toContain("is leased by process");
    await lease.release();
    expect(await writer.forgetEffect(named)).toEqual({ forgotten: 1 });
  });
});

// copy-store.test.ts copies from each kind to each.
describe.each(everyKind.map((from, at) => [from, everyKind.at(at - 1)!] as const))(
  "copies of effects from %s",
  (from, to) => {
    it(`to ${to}: all of them, again after more, and those of chosen runs`, async () => {
      const [source, whole, part] = [await opened(place(from)), await opened(place(to)), await opened(place(to))];
      await fill(source);
      const once = effects(source);
      const runs: RunRef[] = [
        { space: "agentos", run: "run-1" },
        { space: "agentium", run: "w" },
        { space: "helix", run: "s" },
        { space: "tinyagents", run: "t0" },
        { space: "tinyagents", run: "t0", ns: ["inner"] },
      ];
      for (const of of runs) await once(of, "charge", () => ({ paid: of.run, at: new Date(0) }));
      await once({ space: "agentos", run: "run-2" }, "charge", () => 2);
      await rejection(once(runs[0]!, "mail", () => Promise.reject(new Error("no route"))));
      const { checkpoints, lineages } = await source.stats();
      const all = await copyStore(source, whole);
      expect(all).toMatchObject({ checkpoints, lineages, effects: 7 });
      expect(await whole.check()).toMatchObject({ ok: true, findings: [] });
      for (const of of runs) {
        expect(await effects(whole).list(of)).toEqual(await once.list(of));
        expect(await effects(whole)(of, "charge", () => "again")).toEqual({ paid: of.run, at: new Date(0) });
      }
      expect(await copyStore(source, whole)).toEqual(all);

      // The failed one succeeds, and there is a new one: both are copied, under the same idempotency key.
      await once(runs[0]!, "mail", () => "sent");
      await once(runs[1]!, "mail", () => "sent");
      expect(await copyStore(source, whole)).toMatchObject({ checkpoints, effects: 8 });
      expect(await effects(whole).list(runs[0]!)).toEqual(await once.list(runs[0]!));
      expect(await effects(whole)(runs[0]!, "mail", () => "again")).toBe("sent");

      const chosen = await copyStore(source, part, {
        runs: [
          { space: "tinyagents", run: "t0" },
          { space: "agentos", run: "run-1" },
        ],
      });
      expect(chosen.effects).toBe(4);
      for (const of of [runs[0]!, runs[3]!, runs[4]!])
        expect(await effects(part).list(of)).toEqual(await once.list(of));
      expect(await part.stats()).toMatchObject({ effects: 4 });
      expect(await copyStore(source, part, { space: "helix" })).toMatchObject({ effects: 1 });
      await effects(part).forget(runs[0]!, "mail");
      await effects(part)(runs[0]!, "mail", () => "other");
      await failure(copyStore(source, part, { runs: [{ space: "agentos", run: "run-1" }] }), "CONFLICT");
      await copyStore(source, part, { runs: [{ space: "agentos", run: "run-1" }], onConflict: "replace" });
      expect(await effects(part)(runs[0]!, "mail", () => "again")).toBe("sent");
    });
  },
);

describe("damage", () => {
  /** A database with a thread and its effects, in which one bit of the text is another. */
  async function damaged(text: string): Promise<string> {
    const file = join(folder(), "agent.db");
    const of = { space: "tinyagents", run: "t", ns: ["inner"] };
    {
      await using store = await openStore(file);
      const once = effects(store);
      await new Checkpointer<{ n: number }>(store).put({ threadId: "t", state: { n: 1 } });
      for (const key of ["charge", "mail"])
        await once(of, key, () => ({ text: `needle ${key}`, noise: randomBytes(4000) }));
      expect(await store.check()).toMatchObject({ ok: true, findings: [] });
    }
    damage(file, text.slice(3));
    return file;
  }

  it.each(["needle charge", '{"key":"charge"'])("is found and named with the run and the key: in %s", async (text) => {
    const inspector = await inspecting(await damaged(text));
    const { ok, findings } = await inspector.verify();
    const found = findings.find(({ code }) => code === "CORRUPT")!;
    expect(ok).toBe(false);
    expect(found.ref).toEqual({ space: "tinyagents", run: "t", ns: '["inner"]', id: null, effect: "charge" });
    expect(found.message).toContain('effect "charge" of thread "t"');
    expect(JSON.stringify(findings)).not.toContain("/effects");
    const of = { space: "tinyagents", run: "t" };
    expect((await inspector.verify({ runs: [of] })).findings).toEqual(findings);
    expect((await inspector.verify({ runs: [{ ...of, run: "other" }] })).findings).toEqual([]);
  });

  it("in one result leaves the others readable, and the effect can be forgotten", async () => {
    const inspector = await inspecting(await damaged("needle charge"), true);
    const named = { space: "tinyagents", run: "t", ns: '["inner"]' };
    expect((await inspector.effects(named)).map(({ key }) => key)).toEqual(["charge", "mail"]);
    await failure(inspector.effect({ ...named, key: "charge" }), "CORRUPT");
    expect((await inspector.effect({ ...named, key: "mail" }))!.result).toMatchObject({ text: "needle mail" });
    await inspector.forgetEffect({ ...named, key: "charge" });
    expect(await inspector.verify()).toMatchObject({ ok: true, findings: [] });
  });
});

it("copies an effect that runs as it is: in the copy, it may have happened", async () => {
  const [source, copied] = [await opened(place("memory")), await opened(place("memory"))];
  const once = effects(source);
  let end = () => {};
  const running = once(run, "charge", () => new Promise<number>((resolve) => (end = () => resolve(1))), { ttlMs: 300 });
  await expect.poll(async () => (await once.list(run)).length).toBe(1);
  await copyStore(source, copied);
  const inspector = await inspecting(copied);
  const stateIn = async () => (await inspector.effects(run)).map(({ state }) => state);
  await expect.poll(stateIn).toEqual(["unknown"]);
  await failure(
    effects(copied)(run, "charge", () => 2, { onUnknown: "fail" }),
    "CONFLICT",
  );
  end();
  await running;
  await copyStore(source, copied);
  expect(await stateIn()).toEqual(["done"]);
});
