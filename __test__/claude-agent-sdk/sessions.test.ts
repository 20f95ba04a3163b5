// Tests the store of sessions beyond its contract: arguments, summaries that cannot be made, truncation, retention, leases, the
// inspector. integration/claude-agent-sdk/forkpoint-conformance.test.ts states the contract.
// @module-tag threads
import { SessionStore, type SessionKey, type SessionStoreEntry } from "forkpoint/claude-agent-sdk";
import { copyStore, openStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { failure, kinds, place, wrongType } from "../helpers.js";
import { expectSizes } from "../sizes.js";
import { at, entries, fold, key, make, summaryOf, typesOf } from "./helpers.js";
import { opened } from "../contents.js";

const sub = (subpath: string): SessionKey => ({ ...key, subpath });

describe.each(kinds)("sessions of the Claude Agent SDK over %s", (kind) => {
  it("an entry that is sent again may have a uuid that is no valid Unicode", async () => {
    const store = make(kind);
    for (let n = 0; n < 2; n++) await store.append(key, [{ type: "a", uuid: "\ud800" }]);
    expect(await store.load(key)).toEqual([{ type: "a", uuid: "\ud800" }]);
  });

  describe("wrong arguments store nothing", () => {
    it("entries that are no array, and an entry that is no object or not JSON", async () => {
      const store = make(kind);
      for (const bad of [undefined, null, "text", {}, 7]) await wrongType(store.append(key, bad as never));
      for (const bad of [undefined, null, "text", 7, [], () => {}]) {
        await wrongType(store.append(key, [...entries(2), bad as never]));
      }
      const circle: SessionStoreEntry = { type: "a" };
      circle["self"] = circle;
      for (const bad of [
        circle,
        { type: "a", big: 1n },
        {
          type: "a",
          toJSON: () => {
            throw new Error("no");
          },
        },
      ]) {
        expect((await failure(store.append(key, [...entries(2), bad as never]), "INVALID_ARGUMENT")).message).toMatch(
          /entries\[2\]/,
        );
      }
      await wrongType(store.append(key, [{ type: "a", toJSON: () => 7 }]));
      expect([await store.load(key), await store.listSessions("-work")]).toEqual([null, []]);
    });

    it("keys", async () => {
      const store = make(kind);
      const bad = [undefined, null, "text", {}, { projectKey: "p" }, { sessionId: "s" }, { ...key, subpath: "" }];
      for (const of of [...bad, { ...key, projectKey: "" }, { ...key, sessionId: 7 }, { ...key, subpath: null }]) {
        await wrongType(store.append(of as never, entries(1)));
        await wrongType(store.load(of as never));
        await wrongType(store.delete(of as never));
      }
      expect(
        (await failure(store.append({ ...key, sessionId: "\ud800" }, entries(1)), "INVALID_ARGUMENT")).message,
      ).toMatch(/surrogate/);
      expect(
        (await failure(store.append({ ...key, sessionId: "x".repeat(5_000) }, entries(1)), "INVALID_ARGUMENT")).message,
      ).toMatch(/bytes/);
      for (const project of [undefined, "", 7]) {
        await wrongType(store.listSessions(project as never));
        await wrongType(store.listSessionSummaries!(project as never));
      }
      await wrongType(store.truncate(key, "" as never));
      expect(await store.listProjects()).toEqual([]);
    });
  });

  describe("summaries", () => {
    it("are made again after a store without the function has appended", async () => {
      const shared = await opened(place(kind));
      const [knows, knowsNot] = [at(shared), at(shared, {})];
      expect(knowsNot.listSessionSummaries).toBeUndefined();
      await knows.append(key, entries(2));
      await knowsNot.append(key, entries(2, 2));
      expect(await knows.listSessionSummaries!("-work")).toEqual([]);
      expect(await knows.listSessions("-work")).toHaveLength(1);
      await knows.append(key, entries(1, 4));
      expect(await summaryOf(knows)).toEqual(fold(undefined, key, entries(5)).data);
    });

    it("never cost an entry: an error of the function leaves the session without one", async () => {
      const store = make(kind, {
        foldSessionSummary: () => {
          throw new Error("no summary");
        },
      });
      await store.append(key, entries(1));
      expect([await typesOf(store), await store.listSessionSummaries!("-work")]).toEqual([["t0"], []]);
    });
  });

  it("loads a page", async () => {
    const store = make(kind);
    await store.append(key, entries(10));
    const types = async (range: { after?: number; limit?: number }) =>
      (await store.load(key, range))!.map(({ type }) => type);
    expect(await types({ limit: 2 })).toEqual(["t0", "t1"]);
    expect(await types({ after: 1, limit: 2 })).toEqual(["t2", "t3"]);
    expect(await types({ after: 8 })).toEqual(["t9"]);
    expect(await types({ after: 9 })).toEqual([]);
    await expect(store.load(key, { limit: -1 })).rejects.toThrow(RangeError);
    await wrongType(store.load(key, { skip: 1 } as never));
  });

  describe("truncate", () => {
    it("keeps the entries up to the given one, and their summary", async () => {
      const store = make(kind);
      await store.append(key, [
        ...entries(2),
        { type: "title", title: "early" },
        ...entries(2, 2),
        { type: "x", title: "late" },
      ]);
      await store.truncate(key, "u2");
      expect(await typesOf(store)).toEqual(["t0", "t1", "title", "t2"]);
      expect(await summaryOf(store)).toEqual({ types: ["t0", "t1", "title", "t2"], title: "early" });
      const before = await store.listSessions("-work");
      await store.truncate(key, "u2");
      expect(await store.listSessions("-work")).toEqual(before);
      await store.append(key, entries(2, 3));
      expect(await typesOf(store)).toEqual(["t0", "t1", "title", "t2", "t3", "t4"]);
      await store.append(sub("a"), entries(3));
      await store.truncate(sub("a"), "u0");
      expect(await typesOf(store, sub("a"))).toEqual(["t0"]);
    });

    it("rejects with NOT_FOUND for an unknown entry", async () => {
      const store = make(kind);
      expect((await failure(store.truncate(key, "u0"), "NOT_FOUND")).message).toMatch(/"u0"/);
      await store.append(key, entries(1));
      expect((await failure(store.truncate(key, "u1"), "NOT_FOUND")).message).toMatch(/"u1"/);
      expect(await typesOf(store)).toEqual(["t0"]);
    });
  });

  describe("retention", () => {
    const week = 7 * 86_400_000;

    it("removes whole sessions, by age and by number", async () => {
      const store = make(kind);
      const append = async (projectKey: string, sessionId: string, ago: number) => {
        const now = Date.now();
        vi.spyOn(Date, "now").mockReturnValue(now - ago);
        await store.append({ projectKey, sessionId }, entries(2));
        await store.append({ projectKey, sessionId, subpath: "a" }, entries(1));
        vi.restoreAllMocks();
      };
      // The clocks of the writers differ. "c" was saved first.
      for (const [sessionId, weeks] of Object.entries({ c: 4, a: 3, d: 1, b: 2 }))
        await append("p", sessionId, weeks * week);
      await append("q", "old", 5 * week);
      const left = async (project: string) =>
        (await store.listSessions(project)).map(({ sessionId }) => sessionId).toSorted();
      const rule = { keepSessions: 3, olderThan: Date.now() - 4.5 * week };
      expect(await store.prune({ ...rule, dryRun: true })).toEqual({ sessions: 2 });
      expect([await left("p"), await left("q")]).toEqual([["a", "b", "c", "d"], ["old"]]);
      expect(await store.prune(rule)).toEqual({ sessions: 2 });
      expect([await left("p"), await left("q"), await store.listProjects()]).toEqual([["a", "b", "d"], [], ["p"]]);
      expect(await store.listSubkeys({ projectKey: "p", sessionId: "c" })).toEqual([]);
      expect(await store.prune()).toEqual({ sessions: 0 });
      await expect(store.prune({ keepSessions: -1 })).rejects.toThrow(RangeError);
      await wrongType(store.prune({ keepLastN: 1 } as never));
    });

    it("keepSessions keeps those that were saved last, although the clock stepped back", async () => {
      const store = make(kind);
      const now = Date.now();
      const clock = vi.spyOn(Date, "now");
      onTestFinished(() => clock.mockRestore());
      for (const [n, sessionId] of ["a", "b", "c", "a"].entries()) {
        clock.mockReturnValue(now - n * week);
        await store.append({ projectKey: "p", sessionId }, entries(n + 1));
      }
      const [b, ...others] = ["b", "c", "a"].map((sessionId) => ({ projectKey: "p", sessionId }));
      expect(await store.prune({ keepSessions: 2 })).toEqual({ sessions: 1 });
      expect(await store.load(b!)).toBeNull();
      for (const left of others) expect(await store.load(left)).not.toBeNull();
      expect(await store.prune({ keepSessions: 1 })).toEqual({ sessions: 1 });
      expect((await store.listSessions("p")).map(({ sessionId }) => sessionId)).toEqual(["a"]);
    });

    it("ttlMs removes sessions in the background, and no part of one that lives", async () => {
      const target = place(kind);
      const shared = await opened(target, { ttlMs: week });
      const [store, another] = [at(shared), at(shared)];
      const now = Date.now();
      vi.spyOn(Date, "now").mockReturnValue(now - 2 * week);
      await store.append(key, entries(2));
      await store.append({ ...key, sessionId: "lives" }, entries(2));
      vi.restoreAllMocks();
      await another.append({ ...key, sessionId: "lives" }, entries(1, 2));
      await expect.poll(() => store.load(key)).toBeNull();
      expect(await typesOf(store, { ...key, sessionId: "lives" })).toEqual(["t0", "t1", "t2"]);
    });
  });

  it("a closed store rejects every call", async () => {
    const store = make(kind);
    await store.append(key, entries(1));
    await store.close();
    for (const call of [
      () => store.append(key, entries(1)),
      () => store.load(key),
      () => store.listSessions("-work"),
      () => store.listSessionSummaries!("-work"),
      () => store.delete(key),
      () => store.listSubkeys(key),
      () => store.listProjects(),
      () => store.truncate(key, "u0"),
      () => store.prune(),
      () => store.stats(),
    ]) {
      expect((await failure(call(), "CLOSED")).message).toMatch(/closed/);
    }
  });

  it("with a serializer, no text of an entry is stored as it is", async () => {
    const turned = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0x55);
    const serializer = {
      name: "turned",
      serialize: (value: unknown) => turned(Buffer.from(JSON.stringify(value))),
      deserialize: (bytes: Uint8Array) => JSON.parse(Buffer.from(turned(bytes)).toString()) as unknown,
    };
    const shared = await opened(place(kind), { serializer });
    const store = at(shared);
    expect(store.listSessionSummaries).toBeUndefined();
    await store.append(key, entries(3));
    await store.append(key, entries(4));
    expect(await store.load(key)).toEqual(entries(4));
    const plain = await at(shared, {}).load(key);
    expect(plain).toEqual(entries(4));
    await store.truncate(key, "u1");
    expect(await typesOf(store)).toEqual(["t0", "t1"]);
    const inspector = await openInspector(shared);
    const { items } = await inspector.checkpoints({ space: "claude-agent-sdk", run: "s", ns: "-work" });
    expect(JSON.stringify(items)).not.toContain("t0");
    await inspector.close();
  });

  it("the size of a session is that of its entries, those of its subagents among them", async () => {
    const store = await opened(place(kind));
    const sessions = at(store);
    await sessions.append({ projectKey: "-work", sessionId: "large" }, entries(1));
    const subpath = "subagents/a";
    for (let n = 0; n < 3; n++) {
      const text = Array.from({ length: 400 }, (_, at) => `${n}.${at}`).join(" ");
      await sessions.append({ projectKey: "-work", sessionId: "large", subpath }, [{ type: "text", text }]);
    }
    await sessions.append({ projectKey: "-work", sessionId: "small" }, entries(1));
    await expectSizes(store, { space: "claude-agent-sdk", ns: "-work" });
  });

  it("is a run with its entries for the inspector, which removes it whole", async () => {
    const shared = await opened(place(kind));
    const store = at(shared);
    const title = { type: "title", title: "Lisbon" };
    await store.append(key, [...entries(2), title]);
    await store.append({ ...key, projectKey: "-other" }, entries(1));
    const inspector = await openInspector(shared, { write: true });
    onTestFinished(() => inspector.close());
    const ref = { space: "claude-agent-sdk", run: "s", ns: "-work" };
    const { items } = await inspector.runs({ space: "claude-agent-sdk" });
    expect(items.map(({ run, ns, group, checkpoints }) => ({ run, ns, group, checkpoints }))).toEqual([
      { run: "s", ns: "-other", group: "-other", checkpoints: 1 },
      { run: "s", ns: "-work", group: "-work", checkpoints: 1 },
    ]);
    const found = await inspector.checkpoint(ref);
    expect(found).toMatchObject({
      state: { entries: [...entries(2), title] },
      checkpoint: { meta: { data: { title: "Lisbon" } } },
    });
    await inspector.remove(ref);
    expect([await store.load(key), await store.listSessions("-work")]).toEqual([null, []]);
    expect(await typesOf(store, { ...key, projectKey: "-other" })).toEqual(["t0"]);
  });

  it("a subagent that comes before its session is counted, found and pruned, and not listed by the SDK", async () => {
    const shared = await opened(place(kind));
    const [store, second] = [at(shared), at(shared)];
    const inspector = await openInspector(shared);
    onTestFinished(() => inspector.close());
    const runs = async () =>
      (await inspector.runs({ space: "claude-agent-sdk" })).items.map(({ run, ns }) => [run, ns]);
    // Both begin it at the same time, and neither has seen it.
    await store.append(key, entries(1));
    await store.delete(key);
    const late = at(shared);
    await Promise.all([
      late.append(sub("a"), entries(1)),
      late.append(sub("a"), entries(2)),
      second.append(sub("b"), entries(1)),
    ]);
    expect(await typesOf(late, sub("a"))).toEqual(["t0", "t1"]);
    expect(await runs()).toEqual([["s", "-work"]]);
    expect(await store.stats()).toMatchObject({ runs: 1, records: 3 });
    expect([await late.listSessions("-work"), await late.load(key)]).toEqual([[], null]);
    expect(await late.listSessionSummaries?.("-work")).toEqual([]);
    expect(await late.prune({ keepSessions: 0 })).toEqual({ sessions: 1 });
    expect([await runs(), await late.load(sub("a"))]).toEqual([[], null]);
    // Its main transcript may follow.
    const other = at(shared);
    await other.append(sub("a"), entries(1));
    await second.append(key, entries(2));
    await other.append(sub("a"), entries(2));
    expect((await other.listSessions("-work")).map(({ sessionId }) => sessionId)).toEqual(["s"]);
    expect(await summaryOf(second)).toMatchObject({ types: ["t0", "t1"] });
    expect(await typesOf(other, sub("a"))).toEqual(["t0", "t1"]);
    await second.delete(key);
    expect(await runs()).toEqual([]);
    await failure(other.append(sub("a"), entries(3)), "CONFLICT");
  });

  it("is copied with its subagents and its summary", async () => {
    const [from, to] = [await openStore(place(kind)), await openStore("memory:")];
    onTestFinished(async () => void (await Promise.all([from.close(), to.close()])));
    const store = at(from);
    await store.append(key, entries(3));
    await store.append(sub("a"), entries(2));
    await copyStore(from, to);
    const copy = at(to);
    expect([await typesOf(copy), await typesOf(copy, sub("a"))]).toEqual([
      ["t0", "t1", "t2"],
      ["t0", "t1"],
    ]);
    expect(await summaryOf(copy)).toEqual(await summaryOf(store));
    await copy.append(key, entries(4));
    expect(await summaryOf(copy)).toMatchObject({ types: ["t0", "t1", "t2", "t3"] });
  });

  it("a session of 50 MB is stored, loaded and truncated", { timeout: 300_000 }, async () => {
    const store = make(kind);
    const all: SessionStoreEntry[] = Array.from({ length: 5_000 }, (_, n) => {
      return { type: `t${n}`, uuid: `u${n}`, text: `${n} é `.repeat(1_000).slice(0, 10_000) };
    });
    for (let from = 0; from < all.length; from += 500) await store.append(key, all.slice(from, from + 500));
    await store.append(key, all.slice(0, 500));
    expect(await store.load(key)).toEqual(all);
    expect(await summaryOf(store)).toEqual(fold(undefined, key, all).data);
    await store.truncate(key, "u9");
    expect(await store.load(key)).toEqual(all.slice(0, 10));
  });

  it("stores as many bytes as the entries have, however many came before", { timeout: 300_000 }, async () => {
    const store = make(kind, {});
    const stored: number[] = [];
    for (let n = 0; n < 3; n++) {
      for (let at = 0; at < 300; at++)
        await store.append(key, [{ type: "t", uuid: `${n}-${at}`, text: "x".repeat(500) }]);
      const { recordBytes, storedBytes } = await store.stats();
      stored.push(recordBytes + storedBytes);
    }
    const [one, two, three] = stored as [number, number, number];
    expect(three - two).toBeLessThan(1.5 * (two - one));
    expect(three).toBeLessThan(900 * 800);
  });

  it("counts sessions and entries", async () => {
    const store = make(kind);
    await store.append(key, entries(3));
    await store.append(sub("a"), entries(2));
    expect(await store.stats()).toMatchObject({ runs: 1, checkpoints: 1, records: 5 });
  });
});

describe("options", () => {
  it("are checked", async () => {
    expect(() => new SessionStore("memory:", { foldSessionSummary: 7 } as never)).toThrow(TypeError);
    expect(() => new SessionStore("memory:", { ttlMs: -1 })).toThrow(RangeError);
    expect(() => new SessionStore("memory:", { keepSessions: 1 } as never)).toThrow(/keepSessions/);
    const shared = await opened("memory:");
    expect(() => new SessionStore(shared, { ttlMs: 1 })).toThrow(/openStore/);
  });
});
