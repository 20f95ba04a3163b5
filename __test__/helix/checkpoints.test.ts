// Tests saving, reading and listing checkpoints, and the events that saves cause.
import type { CheckpointCreatedEvent, CheckpointPage } from "forkpoint/helix";
import { describe, expect, it } from "vitest";
import { failure, ids, kinds, thrown, wrongType } from "../helpers.js";
import { hostileIds } from "../hostile-values.js";
import { besides, checkpoint, logOf, make, pair, START, stateOf, texts, withSession } from "./helpers.js";

describe.each(kinds)("checkpoints over %s", (kind) => {
  it("calls by a checkpoint's id see the saves that were called before them", async () => {
    const store = await withSession(kind);
    await store.appendMessages("s", texts(2));
    void store.saveCheckpoint(checkpoint(1));
    expect((await store.getCheckpoint("s/1"))!.messageCount).toBe(2);
    void store.saveCheckpoint(checkpoint(2));
    expect((await store.getCheckpoint("s", "s/2"))!.stepCount).toBe(2);
    void store.saveCheckpoint(checkpoint(3));
    expect((await store.rewindTo("s/3")).stepCount).toBe(3);
    void store.saveCheckpoint(checkpoint(4));
    expect((await store.branchSession("s/4", "new")).stepCount).toBe(4);
    void store.createSession("later", { agentType: "a" });
    expect((await store.sessions()).sessions.map(({ sessionId }) => sessionId)).toEqual(["later", "new", "s"]);
  });

  it("without a session, messageCount is the number of messages in the state", async () => {
    const store = make(kind);
    await store.saveCheckpoint(checkpoint(1, { state: stateOf({ messages: texts(3) }) }));
    await store.saveCheckpoint(checkpoint(2, { messageCount: 7 }));
    expect((await store.getCheckpoint("s/1"))!.messageCount).toBe(3);
    expect((await store.getCheckpoint("s/2"))!.messageCount).toBe(7);
  });

  describe("saveCheckpoint and getCheckpoint", () => {
    it("keep every field, also unknown ones and numbers at the edges, and the order of the keys", async () => {
      const store = make(kind);
      const saved = {
        parentCheckpointId: "s/0",
        ...checkpoint(Number.MAX_SAFE_INTEGER, {
          id: "s/1",
          state: stateOf({ messages: texts(2), customState: { b: [1, { c: null }], a: "" }, output: 7, z: { y: 1 } }),
          timestamp: -0.5,
          messageCount: Number.MAX_SAFE_INTEGER,
          streamSequence: Number.MAX_SAFE_INTEGER,
        }),
        label: { deep: [true] },
      };
      expect(await store.saveCheckpoint(saved)).toBeUndefined();
      const found = await store.getCheckpoint("s/1");
      expect(found).toStrictEqual(saved);
      expect(Object.keys(found!)).toEqual(Object.keys(saved));
      expect(Object.keys(found!.state)).toEqual(Object.keys(saved.state));
    });

    it("take a session's id first, which the checkpoint may then leave out", async () => {
      const store = make(kind);
      const { sessionId: _, ...rest } = checkpoint(1);
      await store.saveCheckpoint("s", checkpoint(2));
      await store.saveCheckpoint("s", rest as never);
      expect((await store.getCheckpoint("s", "s/1"))!.sessionId).toBe("s");
      expect((await store.getCheckpoint("s", "s/2"))!.stepCount).toBe(2);
      await failure(store.saveCheckpoint("t", checkpoint(3)), "INVALID_ARGUMENT");
      expect((await store.listCheckpoints("s")).total).toBe(2);
      expect((await store.listCheckpoints("t")).total).toBe(0);
    });

    it("a checkpoint of the same id is replaced, not added", async () => {
      const store = await withSession(kind);
      await store.saveCheckpoint(checkpoint(1, { id: "x", extra: 1 }));
      await store.saveCheckpoint(checkpoint(2));
      const again = checkpoint(5, { id: "x", state: stateOf({ status: "failed", messages: texts(1) }) });
      await store.saveCheckpoint(again);
      const { items, total } = await store.listCheckpoints("s");
      expect([ids(items), total]).toEqual([["x", "s/2"], 2]);
      expect(items[0]).toEqual({ id: "x", sessionId: "s", stepCount: 5, timestamp: START + 5, status: "failed" });
      expect(await store.getCheckpoint("x")).toEqual({ ...again, messageCount: 0, streamSequence: 0 });
    });

    it("of 20 parallel saves of one id from two stores, one is there afterwards", async () => {
      const stores = await pair(kind);
      const save = (i: number) => stores[i % 2]!.saveCheckpoint(checkpoint(i, { id: "x" }));
      await Promise.all(Array.from({ length: 20 }, (_, i) => save(i)));
      expect((await stores[0].listCheckpoints("s")).total).toBe(1);
      expect(await stores[1].getCheckpoint("x")).toEqual(await stores[0].getCheckpoint("x"));
    });

    const log = texts(4);
    it.each(besides(log))("state.messages are kept as given, whatever the log holds: %s", async (_, messages) => {
      const store = await withSession(kind);
      await store.appendMessages("s", log);
      for (const [id, messageCount] of Object.entries({
        "without a count": undefined,
        "with a count": messages.length,
      })) {
        const count = messageCount === undefined ? {} : { messageCount };
        await store.saveCheckpoint(checkpoint(1, { id, state: stateOf({ messages }), ...count }));
        const found = (await store.getCheckpoint(id))!;
        expect(found.messageCount, id).toBe(messageCount ?? 4);
        expect(found.state.messages, id).toStrictEqual(messages);
      }
      await store.truncateMessages("s", 0);
      await store.appendMessages("s", texts(9, 0, "other"));
      for (const id of ["without a count", "with a count"]) {
        expect((await store.getCheckpoint(id))!.state.messages, id).toStrictEqual(messages);
      }
    });

    it("a state without messages gets those of the session, as many as messageCount says", async () => {
      const store = await withSession(kind);
      await store.appendMessages("s", log);
      const counts = [undefined, 0, 2, 4, 9] as const;
      for (const messageCount of counts) {
        await store.saveCheckpoint(
          checkpoint(1, { id: `${messageCount}`, ...(messageCount !== undefined && { messageCount }) }),
        );
      }
      await store.appendMessages("s", texts(1, 4));
      for (const messageCount of counts) {
        const found = (await store.getCheckpoint(`${messageCount}`))!;
        expect(found.messageCount).toBe(messageCount ?? 4);
        expect(found.state.messages).toEqual(log.slice(0, messageCount));
      }
    });

    it("an object with toJSON is stored as its toJSON says", async () => {
      const store = make(kind);
      const saved = checkpoint(1, { state: stateOf({ messages: [], at: "json" }), messageCount: 0, streamSequence: 0 });
      const state = { toJSON: () => saved.state };
      await store.saveCheckpoint({ ...saved, state } as never);
      expect(await store.getCheckpoint("s/1")).toEqual(saved);
      await store.saveCheckpoint({ toJSON: () => ({ ...saved, id: "whole" }) } as never);
      expect(await store.getCheckpoint("whole")).toEqual({ ...saved, id: "whole" });
      await wrongType(store.saveCheckpoint({ toJSON: () => "text" } as never));
    });

    it("take a copy when they are called, and give a fresh one", async () => {
      const store = await withSession(kind);
      await store.appendMessages("s", texts(1));
      const saved = checkpoint(1, { state: stateOf({ customState: { list: [1] } }), extra: { list: [1] } });
      const pending = store.saveCheckpoint(saved);
      saved.state.customState["list"].push(2);
      saved.state.status = "failed";
      saved.stepCount = 9;
      await pending;
      const first = (await store.getCheckpoint("s/1"))!;
      expect(first).toMatchObject({ stepCount: 1, state: { status: "active", customState: { list: [1] } } });
      first.state.customState["list"].push(3);
      first.state.messages[0]!.content = "changed";
      first.state.messages.push(...texts(1));
      const second = (await store.getLatestCheckpoint("s"))!;
      expect(second).toMatchObject({ stepCount: 1, state: { customState: { list: [1] }, messages: texts(1) } });
      expect(second.state.messages).toHaveLength(1);
    });
  });

  describe("listCheckpoints", () => {
    const saveAll = async (count: number) => {
      const store = make(kind);
      for (let i = 0; i < count; i++)
        await store.saveCheckpoint(checkpoint(i, { state: stateOf({ status: `at ${i}` }) }));
      return store;
    };

    it("gives exactly the five fields of each checkpoint, and without options all of them", async () => {
      const store = await saveAll(120);
      const { items, ...rest } = await store.listCheckpoints("s");
      expect(rest).toEqual({ total: 120, hasMore: false });
      expect(items).toStrictEqual(
        Array.from({ length: 120 }, (_, i) => 119 - i).map((step) => ({
          id: `s/${step}`,
          sessionId: "s",
          stepCount: step,
          timestamp: START + step,
          status: `at ${step}`,
        })),
      );
    });

    it("with an offset and a limit gives its part, the total, and whether there is more", async () => {
      const store = await saveAll(5);
      const most = 2 ** 53 - 1;
      const parts: Array<[options: object, from: number, to: number, hasMore: boolean]> = [
        [{ limit: 2 }, 0, 2, true],
        [{ limit: 2, offset: 3 }, 3, 5, false],
        [{ limit: 2, offset: 4 }, 4, 5, false],
        [{ limit: 5 }, 0, 5, false],
        [{ offset: 3 }, 3, 5, false],
        [{ offset: 6, limit: 1 }, 5, 5, false],
        [{ limit: 0 }, 0, 0, true],
        [{ limit: 0, offset: 5 }, 5, 5, false],
        [{ limit: most, offset: 1 }, 1, 5, false],
        [{ limit: most, offset: most }, 5, 5, false],
        [{ limit: Number.POSITIVE_INFINITY, offset: 1 }, 1, 5, false],
        [{ limit: undefined, offset: undefined, cursor: undefined }, 0, 5, false],
        [{ cursor: null }, 0, 5, false],
      ];
      for (const [options, from, to, hasMore] of parts) {
        const page = await store.listCheckpoints("s", options);
        const found = [ids(page.items), page.total, page.hasMore];
        expect(found, JSON.stringify(options)).toEqual([
          ["s/4", "s/3", "s/2", "s/1", "s/0"].slice(from, to),
          5,
          hasMore,
        ]);
      }
    });

    it("the pages of a cursor hold each checkpoint once, while others are saved and removed", async () => {
      const store = make(kind);
      // Ten checkpoints have the same timestamp, so that a page ends among them.
      for (let i = 0; i < 30; i++) {
        const timestamp = i >= 10 && i < 20 ? 10 : i;
        await store.saveCheckpoint(checkpoint(i, { id: `c${i}`, timestamp }));
      }
      const seen: string[] = [];
      let page: CheckpointPage | undefined;
      do {
        page = await store.listCheckpoints("s", { limit: 4, cursor: page?.cursor ?? null });
        expect(page.hasMore).toBe(page.cursor !== undefined);
        seen.push(...ids(page.items));
        await store.saveCheckpoint(checkpoint(99, { id: `later ${seen.length}`, timestamp: 1_000 }));
      } while (page.cursor !== undefined);
      expect(seen).toEqual(Array.from({ length: 30 }, (_, i) => `c${29 - i}`));
      // 7 of the 8 pages came after another save.
      expect(page.total).toBe(37);
    });

    it("the pages of checkpoints with odd ids go on at the right place", async () => {
      const store = make(kind);
      for (const id of hostileIds) await store.saveCheckpoint(checkpoint(1, { id, sessionId: "s", timestamp: -1.5 }));
      const seen: string[] = [];
      for (let cursor: string | null | undefined = null; cursor !== undefined;) {
        const page: CheckpointPage = await store.listCheckpoints("s", { limit: 1, cursor });
        seen.push(...ids(page.items));
        ({ cursor } = page);
      }
      expect(seen).toEqual(hostileIds.toReversed());
    });

    it("a cursor goes on where its checkpoint was, if that checkpoint got another place or was removed", async () => {
      const store = await saveAll(6);
      const { cursor } = await store.listCheckpoints("s", { limit: 2 });
      await store.saveCheckpoint(checkpoint(4, { timestamp: START + 100 }));
      expect(ids((await store.listCheckpoints("s", { cursor: cursor! })).items)).toEqual(["s/3", "s/2", "s/1", "s/0"]);
      await store.prune({ keepLastN: 2 });
      expect(await store.listCheckpoints("s", { cursor: cursor! })).toMatchObject({
        items: [],
        hasMore: false,
        total: 2,
      });
    });
  });

  describe("events", () => {
    it("tell of each checkpoint that was stored, and of no other", async () => {
      const store = await withSession(kind);
      const told: Array<[CheckpointCreatedEvent, string]> = [];
      const listener = (event: CheckpointCreatedEvent, sessionId: string) => void told.push([event, sessionId]);
      expect(store.on("checkpoint_created", listener)).toBe(store);
      await store.saveCheckpoint(checkpoint(3));
      await store.saveCheckpoint(checkpoint(1, { sessionId: "t" }));
      await failure(store.saveCheckpoint(checkpoint(4, { id: "s/3", sessionId: "t" })), "CONFLICT");
      await wrongType(store.saveCheckpoint(checkpoint(4, { state: null as never })));
      await store.rewindTo("s/3");
      const { id } = await store.branchSession("s/3", "new");
      expect(store.off("checkpoint_created", listener)).toBe(store);
      await store.saveCheckpoint(checkpoint(5));
      const event = (checkpointId: string, stepCount: number) => ({
        type: "checkpoint_created",
        checkpointId,
        stepCount,
      });
      expect(told).toEqual([
        [event("s/3", 3), "s"],
        [event("t/1", 1), "t"],
        [event(id, 3), "new"],
      ]);
    });

    it("as an iterator: those of a session, or all, from the call on until the signal or close", async () => {
      const store = make(kind);
      await store.saveCheckpoint(checkpoint(1));
      const abort = new AbortController();
      const [ofSession, all] = [store.events("s", { signal: abort.signal }), store.events()];
      await store.saveCheckpoint(checkpoint(2));
      await store.saveCheckpoint(checkpoint(2, { sessionId: "t" }));
      abort.abort();
      await store.saveCheckpoint(checkpoint(3));
      await store.close();
      const read = async (events: AsyncIterable<CheckpointCreatedEvent>) => {
        const found: string[] = [];
        for await (const { checkpointId } of events) found.push(checkpointId);
        return found;
      };
      expect(await read(all)).toEqual(["s/2", "t/2", "s/3"]);
      expect(await read(ofSession)).toEqual(["s/2"]);
      expect(await read(store.events())).toEqual([]);
      expect(await read(make(kind).events("s", { signal: AbortSignal.abort() }))).toEqual([]);
    });

    it("an iterator that waits gets the next event, and ends when its loop is left", async () => {
      const store = make(kind);
      const events = store.events("s");
      const next = events.next();
      await store.saveCheckpoint(checkpoint(1));
      expect(await next).toEqual({
        done: false,
        value: { type: "checkpoint_created", checkpointId: "s/1", stepCount: 1 },
      });
      await events.return!();
      await store.saveCheckpoint(checkpoint(2));
      expect(await events.next()).toEqual({ done: true, value: undefined });
    });

    it("refuse the name of another event, wrong ids and wrong options", () => {
      const store = make(kind);
      expect(thrown(() => store.events(7 as never))).toBeInstanceOf(TypeError);
      for (const options of [null, 7, { signal: {} }, { signall: undefined }]) {
        expect(thrown(() => store.events("s", options as never)).code).toBe("INVALID_ARGUMENT");
      }
      expect(thrown(() => store.on("checkpoint" as never, () => {}))).toBeInstanceOf(TypeError);
      expect(thrown(() => store.off(undefined as never, () => {}))).toBeInstanceOf(TypeError);
    });
  });

  it("a checkpoint of another session is refused, and its session does not follow from its id", async () => {
    const store = await withSession(kind);
    const id = "cpv1-other-s1-t1-abcdef";
    await store.saveCheckpoint(checkpoint(1, { id }));
    expect(await store.getCheckpoint("other", id)).toBeNull();
    expect((await store.listCheckpoints("other")).total).toBe(0);
    await store.deleteSession("other");
    expect((await store.rewindTo(id)).sessionId).toBe("s");
    await store.createSession("t", { agentType: "a" });
    await store.appendMessages("t", texts(2));
    await store.saveCheckpoint(checkpoint(1));
    const before = await store.loadState("t");
    expect(await store.getCheckpoint("t", "s/1")).toBeNull();
    await failure(store.rewindTo("t", "s/1"), "NOT_FOUND");
    await failure(store.saveCheckpoint(checkpoint(1, { id: "s/1", sessionId: "t" })), "CONFLICT");
    await failure(store.saveCheckpoint("t", checkpoint(2)), "INVALID_ARGUMENT");
    expect(await store.loadState("t")).toEqual(before);
    expect(await logOf(store, "t")).toEqual(["m0", "m1"]);
    expect((await store.listCheckpoints("t")).total).toBe(0);
    expect((await store.getCheckpoint("s", "s/1"))!.sessionId).toBe("s");
  });

  it("a commit that is sent again writes nothing twice", async () => {
    const store = await withSession(kind);
    await store.appendMessages("s", texts(2));
    const commit = checkpoint(1, { state: stateOf({ messages: texts(2) }) });
    await store.saveCheckpoint(commit);
    const before = [await store.stats(), await store.getCheckpoint("s/1")];
    for (let i = 0; i < 3; i++) await store.saveCheckpoint(commit);
    await Promise.all([store.saveCheckpoint(commit), store.saveCheckpoint(commit)]);
    const [{ checkpoints, records }, found] = [await store.stats(), await store.getCheckpoint("s/1")];
    expect([{ checkpoints, records }, found]).toMatchObject(
      before.map((one, at) => (at === 0 ? { checkpoints: 1, records: 2 } : one)),
    );
    expect((await store.listCheckpoints("s")).total).toBe(1);
    expect(await logOf(store)).toEqual(["m0", "m1"]);
  });

  it("a checkpoint that shares messages costs no second copy of them", async () => {
    const store = await withSession(kind);
    const long = texts(50, 0, "x".repeat(1_000));
    await store.appendMessages("s", long);
    const { storedBytes } = await store.stats();
    for (let step = 0; step < 20; step++) {
      await store.saveCheckpoint(checkpoint(step, { state: stateOf({ messages: long }) }));
    }
    const after = await store.stats();
    expect(after.storedBytes - storedBytes).toBeLessThan(50_000);
    expect(after.records).toBe(50);
    expect(await logOf(store)).toHaveLength(50);
  });
});
