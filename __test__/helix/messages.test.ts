// Tests the log of messages.
import type { Message } from "forkpoint/helix";
import { describe, expect, it } from "vitest";
import { expectSame, kinds } from "../helpers.js";
import { checkpoint, contents, logOf, pair, stateOf, texts, withSession } from "./helpers.js";

describe.each(kinds)("messages over %s", (kind) => {
  describe("appendMessages", () => {
    it("keeps the order of the messages of one call and of the calls", async () => {
      const store = await withSession(kind);
      expect(await store.appendMessages("s", texts(3))).toBeUndefined();
      await store.appendMessages("s", []);
      await store.appendMessages("s", texts(2, 3));
      expect(await store.getMessages("s")).toEqual({ messages: texts(5), total: 5, hasMore: false });
    });

    it("100 parallel calls from two stores lose nothing and keep the messages of a call together", async () => {
      const stores = await pair(kind);
      await stores[0].createSession("s", { agentType: "a" });
      await Promise.all(Array.from({ length: 100 }, (_, i) => stores[i % 2]!.appendMessages("s", texts(3, i * 3))));
      const found = (await logOf(stores[0])).map((text) => Number(String(text).slice(1)));
      expect(found).toHaveLength(300);
      const begins = found.filter((_, at) => at % 3 === 0);
      expect(found).toEqual(begins.flatMap((begin) => [begin, begin + 1, begin + 2]));
      expect(begins.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, i) => i * 3));
      expect(await logOf(stores[1])).toEqual(await logOf(stores[0]));
    });

    it("takes a snapshot when it is called, and reads give fresh objects", async () => {
      const store = await withSession(kind);
      const message = { role: "user", content: { parts: ["first"] } };
      const list = [message];
      const pending = store.appendMessages("s", list);
      message.content.parts.push("late");
      list.push(message);
      await pending;
      const found = (await store.getMessages("s")).messages;
      expect(found).toEqual([{ role: "user", content: { parts: ["first"] } }]);
      (found[0]!["content"] as { parts: string[] }).parts.push("changed");
      found.pop();
      expect((await store.getMessages("s")).messages).toEqual([{ role: "user", content: { parts: ["first"] } }]);
    });
  });

  it.each<[string, Message]>([
    ["unicode", { role: "user", content: "🜁 née ne\u0301e \u0000 \u202E \uFFFD 👩‍👩‍👧" }],
    ["half of a surrogate pair in a text", { role: "user", content: "a\ud83d", "\ude00": "key" }],
    [
      "a Date, a Map, a Set, a bigint and bytes",
      {
        role: "tool",
        content: [new Date(0), new Map([["a", new Set([1])]]), 2n ** 64n, new Uint8Array([0, 255]), Buffer.from("b")],
      },
    ],
    [
      "undefined, null, NaN and -0, without a role",
      { content: undefined, name: null, list: [undefined, Number.NaN, -0] } as never,
    ],
    [
      "keys that mean something elsewhere",
      JSON.parse('{"role":"user","__proto__":{"polluted":1},"constructor":7,"then":1}'),
    ],
    ["a text of 1 MB", { role: "user", content: "é".repeat(500_000) }],
  ])("a message comes back as it was: %s", async (_, message) => {
    const store = await withSession(kind);
    await store.appendMessages("s", [message]);
    await store.saveCheckpoint(checkpoint(1));
    await store.saveCheckpoint(checkpoint(2, { state: stateOf({ messages: [message, message] }) }));
    const [found] = (await store.getMessages("s")).messages;
    expectSame(found, message);
    expect(Object.keys(found!)).toEqual(Object.keys(message));
    expectSame((await store.getCheckpoint("s/1"))!.state.messages, [message]);
    expectSame((await store.getCheckpoint("s/2"))!.state.messages, [message, message]);
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  describe("getMessages", () => {
    it("with an offset and a limit gives its part, the total, and whether there is more", async () => {
      const store = await withSession(kind);
      await store.appendMessages("s", texts(5));
      const most = 2 ** 53 - 1;
      const parts: Array<[options: object, from: number, to: number, hasMore: boolean]> = [
        [{}, 0, 5, false],
        [{ offset: 0, limit: 2 }, 0, 2, true],
        [{ offset: 3, limit: 2 }, 3, 5, false],
        [{ offset: 4, limit: 2 }, 4, 5, false],
        [{ offset: 5 }, 5, 5, false],
        [{ offset: most, limit: most }, 5, 5, false],
        [{ limit: most }, 0, 5, false],
        [{ limit: Number.POSITIVE_INFINITY }, 0, 5, false],
        [{ limit: 0 }, 0, 0, true],
        [{ offset: 5, limit: 0 }, 5, 5, false],
        [{ offset: undefined, limit: undefined, includeThinking: undefined }, 0, 5, false],
      ];
      for (const [options, from, to, hasMore] of parts) {
        const page = await store.getMessages("s", options);
        expect(page, JSON.stringify(options)).toEqual({ messages: texts(5).slice(from, to), total: 5, hasMore });
      }
    });

    it("leaves out the thinking on request, and only then", async () => {
      const store = await withSession(kind);
      const messages = [
        { role: "assistant", content: "a", thinking: { text: "because" } },
        { role: "assistant", content: { thinking: "not this one" }, thinking: "" },
        { role: "user", content: "c" },
      ];
      await store.appendMessages("s", messages);
      const without = [
        { role: "assistant", content: "a" },
        { role: "assistant", content: { thinking: "not this one" } },
        { role: "user", content: "c" },
      ];
      expect((await store.getMessages("s", { includeThinking: false })).messages).toStrictEqual(without);
      expect((await store.getMessages("s", { includeThinking: true })).messages).toStrictEqual(messages);
      expect((await store.getMessages("s")).messages).toStrictEqual(messages);
    });
  });

  describe("truncateMessages", () => {
    it("keeps as many messages as it is told, and the next ones follow them", async () => {
      const store = await withSession(kind);
      for (const count of [2 ** 53 - 1, 5, 4, 0]) {
        const kept = Math.min(count, 5);
        await store.appendMessages("s", texts(5));
        expect(await store.truncateMessages("s", count)).toBeUndefined();
        expect(await store.getMessages("s")).toEqual({
          messages: texts(5).slice(0, kept),
          total: kept,
          hasMore: false,
        });
        await store.appendMessages("s", texts(2, 0, "next"));
        expect(await logOf(store)).toEqual([...contents(texts(kept)), "next0", "next1"]);
        await store.truncateMessages("s", 0);
      }
    });

    it("changes no checkpoint, also not when other messages follow", async () => {
      const store = await withSession(kind);
      await store.appendMessages("s", texts(4));
      await store.saveCheckpoint(checkpoint(1));
      await store.saveCheckpoint(checkpoint(2, { state: stateOf({ messages: texts(4) }) }));
      await store.truncateMessages("s", 1);
      await store.appendMessages("s", texts(6, 0, "other"));
      await store.saveCheckpoint(checkpoint(3));
      for (const id of ["s/1", "s/2"]) {
        const { state, messageCount } = (await store.getCheckpoint(id))!;
        expect([state.messages, messageCount]).toEqual([texts(4), 4]);
      }
      expect((await store.getCheckpoint("s/3"))!.state.messages).toEqual([...texts(1), ...texts(6, 0, "other")]);
    });
  });

  it("getMessageCount always equals the total of getMessages", async () => {
    const store = await withSession(kind);
    const expectBoth = async (count: number) => {
      expect(await store.getMessageCount("s")).toBe(count);
      expect((await store.getMessages("s", { limit: 0 })).total).toBe(count);
      expect((await store.getMessages("s")).total).toBe(count);
    };
    await expectBoth(0);
    await store.appendMessages("s", texts(7));
    await expectBoth(7);
    await store.saveCheckpoint(checkpoint(1));
    await store.truncateMessages("s", 3);
    await expectBoth(3);
    await store.saveState("s", stateOf({ messages: texts(9) }));
    await expectBoth(3);
    await store.rewindTo("s/1");
    await expectBoth(7);
    await store.deleteSession("s");
    await expectBoth(0);
  });

  it("10,000 messages: the count, the pages, and a checkpoint with all of them", async () => {
    const store = await withSession(kind);
    const all = texts(10_000);
    await store.appendMessages("s", all.slice(0, 9_000));
    await store.appendMessages("s", all.slice(9_000));
    expect(await store.getMessageCount("s")).toBe(10_000);
    expect((await store.getMessages("s")).messages).toEqual(all);
    expect(await store.getMessages("s", { offset: 9_990, limit: 20 })).toEqual({
      messages: all.slice(9_990),
      total: 10_000,
      hasMore: false,
    });
    await store.saveCheckpoint(checkpoint(1));
    await store.saveCheckpoint(checkpoint(2, { state: stateOf({ messages: all }) }));
    await store.appendMessages("s", texts(1, 10_000));
    for (const id of ["s/1", "s/2"]) {
      const { messageCount, state } = (await store.getCheckpoint(id))!;
      expect(messageCount).toBe(10_000);
      expect(state.messages).toEqual(all);
    }
    expect((await store.stats()).records).toBe(10_001);
  });
});
