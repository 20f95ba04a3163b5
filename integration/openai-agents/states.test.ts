// Tests the states of runs without the SDK: what is saved, who gets it, and what is refused.
import { copyStore, openStore } from "forkpoint";
import { ForkpointRunStates, type SavedRunState } from "forkpoint/openai-agents";
import { effects } from "forkpoint/effects";
import { openInspector } from "forkpoint/inspect";
import { describe, expect, it, onTestFinished } from "vitest";
import { failure, kinds, place, rejection, sharedKinds, wrongType } from "../../__test__/helpers.js";
import { shared, statesAt } from "./helpers.js";

/** The text of a state that waits for a human. */
const waiting = (n: number | string = 0) =>
  JSON.stringify({ $schemaVersion: "1.22", n, currentStep: { type: "next_step_interruption", data: {} } });

const taken = { at: expect.any(Number), by: expect.stringContaining(`process ${process.pid} on`) };

describe.each(kinds)("the states of runs over %s", (kind) => {
  it("are returned as they were saved, the newest of a run", async () => {
    const states = statesAt(place(kind));
    expect(await states.load("r")).toBeNull();
    const texts = [
      waiting(),
      '{ "b" : 1, "a":\n2, "2": 0, "1": 0 }',
      "",
      "no JSON \ud800\u0000 é",
      '"text"',
      "[1]",
      JSON.stringify({ long: "é".repeat(100_000) }),
    ];
    for (const text of texts) {
      await states.save("r", text);
      expect(await states.load("r")).toEqual({ runId: "r", text });
    }
    expect(await states.stats()).toMatchObject({ runs: 1, checkpoints: texts.length });
  });

  it("are given to one of those who take them", async () => {
    const target = await shared(kind);
    const states = statesAt(target);
    const other = kind === "jsonl" ? states : statesAt(target);
    await states.save("r", waiting(), { sessionId: "s" });
    const calls = Array.from({ length: 10 }, (_, n) => [states, other][n % 2]!.take("r"));
    const outcomes = await Promise.allSettled(calls);
    const got = outcomes.filter((outcome) => outcome.status === "fulfilled");
    expect(got.map(({ value }) => value)).toEqual([{ runId: "r", text: waiting(), sessionId: "s", taken }]);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "CONFLICT", taken });
    }
    const error = await failure(other.take("r"), "CONFLICT");
    expect(error.message).toContain(`was taken by process ${process.pid} on`);
    expect(await other.load("r")).toEqual({ runId: "r", text: waiting(), sessionId: "s", taken });
    expect(await other.list()).toEqual([await other.load("r")]);
  });

  it("can be taken again when they were released or saved, with the session that was saved", async () => {
    const states = statesAt(place(kind));
    await states.save("r", waiting(0), { sessionId: "s" });
    await states.take("r", { sessionId: "s" });
    await states.release("r", waiting(1));
    expect(await states.load("r")).toEqual({ runId: "r", text: waiting(1), sessionId: "s" });
    await states.take("r");
    await states.save("r", waiting(2));
    expect(await states.take("r", { sessionId: "s" })).toMatchObject({ text: waiting(2), sessionId: "s" });
    await states.save("r", waiting(3), { sessionId: "other" });
    await states.save("r", waiting(4));
    expect(await states.load("r")).toEqual({ runId: "r", text: waiting(4), sessionId: "other" });
    await failure(states.release("r", waiting(5)), "CONFLICT");
    expect(await states.load("r")).toMatchObject({ text: waiting(4) });
  });

  it("are not taken with another session", async () => {
    const states = statesAt(place(kind));
    await states.save("r", waiting(), { sessionId: "s" });
    await states.save("alone", waiting());
    await failure(states.take("r", { sessionId: "other" }), "INVALID_ARGUMENT");
    await failure(states.take("alone", { sessionId: "s" }), "INVALID_ARGUMENT");
    await states.take("r", { sessionId: "s" });
    await failure(states.take("r", { sessionId: "other", force: true }), "INVALID_ARGUMENT");
    await states.take("r", { sessionId: "s", force: true });
    await failure(states.take("unknown"), "NOT_FOUND");
    await failure(states.take("unknown", { force: true }), "NOT_FOUND");
    expect((await states.take("alone")).sessionId).toBeUndefined();
  });

  it("belong to the last one that took them by force: the others can't end them", async () => {
    const target = await shared(kind);
    const store = typeof target === "string" ? await openStore(target) : (target as never);
    if (typeof target === "string") onTestFinished(() => (store as { close(): Promise<void> }).close());
    const [first, second] = [statesAt(store), statesAt(store)];
    await first.save("r", waiting(0));
    await first.take("r");
    await second.take("r", { force: true });
    for (const work of [first.release("r", waiting(1)), first.save("r", waiting(1)), first.delete("r")]) {
      expect(await failure(work, "CONFLICT")).toMatchObject({ taken });
    }
    expect(await second.load("r")).toMatchObject({ text: waiting(0), taken });
    await second.save("r", waiting(2));
    await failure(first.release("r", waiting(1)), "CONFLICT");
    expect(await first.take("r")).toMatchObject({ text: waiting(2) });
    await first.delete("r");
    expect([await first.load("r"), await second.load("r")]).toEqual([null, null]);
    await second.delete("r");
    await second.delete("unknown");
  });

  it("of a leased run are deleted only by its holder, or by force", async () => {
    const target = await shared(kind);
    const [states, second] = [statesAt(target), statesAt(target)];
    await states.save("r", waiting(0));
    const lease = await second.lease({ space: "openai-agents-states", run: "r" });
    expect(await failure(states.delete("r"), "CONFLICT")).toMatchObject({ lease: { holder: lease.holder } });
    expect(await states.load("r")).toMatchObject({ text: waiting(0) });
    await states.delete("r", { force: true });
    expect(await states.load("r")).toBeNull();
    await failure(second.withLease(lease).save("r", waiting(1)), "CONFLICT");
  });

  it("can be taken again after takenMs", async () => {
    const states = statesAt(place(kind), { takenMs: 200 });
    await states.save("r", waiting());
    await states.take("r");
    await failure(states.take("r"), "CONFLICT");
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(await states.load("r")).toEqual({ runId: "r", text: waiting() });
    await states.take("r");
    await failure(states.take("r"), "CONFLICT");
  });

  it("are listed, the one that was saved last first", async () => {
    const states = statesAt(place(kind));
    expect(await states.list()).toEqual([]);
    for (let n = 0; n < 5; n++) await states.save(`r${n}`, waiting(n), n % 2 === 0 ? { sessionId: "even" } : {});
    await states.save("r1", waiting("again"), { sessionId: "odd" });
    const names = (found: SavedRunState[]) => found.map(({ runId }) => runId);
    expect(names(await states.list())).toEqual(["r1", "r4", "r3", "r2", "r0"]);
    expect(names(await states.list({ limit: 2 }))).toEqual(["r1", "r4"]);
    expect(names(await states.list({ limit: 0 }))).toEqual([]);
    expect(names(await states.list({ sessionId: "even", limit: 2 }))).toEqual(["r4", "r2"]);
    expect((await states.list({ sessionId: "odd" }))[0]!.text).toBe(waiting("again"));
    expect(await states.list({ sessionId: "unknown" })).toEqual([]);
  });

  it("keep the order of calls that are not awaited", async () => {
    const states = statesAt(place(kind));
    const calls = [states.save("r", waiting(0)), states.take("r"), states.save("r", waiting(1)), states.take("r")];
    await Promise.all([...calls, states.release("r", waiting(2))]);
    expect(await states.load("r")).toEqual({ runId: "r", text: waiting(2) });
    const deleted = states.delete("r");
    expect(await states.load("r")).toBeNull();
    await deleted;
  });

  it("refuse wrong arguments before anything is stored", async () => {
    const states = statesAt(place(kind));
    for (const id of [undefined, null, 7, "", {}] as never[]) {
      for (const work of [
        states.save(id, ""),
        states.load(id),
        states.take(id),
        states.release(id, ""),
        states.delete(id),
      ]) {
        await wrongType(work);
      }
    }
    for (const text of [undefined, null, {}, 7] as never[]) await wrongType(states.save("r", text));
    for (const options of [null, 7, { unknown: 1 }, { sessionId: 7 }, { sessionId: "" }] as never[]) {
      await wrongType(states.save("r", "", options));
      await wrongType(states.list(options));
    }
    await wrongType(states.take("r", { force: 1 } as never));
    expect(await rejection(states.list({ limit: -1 }))).toBeInstanceOf(RangeError);
    await failure(states.save("\ud800", ""), "INVALID_ARGUMENT");
    await failure(states.save("x".repeat(5_000), ""), "INVALID_ARGUMENT");
    for (const takenMs of [0, -1, 1.5])
      expect(() => new ForkpointRunStates("memory:", { takenMs })).toThrow(RangeError);
    expect(await states.list()).toEqual([]);
    await states.close();
    for (const work of [
      states.save("r", ""),
      states.load("r"),
      states.list(),
      states.take("r"),
      states.release("r", ""),
      states.delete("r"),
    ]) {
      await failure(work, "CLOSED");
    }
  });

  it("keep runs apart, whatever their names", async () => {
    const states = statesAt(place(kind));
    const names = ["a", "a/b", "1:a", "a\u0000", "é", "__proto__", "x".repeat(1_000)];
    for (const name of names) await states.save(name, waiting(name), { sessionId: name });
    for (const name of names)
      expect(await states.take(name, { sessionId: name })).toMatchObject({ text: waiting(name) });
    await states.delete("a");
    expect((await states.list()).map(({ runId }) => runId).toSorted()).toEqual(names.slice(1).toSorted());
  });

  it("are saved with a lease only while it is held", async () => {
    const states = statesAt(place(kind));
    const lease = await states.lease({ space: "openai-agents-states", run: "r" });
    const mine = states.withLease(lease);
    await mine.save("r", waiting());
    await mine.take("r");
    await lease.release();
    const error = await failure(mine.release("r", waiting(1)), "CONFLICT");
    expect(error.lease).not.toBeUndefined();
    expect(await states.load("r")).toMatchObject({ text: waiting(), taken });
  });

  it("are shown with their words, copied, and pruned with what took them", async () => {
    const target = await shared(kind);
    const store = typeof target === "string" ? await openStore(target) : (target as never);
    if (typeof target === "string") onTestFinished(() => (store as { close(): Promise<void> }).close());
    const states = statesAt(store);
    await states.save("r", waiting(0), { sessionId: "s" });
    await states.take("r");
    await states.save("r", waiting(1));
    await states.take("r");
    const run = { space: "openai-agents-states", run: "r" };
    await using looking = await openInspector(store);
    const [info] = (await looking.runs({ status: "waiting" })).items;
    expect(info).toMatchObject({ ...run, checkpoints: 2, status: "waiting", group: "s" });
    const checkpoints = await looking.checkpoints(run);
    expect(checkpoints.items).toHaveLength(2);
    const detail = await looking.checkpoint({ ...run, id: info!.latest!.id });
    expect(detail!.state).toMatchObject({ n: 1, currentStep: { type: "next_step_interruption" } });
    const listed = await effects(states).list(run);
    expect(listed.map(({ key, state }) => [key.split(" ")[0], state])).toEqual([
      ["resume", "done"],
      ["resume", "running"],
    ]);
    const copy = await openStore("memory:");
    onTestFinished(() => copy.close());
    await copyStore(store, copy);
    const copied = statesAt(copy);
    expect(await copied.load("r")).toEqual(await states.load("r"));
    await failure(copied.take("r"), "CONFLICT");
    expect(await states.prune({ keepLastN: 1 })).toMatchObject({ removed: 1 });
    expect(await states.load("r")).toMatchObject({ text: waiting(1), taken });
    // What is taken stays taken until it is given back.
    await failure(effects(states).forget(run), "CONFLICT");
    await states.release("r", waiting(1));
    await states.take("r");
    await states.delete("r");
    expect(await effects(states).list(run)).toEqual([]);
  });

  it("are encrypted by a serializer, and can be encrypted text", async () => {
    const flipped = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0xff);
    const serializer = {
      name: "flipped",
      serialize: (value: unknown) => flipped(Buffer.from(JSON.stringify(value))),
      deserialize: (bytes: Uint8Array) => JSON.parse(Buffer.from(flipped(bytes)).toString()) as unknown,
    };
    const states = statesAt(place(kind), { serializer });
    await states.save("r", waiting());
    expect((await states.take("r")).text).toBe(waiting());
  });
});

describe.each(sharedKinds)("the states of runs that were closed, over %s", (kind) => {
  it("stay taken", async () => {
    const target = place(kind);
    const before = statesAt(target);
    await before.save("r", waiting());
    await before.take("r");
    await before.close();
    const after = statesAt(target);
    expect(await after.load("r")).toMatchObject({ taken });
    await failure(after.take("r"), "CONFLICT");
    await failure(after.release("r", waiting(1)), "CONFLICT");
    await after.take("r", { force: true });
    await after.release("r", waiting(1));
    expect(await after.load("r")).toEqual({ runId: "r", text: waiting(1) });
  });
});
