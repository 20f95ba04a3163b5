// Tests the chats alone: what a save keeps, what a version has, and what wrong arguments get.
import type { UIMessage } from "ai";
import { copyStore, openStore } from "forkpoint";
import { ForkpointChats } from "forkpoint/ai";
import { type CheckpointRef, fromJsonForm, openInspector } from "forkpoint/inspect";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { failure, kinds, place, rejection, wrongType } from "../../__test__/helpers.js";
import { random } from "../../__test__/inspect/random.js";
import { expectSizes } from "../../__test__/sizes.js";
import { asking, assistant, chatsAt, shared, texts, user } from "./helpers.js";

const [one, two, three, four] = [user("one"), assistant("two"), user("three"), assistant("four")] as const;

describe.each(kinds)("chats of %s", (kind) => {
  test("a chat is saved, read and removed", async () => {
    const chats = chatsAt(place(kind));
    expect(await chats.readChat("c")).toBeNull();
    expect(await chats.loadChat("c")).toEqual([]);
    expect(await chats.saveChat({ chatId: "c", messages: [one] })).toEqual({ version: 1 });
    expect(await chats.saveChat({ id: "c", messages: [one, two] })).toEqual({ version: 2 });
    expect(await chats.loadChat("c")).toEqual([one, two]);
    const chat = await chats.readChat("c");
    expect(chat).toEqual({
      id: "c",
      messages: [one, two],
      activeStreamId: null,
      metadata: null,
      version: 2,
      updatedAt: expect.any(Number),
    });
    expect(Math.abs(chat!.updatedAt - Date.now())).toBeLessThan(60_000);
    await chats.deleteChat("c");
    await chats.deleteChat("c");
    expect(await chats.readChat("c")).toBeNull();
    expect((await chats.versions("c")).versions).toEqual([]);
    expect(await chats.saveChat({ id: "c", messages: [two] })).toEqual({ version: 1 });
    expect(await chats.loadChat("c")).toEqual([two]);
  });

  test("a late save does not bring back a chat that was deleted", async () => {
    const target = await shared(kind);
    const [mine, theirs] = [chatsAt(target), chatsAt(target)];
    for (const deleting of [mine, theirs]) {
      await mine.createChat({ id: "c", metadata: { userId: "u" } });
      await mine.saveChat({ id: "c", messages: [one], activeStreamId: "s" });
      await deleting.deleteChat("c");
      const late = () => mine.saveChat({ id: "c", messages: [one, two], endedStreamId: "s" });
      const error = await failure(late(), "CONFLICT");
      expect(error.message).toContain('chat "c" was deleted, so nothing was saved: createChat()');
      expect(await mine.readChat("c")).toBeNull();
      // Who has looked for it may begin it again. The end of an old answer may not.
      await failure(late(), "CONFLICT");
      await mine.saveChat({ id: "c", messages: [three] });
      await mine.deleteChat("c");
      expect((await theirs.listChats()).chats).toEqual([]);
    }
  });

  test("a late save or answer does not land in a chat that was deleted and created again", async () => {
    const target = await shared(kind);
    const [mine, theirs] = [chatsAt(target), chatsAt(target)];
    for (const other of [mine, theirs]) {
      await mine.createChat({ id: "c", metadata: { userId: "ana" } });
      await mine.saveChat({ id: "c", messages: [one], activeStreamId: "s" });
      await other.deleteChat("c");
      await other.createChat({ id: "c", metadata: { userId: "ben" } });
      const late = () => mine.saveChat({ id: "c", messages: [one, two], endedStreamId: "s" });
      const error = await failure(late(), "CONFLICT");
      expect(error.message).toContain('chat "c" was deleted, so nothing was saved');
      if (other === theirs) await failure(mine.saveChat({ id: "c", messages: [three] }), "CONFLICT");
      expect(await theirs.readChat("c")).toMatchObject({ messages: [], metadata: { userId: "ben" } });
      // Who has looked for it continues the new one. The end of an old answer still does not belong to it.
      expect(await mine.loadChat("c")).toEqual([]);
      await failure(late(), "CONFLICT");
      await mine.saveChat({ id: "c", messages: [three] });
      expect(await theirs.loadChat("c")).toEqual([three]);
      await mine.deleteChat("c");
    }
  });

  test("a chat is made with an id or without, and an id that is taken is refused", async () => {
    const chats = chatsAt(place(kind));
    const id = await chats.createChat();
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(await chats.readChat(id)).toMatchObject({ id, messages: [], version: 0, metadata: null });
    expect(await chats.createChat({ id: "c", metadata: { userId: "u" } })).toBe("c");
    const error = await failure(chats.createChat({ id: "c" }), "CONFLICT");
    expect(error.message).toBe('chat "c" already exists: use another id');
    expect((await chats.readChat("c"))!.metadata).toEqual({ userId: "u" });
    expect(await chats.saveChat({ id: "c", messages: [] })).toEqual({ version: 1 });
    expect(await chats.saveChat({ id: "c", messages: [] })).toEqual({ version: 1 });
    expect(await chats.saveChat({ id: "new", messages: [] })).toEqual({ version: 1 });
    expect(await chats.saveChat({ id: "new", messages: [one] })).toEqual({ version: 2 });
    expect(await chats.loadChat("new", { version: 1 })).toEqual([]);
    expect(await chats.saveChat({ id: "bare" })).toEqual({ version: 0 });
    expect(await chats.readChat("bare")).toMatchObject({ messages: [], version: 0 });
  });

  test("what is left out stays as it is, and makes no version", async () => {
    const target = await shared(kind);
    const chats = chatsAt(target);
    await chats.saveChat({ id: "c", messages: [one], metadata: { userId: "u" } });
    expect(await chats.saveChat({ id: "c", activeStreamId: "s" })).toEqual({ version: 1 });
    expect(await chats.saveChat({ id: "c", messages: [one, two] })).toEqual({ version: 2 });
    expect(await chats.readChat("c")).toMatchObject({ activeStreamId: "s", metadata: { userId: "u" }, version: 2 });
    expect(await chats.saveChat({ id: "c", metadata: { userId: "v" } })).toEqual({ version: 2 });
    expect(await chats.saveChat({ id: "c", activeStreamId: null, metadata: null })).toEqual({ version: 2 });
    expect(await chats.readChat("c")).toMatchObject({ messages: [one, two], activeStreamId: null, metadata: null });
    // A store that has not seen the chat, too.
    const other = chatsAt(target);
    expect(await other.saveChat({ id: "c", activeStreamId: "t" })).toEqual({ version: 2 });
    expect(await chats.saveChat({ id: "c", messages: [one, two, three] })).toEqual({ version: 3 });
    expect(await chats.readChat("c")).toMatchObject({ activeStreamId: "t", messages: [one, two, three] });
  });

  test("the end of a stream clears only that stream", async () => {
    const chats = chatsAt(place(kind));
    await chats.saveChat({ id: "c", messages: [one], activeStreamId: "first" });
    await chats.saveChat({ id: "c", activeStreamId: "second" });
    await chats.saveChat({ id: "c", messages: [one, two], endedStreamId: "first" });
    expect(await chats.readChat("c")).toMatchObject({ activeStreamId: "second", version: 2 });
    expect(await chats.saveChat({ id: "c", endedStreamId: "second" })).toEqual({ version: 2 });
    expect(await chats.readChat("c")).toMatchObject({ activeStreamId: null });
  });

  test("the end of an answer begins no chat, in a store that has never seen the chat, too", async () => {
    const target = await shared(kind);
    const [mine, theirs] = [chatsAt(target), chatsAt(target)];
    await theirs.saveChat({ id: "c", messages: [one], activeStreamId: "s", metadata: { userId: "u" } });
    await theirs.deleteChat("c");
    const error = await failure(mine.saveChat({ id: "c", messages: [one, two], endedStreamId: "s" }), "CONFLICT");
    expect(error.message).toContain('chat "c" is not stored, so the end of its answer was not saved');
    await failure(mine.saveChat({ id: "c", endedStreamId: "s" }), "CONFLICT");
    expect((await theirs.listChats()).chats).toEqual([]);
    // A new turn begins one.
    expect(await mine.saveChat({ id: "c", messages: [one], activeStreamId: "t" })).toEqual({ version: 1 });
    expect(await mine.saveChat({ id: "c", messages: [one, two], endedStreamId: "t" })).toEqual({ version: 2 });
  });

  test("a chat is deleted and pruned with its streams, but not with those of other chats", async () => {
    const target = await shared(kind);
    const [mine, theirs] = [chatsAt(target), chatsAt(target)];
    const make = async (chats: typeof mine, stream: string, more: string[] = []) => {
      const texts = ReadableStream.from(["text ", ...more]);
      let text = "";
      for await (const chunk of await chats.createNewResumableStream(stream, () => texts)) text += chunk;
      expect(text).toBe(["text ", ...more].join(""));
    };
    for (const remove of [() => mine.deleteChat("c"), () => theirs.prune({ olderThan: Date.now() + 60_000 })]) {
      for (const stream of ["first", "second"]) {
        await mine.saveChat({ id: "c", messages: [one], activeStreamId: stream });
        await make(mine, stream);
        await mine.saveChat({ id: "c", messages: [one, two], endedStreamId: stream });
      }
      // Its maker does not know the chat.
      await mine.saveChat({ id: "c", activeStreamId: "third" });
      await make(theirs, "third");
      await make(theirs, "of no chat");
      await remove();
      for (const stream of ["first", "second", "third"]) expect(await mine.hasExistingStream(stream)).toBeNull();
      expect(await mine.hasExistingStream("of no chat")).toBe("DONE");
      expect(await mine.loadChat("c")).toEqual([]);
      const inspector = await openInspector(target, { write: true });
      await inspector.remove({ space: "ai-streams", run: "of no chat" });
      await inspector.close();
    }
  });

  test("a chat that is deleted while its answer is made keeps nothing of it", async () => {
    const warnings = vi.spyOn(process, "emitWarning");
    onTestFinished(() => warnings.mockRestore());
    const target = await shared(kind);
    const chats = chatsAt(target);
    await chats.saveChat({ id: "c", messages: [one], activeStreamId: "s" });
    let controller!: ReadableStreamDefaultController<string>;
    const source = new ReadableStream<string>({ start: (given) => void (controller = given) });
    const reader = (await chats.createNewResumableStream("s", () => source)).getReader();
    controller.enqueue("one ");
    expect(await reader.read()).toEqual({ done: false, value: "one " });
    await chats.deleteChat("c");
    expect(await chats.hasExistingStream("s")).toBe(true);
    controller.enqueue("two");
    controller.close();
    expect(await reader.read()).toEqual({ done: false, value: "two" });
    // The stream is removed before its reader gets the end.
    expect(await reader.read()).toEqual({ done: true, value: undefined });
    expect(await chats.hasExistingStream("s")).toBeNull();
    await using inspector = await openInspector(target);
    expect((await inspector.info()).spaces).toEqual([]);
    expect(warnings).not.toHaveBeenCalled();
  });

  test("what is stored of a message must be an object", async () => {
    const chats = chatsAt(place(kind));
    for (const made of [null, "text", [1], 7]) {
      const message = { ...one, toJSON: () => made } as never;
      const error = await wrongType(chats.saveChat({ id: "c", messages: [two, message] }));
      expect(error.message).toMatch(/^messages\[1\] must be stored as an object/);
    }
    expect(await chats.readChat("c")).toBeNull();
    const circular = { ...one, metadata: { self: null as unknown } };
    circular.metadata.self = circular.metadata;
    if (kind === "jsonl") return;
    await chats.saveChat({ id: "c", messages: [circular] });
    expect(await chats.saveChat({ id: "c", messages: [structuredClone(circular)] })).toEqual({ version: 1 });
    expect((await chats.loadChat("c"))[0]).toEqual(circular);
  });

  test("nothing that has changed is written", async () => {
    const target = await shared(kind);
    const chats = chatsAt(target);
    await chats.saveChat({ id: "c", messages: [one, two], metadata: { a: 1 }, activeStreamId: "s" });
    const before = await chats.readChat("c");
    const again = structuredClone({ id: "c", messages: [one, two], metadata: { a: 1 }, activeStreamId: "s" });
    expect(await chats.saveChat(again)).toEqual({ version: 1 });
    expect(await chatsAt(target).saveChat(again)).toEqual({ version: 1 });
    expect(await chats.readChat("c")).toEqual(before);
  });

  test("every save of messages is a version, also of another branch", async () => {
    const chats = chatsAt(place(kind));
    const edited = user("three again", three.id);
    const lists = [
      [one],
      [one, two],
      [one, two, three],
      [one, two, three, four],
      [one, two, edited],
      [one, two, edited, four],
      [one],
      [],
      [four, one],
      [one, one],
    ];
    for (const [at, messages] of lists.entries()) {
      expect(await chats.saveChat({ id: "c", messages })).toEqual({ version: at + 1 });
      expect(await chats.loadChat("c")).toEqual(messages);
    }
    for (const [at, messages] of lists.entries()) {
      expect(await chats.loadChat("c", { version: at + 1 })).toEqual(messages);
    }
    const { versions, cursor } = await chats.versions("c");
    expect(versions.map(({ version, messages }) => [version, messages])).toEqual(
      lists.map((list, at) => [at + 1, list.length]).toReversed(),
    );
    expect(cursor).toBeNull();
    expect(versions.every(({ savedAt }) => Math.abs(savedAt - Date.now()) < 60_000)).toBe(true);
    const first = await chats.versions("c", { limit: 4 });
    expect(first.versions).toEqual(versions.slice(0, 4));
    const rest = await chats.versions("c", { limit: 6, cursor: first.cursor });
    expect([...first.versions, ...rest.versions]).toEqual(versions);
    expect(rest.cursor).toBeNull();
    const error = await failure(chats.loadChat("c", { version: 11 }), "NOT_FOUND");
    expect(error.message).toBe('chat "c" has no version 11: list its versions with versions()');
    await failure(chats.loadChat("nobody", { version: 1 }), "NOT_FOUND");
  });

  test("random saves of several stores: each version is what was saved", async () => {
    const target = await shared(kind);
    const stores = Array.from({ length: 3 }, () => chatsAt(target, undefined));
    const below = random(7);
    const saved = new Map<number, UIMessage[]>();
    let list: UIMessage[] = [];
    let next = 0;
    for (let step = 0; step < 120; step++) {
      const dice = below(10);
      const fresh = () => assistant(`message ${(next += 1)} ${"x".repeat(below(1500))}`, `m${below(5)}`);
      if (dice < 4) list = list.concat(fresh());
      else if (dice < 7 && list.length > 0) {
        // The last message grows.
        const last = structuredClone(list.at(-1)!);
        last.parts.push({ type: "text", text: `more ${(next += 1)}` });
        list = [...list.slice(0, -1), last];
      } else if (dice < 8) list = list.slice(0, below(list.length + 1));
      else if (dice < 9) list = [...list.slice(0, below(list.length + 1)), fresh(), fresh()];
      else list = [fresh(), ...list.slice(1)];
      const { version } = await stores[below(3)]!.saveChat({ id: "c", messages: structuredClone(list) });
      if (step === 60) await stores[below(3)]!.fork("c", { id: "forked" });
      saved.set(version, list);
    }
    expect(saved.size).toBeGreaterThan(60);
    const reader = chatsAt(target);
    for (const [version, messages] of saved) expect(await reader.loadChat("c", { version })).toEqual(messages);
    expect(await reader.loadChat("forked")).toEqual(await reader.loadChat("forked", { version: 1 }));
  });

  test("a fork shares the messages and goes its own way", async () => {
    const chats = chatsAt(place(kind));
    const metadata = { userId: "u", plan: { deep: [1] } };
    await chats.saveChat({ id: "c", messages: [one, two], metadata, activeStreamId: "s" });
    await chats.saveChat({ id: "c", messages: [one, two, three] });
    const grown = { ...two, parts: [...two.parts, { type: "text" as const, text: "more" }] };
    await chats.saveChat({ id: "c", messages: [one, grown] });
    expect(await chats.fork("c", { id: "f", version: 2 })).toBe("f");
    expect(await chats.readChat("f")).toMatchObject({
      messages: [one, two, three],
      metadata,
      activeStreamId: null,
      version: 1,
    });
    await chats.saveChat({ id: "f", messages: [one, two, three, four] });
    await chats.saveChat({ id: "c", messages: [one] });
    const newest = await chats.fork("c");
    expect(await chats.loadChat(newest)).toEqual([one]);
    expect(await chats.loadChat("f")).toEqual([one, two, three, four]);
    expect(await chats.loadChat(await chats.fork("f", { version: 1 }))).toEqual([one, two, three]);
    expect(await chats.loadChat(await chats.fork("c", { version: 3 }))).toEqual([one, grown]);
    await chats.deleteChat("c");
    expect(await chats.loadChat("f")).toEqual([one, two, three, four]);
    await failure(chats.fork("c"), "NOT_FOUND");
    await failure(chats.fork("f", { version: 9 }), "NOT_FOUND");
    expect((await failure(chats.fork("f", { id: newest }), "CONFLICT")).message).toContain("already exists");
    const empty = await chats.createChat();
    expect(await chats.readChat(await chats.fork(empty))).toMatchObject({ messages: [], version: 0 });
    await failure(chats.fork(empty, { version: 1 }), "NOT_FOUND");
  });

  test("two requests: the last one wins, and both versions stay", async () => {
    const target = await shared(kind);
    const [mine, theirs] = [chatsAt(target), chatsAt(target)];
    await mine.saveChat({ id: "c", messages: [one] });
    await theirs.saveChat({ id: "c", messages: [one, two] });
    expect(await mine.saveChat({ id: "c", messages: [one, three] })).toEqual({ version: 3 });
    expect(await theirs.loadChat("c")).toEqual([one, three]);
    expect(await theirs.loadChat("c", { version: 2 })).toEqual([one, two]);
    // Nothing has changed for the store that remembers an old version: what it saves is a new one all the same.
    expect(await theirs.saveChat({ id: "c", messages: [one, two] })).toEqual({ version: 4 });
    expect(await mine.loadChat("c")).toEqual([one, two]);
    const all = await Promise.all(
      Array.from({ length: 20 }, (_, n) => [mine, theirs][n % 2]!.saveChat({ id: "c", messages: [user(`${n}`)] })),
    );
    expect(all.map(({ version }) => version).toSorted((a, b) => a - b)).toEqual(
      Array.from({ length: 20 }, (_, n) => n + 5),
    );
    for (const [n, { version }] of all.entries()) {
      expect(texts(await mine.loadChat("c", { version }))).toEqual([`${n}`]);
    }
  });

  test("a save that expects another version stores nothing", async () => {
    const target = await shared(kind);
    const [mine, theirs] = [chatsAt(target), chatsAt(target)];
    expect(await mine.saveChat({ id: "c", messages: [one], expectedVersion: 0 })).toEqual({ version: 1 });
    expect(await theirs.saveChat({ id: "c", messages: [one, two], expectedVersion: 1 })).toEqual({ version: 2 });
    const error = await failure(mine.saveChat({ id: "c", messages: [one, three], expectedVersion: 1 }), "CONFLICT");
    expect(error.message).toBe('chat "c" has version 2, not 1 as expected: read it again');
    await failure(mine.saveChat({ id: "c", activeStreamId: "s", expectedVersion: 3 }), "CONFLICT");
    expect(await mine.readChat("c")).toMatchObject({ messages: [one, two], activeStreamId: null, version: 2 });
    expect(await mine.saveChat({ id: "c", messages: [one, three], expectedVersion: 2 })).toEqual({ version: 3 });
    const races = await Promise.allSettled(
      [mine, theirs, chatsAt(target)].map((chats, n) =>
        chats.saveChat({ id: "c", messages: [user(`race ${n}`)], expectedVersion: 3 }),
      ),
    );
    expect(races.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected", "rejected"]);
  });

  test("a save takes its snapshot before it returns, and reads are fresh", async () => {
    const chats = chatsAt(place(kind));
    const messages = [structuredClone(one)];
    const metadata = { tags: ["a"] };
    const saving = chats.saveChat({ id: "c", messages, metadata });
    messages[0]!.id = "changed";
    messages.push(two);
    metadata.tags.push("b");
    await saving;
    const found = await chats.readChat("c");
    expect(found).toMatchObject({ messages: [one], metadata: { tags: ["a"] } });
    found!.messages[0]!.id = "changed";
    found!.metadata!["tags"] = [];
    expect(await chats.readChat("c")).toMatchObject({ messages: [one], metadata: { tags: ["a"] } });
    // The messages that the store remembers are not those of the caller.
    const mine = [structuredClone(one), structuredClone(two)];
    await chats.saveChat({ id: "c", messages: mine });
    mine[1]!.parts.push({ type: "text", text: "later" });
    expect(await chats.saveChat({ id: "c", messages: mine })).toEqual({ version: 3 });
    expect(await chats.loadChat("c", { version: 2 })).toEqual([one, two]);
  });

  test("values come back as they were", async () => {
    const chats = chatsAt(place(kind));
    const message = {
      id: "m",
      role: "assistant",
      metadata: { at: new Date(5), gone: undefined, big: 12n, none: null, nan: Number.NaN, zero: -0 },
      parts: [
        { type: "tool-x", toolCallId: "t", state: "input-streaming", rawInput: '{"a":', input: undefined },
        { type: "text", text: "é 😀 \u0000 \ud800", providerMetadata: { p: { k: new Uint8Array([1, 2]) } } },
        { type: "data-own", data: new Map([["k", new Set([1])]]), $type: "mine" },
      ],
    } as unknown as UIMessage;
    await chats.saveChat({ id: "c", messages: [message], metadata: { at: new Date(7), gone: undefined } });
    expect((await chats.loadChat("c"))[0]).toStrictEqual(message);
    expect((await chats.readChat("c"))!.metadata).toStrictEqual({ at: new Date(7), gone: undefined });
    expect(await chats.saveChat({ id: "c", messages: [structuredClone(message)] })).toEqual({ version: 1 });
    const other = structuredClone(message) as { metadata: { zero?: number } } & UIMessage;
    other.metadata.zero = 0;
    expect(await chats.saveChat({ id: "c", messages: [other] })).toEqual({ version: 2 });
    delete (other.metadata as { gone?: unknown }).gone;
    expect(await chats.saveChat({ id: "c", messages: [other] })).toEqual({ version: 3 });
    expect("gone" in ((await chats.loadChat("c"))[0]!.metadata as object)).toBe(false);
  });

  test("any other text is an id, taken literally", async () => {
    const chats = chatsAt(place(kind));
    const ids = ["../../etc/passwd", "a/b", "a%", "a_", "é😀", " ", "1:a", "a:1", "__proto__", "x".repeat(400)];
    for (const id of ids) await chats.saveChat({ id, messages: [user(id)] });
    for (const id of ids) expect(texts(await chats.loadChat(id))).toEqual([id]);
    expect((await chats.listChats()).chats.map(({ id }) => id)).toEqual(ids.toReversed());
  });

  test("chats are listed, the last changed first, by their metadata", async () => {
    const target = await shared(kind);
    const chats = chatsAt(target);
    for (let n = 0; n < 30; n++) {
      const metadata = { userId: `u${n % 3}`, n, 'quo"te': n % 2 === 0, deep: { n: n % 5 } };
      await chats.saveChat({ id: `c${n}`, messages: [user(`${n}`)], metadata });
    }
    await chats.createChat({ id: "none" });
    await chats.saveChat({ id: "c4", activeStreamId: "s" });
    const ids = async (options?: Parameters<ForkpointChats["listChats"]>[0]) =>
      (await chats.listChats(options)).chats.map(({ id }) => id);
    const order = ["c4", "none", ...Array.from({ length: 30 }, (_, n) => `c${29 - n}`).filter((id) => id !== "c4")];
    expect(await ids()).toEqual(order);
    const of = (test: (n: number) => boolean) => order.filter((id) => id !== "none" && test(Number(id.slice(1))));
    expect(await ids({ metadata: {} })).toEqual(order);
    expect(await ids({ metadata: { userId: "u1" } })).toEqual(of((n) => n % 3 === 1));
    expect(await ids({ metadata: { userId: "u1", n: 4 } })).toEqual(["c4"]);
    expect(await ids({ metadata: { n: 1 } })).toEqual(["c1"]);
    expect(await ids({ metadata: { 'quo"te': true, userId: "u0" } })).toEqual(of((n) => n % 6 === 0));
    expect(await ids({ metadata: { deep: { n: 2 } } })).toEqual(of((n) => n % 5 === 2));
    expect(await ids({ metadata: { userId: "u" } })).toEqual([]);
    expect(await ids({ metadata: { toString: "u1" } })).toEqual([]);
    for (const limit of [1, 7, 31, 32]) {
      const found: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null;) {
        const page = await chats.listChats({ limit, cursor: cursor ?? null, metadata: { userId: "u2" } });
        expect(page.chats.length).toBeLessThanOrEqual(limit);
        found.push(...page.chats.map(({ id }) => id));
        cursor = page.cursor;
      }
      expect(found).toEqual(of((n) => n % 3 === 2));
    }
    const [first] = (await chats.listChats({ limit: 1 })).chats;
    expect(first).toEqual({
      id: "c4",
      activeStreamId: "s",
      metadata: { userId: "u1", n: 4, 'quo"te': true, deep: { n: 4 } },
      version: 1,
      updatedAt: expect.any(Number),
    });
    // A value that was lost must not find the chats of all users.
    const error = await wrongType(chats.listChats({ metadata: { userId: undefined } }));
    expect(error.message).toBe('option "metadata".userId is undefined: pass a value, or leave out the key');
  });

  test("the chat that was saved last comes first, although the clock steps back", async () => {
    const target = await shared(kind);
    const [chats, elsewhere] = [chatsAt(target), chatsAt(target)];
    const now = Date.now();
    const clock = vi.spyOn(Date, "now");
    onTestFinished(() => clock.mockRestore());
    const HOUR = 3_600_000;
    const saved: string[] = [];
    for (const [n, id, at] of [
      [0, "a", now],
      [1, "b", now - HOUR],
      [2, "c", now - 2 * HOUR],
      [3, "d", now - 2 * HOUR],
      [4, "b", now - 3 * HOUR],
      [5, "e", now - HOUR],
    ] as const) {
      clock.mockReturnValue(at);
      const store = n % 2 === 0 ? chats : elsewhere;
      await store.saveChat({ id, messages: [user(`${n}`)], metadata: { userId: "u" } });
      saved.splice(0, saved.length, id, ...saved.filter((other) => other !== id));
      expect((await chats.listChats({ limit: 1 })).chats[0]!.id).toBe(id);
    }
    for (const metadata of [undefined, { userId: "u" }]) {
      for (const limit of [1, 2, 9]) {
        const found: string[] = [];
        for (let cursor: string | null | undefined; cursor !== null;) {
          const page = await chats.listChats({ limit, cursor: cursor ?? null, ...(metadata && { metadata }) });
          found.push(...page.chats.map(({ id }) => id));
          cursor = page.cursor;
        }
        expect(found).toEqual(saved);
      }
    }
    // The time is shown as it was, and does not go back within a chat. Rules about age go by it.
    const times = (await chats.listChats()).chats.map(({ updatedAt }) => (updatedAt - now) / HOUR);
    expect(times).toEqual([-1, -1, -2, -2, 0]);
    clock.mockReturnValue(now);
    expect(await chats.prune({ olderThan: now - 1.5 * HOUR })).toEqual({ chats: 2 });
    expect((await chats.listChats()).chats.map(({ id }) => id)).toEqual(["e", "b", "a"]);
  });

  test("a large or encrypted metadata is found, too", async () => {
    const target = await shared(kind);
    const chats = chatsAt(target);
    await chats.saveChat({ id: "large", metadata: { userId: "u", text: "x".repeat(5_000) } });
    await chats.saveChat({ id: "small", metadata: { userId: "u" } });
    await chats.saveChat({ id: "other", metadata: { userId: "v", text: "x".repeat(5_000) } });
    const ids = (await chats.listChats({ metadata: { userId: "u" } })).chats.map(({ id }) => id);
    expect(ids).toEqual(["small", "large"]);
    const xor = (bytes: Uint8Array) => bytes.map((byte) => byte ^ 0x5a);
    const serializer = {
      name: "xor",
      serialize: (value: unknown) => xor(Buffer.from(JSON.stringify(value))),
      deserialize: (bytes: Uint8Array) => JSON.parse(Buffer.from(xor(bytes)).toString()) as unknown,
    };
    const secret = chatsAt(place(kind), { serializer });
    await secret.saveChat({ id: "a", metadata: { userId: "u" }, messages: [one] });
    await secret.saveChat({ id: "b", metadata: { userId: "v" }, messages: [two] });
    expect((await secret.listChats({ metadata: { userId: "u" } })).chats.map(({ id }) => id)).toEqual(["a"]);
    expect(await secret.loadChat("a")).toEqual([one]);
    const dated = { ...one, metadata: { at: new Date(3) } };
    expect(await secret.saveChat({ id: "a", messages: [dated] })).toEqual({ version: 2 });
    // The serializer has stored the text of the Date, so the same messages change nothing.
    expect(await secret.saveChat({ id: "a", messages: [dated] })).toEqual({ version: 2 });
  });

  test("the size of a chat is that of its messages", async () => {
    const store = await openStore(place(kind));
    onTestFinished(() => store.close());
    const chats = chatsAt(store);
    await chats.saveChat({
      id: "large",
      messages: [user("one"), ...Array.from({ length: 20 }, (_, n) => user(`${n} `.repeat(99)))],
    });
    // The earlier messages are still there.
    await chats.saveChat({ id: "large", messages: [user("another")] });
    await chats.saveChat({ id: "small", messages: [user("one")] });
    await expectSizes(store, { space: "ai" });
  });

  test("keepVersions keeps the newest versions", async () => {
    for (const [keepVersions, kept] of [
      [0, 1],
      [1, 1],
      [3, 3],
    ] as const) {
      const chats = chatsAt(place(kind), { keepVersions });
      const lists = Array.from({ length: 6 }, (_, n) => Array.from({ length: n + 1 }, (_, m) => user(`${m}`)));
      for (const messages of lists) await chats.saveChat({ id: "c", messages });
      await chats.saveChat({ id: "c", messages: [...lists[5]!.slice(0, 5), user("edited")] });
      const { versions } = await chats.versions("c");
      expect(versions.map(({ version }) => version)).toEqual([7, 6, 5].slice(0, kept));
      expect(texts(await chats.loadChat("c"))).toEqual(["0", "1", "2", "3", "4", "edited"]);
      await failure(chats.loadChat("c", { version: 4 }), "NOT_FOUND");
      expect(await chats.saveChat({ id: "c", messages: [one] })).toEqual({ version: 8 });
    }
  });

  test("old chats are removed as a whole, a busy one stays", async () => {
    const chats = chatsAt(place(kind));
    for (const id of ["a", "b", "c"]) await chats.saveChat({ id, messages: [one, two] });
    await new Promise((resolve) => setTimeout(resolve, 5));
    const olderThan = Date.now();
    await chats.saveChat({ id: "b", activeStreamId: "s" });
    expect(await chats.prune({ olderThan, dryRun: true })).toEqual({ chats: 2 });
    expect((await chats.listChats()).chats).toHaveLength(3);
    expect(await chats.prune({ olderThan })).toEqual({ chats: 2 });
    expect((await chats.listChats()).chats.map(({ id }) => id)).toEqual(["b"]);
    expect(await chats.loadChat("b")).toEqual([one, two]);
    expect(await chats.loadChat("a")).toEqual([]);
    expect(await chats.prune()).toEqual({ chats: 0 });
    await expect(chats.prune({ signal: AbortSignal.abort(), olderThan: Date.now() + 9 })).rejects.toThrow(/aborted/i);
    const brief = chatsAt(place(kind), { ttlMs: 1 });
    await brief.saveChat({ id: "old", messages: [one] });
    await new Promise((resolve) => setTimeout(resolve, 5));
    await brief.prune();
    expect(await brief.readChat("old")).toBeNull();
  });

  test("rules about age leave a chat that waits for an approval", async () => {
    const chats = chatsAt(place(kind));
    await chats.saveChat({ id: "waits", messages: [one, asking(1)] });
    await chats.saveChat({ id: "done", messages: [one, two] });
    await new Promise((resolve) => setTimeout(resolve, 5));
    const olderThan = Date.now();
    for (const dryRun of [true, false]) expect(await chats.prune({ olderThan, dryRun })).toEqual({ chats: 1 });
    expect(await chats.readChat("waits")).not.toBeNull();
    // After the answer it goes like any other.
    await chats.saveChat({ id: "waits", messages: [one, two] });
    await chats.saveChat({ id: "waits again", messages: [one, asking(1)] });
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await chats.prune({ olderThan: Date.now() })).toEqual({ chats: 1 });
    expect(await chats.prune({ olderThan, waiting: true })).toEqual({ chats: 0 });
    expect(await chats.prune({ olderThan: Date.now(), waiting: true })).toEqual({ chats: 1 });
    const limited = chatsAt(place(kind), { ttlMs: 1, waitingTtlMs: 100_000 });
    await limited.saveChat({ id: "waits", messages: [one, asking(1)] });
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(await limited.prune()).toEqual({ chats: 0 });
    const brief = chatsAt(place(kind), { ttlMs: 1, waitingTtlMs: 1 });
    await brief.saveChat({ id: "waits", messages: [one, asking(1)] });
    await new Promise((resolve) => setTimeout(resolve, 5));
    await brief.prune();
    expect(await brief.readChat("waits")).toBeNull();
    expect(() => chatsAt(place(kind), { waitingTtlMs: 1 })).toThrow('option "waitingTtlMs" needs "ttlMs"');
    const opened = await openStore(place(kind));
    onTestFinished(() => opened.close());
    expect(() => new ForkpointChats(opened, { waitingTtlMs: 1 })).toThrow("belongs to openStore()");
  });

  test("wrong arguments are refused before anything is written", async () => {
    const chats = chatsAt(place(kind));
    const wrong: Array<[() => Promise<unknown>, RegExp]> = [
      [() => chats.saveChat({ messages: [] }), /^chatId is missing/],
      [() => chats.saveChat({ id: "a", chatId: "b" }), /^chatId is "b", but id is "a"/],
      [() => chats.saveChat({ id: "", messages: [] }), /is empty/],
      [() => chats.saveChat({ id: "a\0", messages: [] }), /NUL character/],
      [() => chats.saveChat({ id: 1 as never, messages: [] }), /must be a string/],
      [() => chats.saveChat(null as never), /must be an object/],
      [() => chats.saveChat({ id: "a", message: [] } as never), /Unknown option "message". Did you mean "messages"/],
      [() => chats.saveChat({ id: "a", messages: {} as never }), /^messages must be an array/],
      [() => chats.saveChat({ id: "a", messages: [one, null as never] }), /^messages\[1\] must be an object/],
      [() => chats.saveChat({ id: "a", messages: [one, , two] as never }), /^messages\[1\] must be an object/], // eslint-disable-line
      [() => chats.saveChat({ id: "a", messages: [[]] as never }), /^messages\[0\] must be an object/],
      [() => chats.saveChat({ id: "a", metadata: [] as never }), /must be an object or null/],
      [() => chats.saveChat({ id: "a", activeStreamId: 3 as never }), /must be a string/],
      [() => chats.saveChat({ id: "a", expectedVersion: -1 }), /whole number of versions/],
      [() => chats.loadChat("a", { version: 0 }), /whole number of versions/],
      [() => chats.loadChat(undefined as never), /must be a string/],
      [() => chats.listChats({ limit: 0 }), /whole number of entries/],
      [() => chats.listChats({ limit: 1.5 }), /whole number of entries/],
      [() => chats.listChats({ cursor: "1" }), /must be the cursor of an earlier page/],
      [() => chats.versions("a", { cursor: "x" }), /must be the cursor of an earlier page/],
      [() => chats.fork("a", { id: "" }), /is empty/],
      [() => chats.takeApprovals("a", "x" as never), /^messages must be an array/],
      [() => chats.resumeExistingStream("s", -1), /whole number of characters/],
      [() => chats.createNewResumableStream("s", "x" as never), /makeStream must be a function/],
    ];
    for (const [call, message] of wrong) {
      const error = await rejection(call());
      expect(error instanceof TypeError || error instanceof RangeError, String(error)).toBe(true);
      expect(error.message).toMatch(message);
    }
    const cannot = { ...one, metadata: Promise.resolve() } as never;
    expect((await failure(chats.saveChat({ id: "a", messages: [two, cannot] }), "INVALID_ARGUMENT")).message).toContain(
      "messages[1].metadata",
    );
    await failure(chats.saveChat({ id: "\ud800", messages: [] }), "INVALID_ARGUMENT");
    expect((await chats.listChats()).chats).toEqual([]);
    await chats.close();
    await failure(chats.loadChat("a"), "CLOSED");
    await failure(chats.saveChat({ id: "a", messages: [] }), "CLOSED");
  });

  test("a lease fences the writes of a chat", async () => {
    const chats = chatsAt(await shared(kind));
    const lease = await chats.lease({ space: "ai", run: "c" });
    const mine = chats.withLease(lease);
    expect(await mine.saveChat({ id: "c", messages: [one] })).toEqual({ version: 1 });
    await failure(chats.lease({ space: "ai", run: "c" }), "CONFLICT");
    await lease.release();
    await failure(mine.saveChat({ id: "c", messages: [two] }), "CONFLICT");
    expect(await chats.loadChat("c")).toEqual([one]);
  });

  test("the inspector shows chats with their versions, and removes them", async () => {
    const store = await openStore(place(kind));
    const chats = new ForkpointChats(store);
    await chats.saveChat({ id: "c", messages: [one, two], metadata: { userId: "u" } });
    await chats.saveChat({ id: "c", messages: [one, { ...two, parts: [] }] });
    await chats.saveChat({ id: "d", messages: [three] });
    await chats.createNewResumableStream("s", () => ReadableStream.from(["a", "b"]));
    while ((await chats.hasExistingStream("s")) !== "DONE") await new Promise((resolve) => setTimeout(resolve, 5));
    const inspector = await openInspector(store, { write: true });
    const runs = await inspector.runs();
    expect(runs.items.map(({ space, run }) => [space, run])).toEqual([
      ["ai-streams", "s"],
      ["ai", "d"],
      ["ai", "c"],
    ]);
    const versions = await inspector.checkpoints({ space: "ai", run: "c" });
    expect(versions.items.map(({ id, parent }) => [id, parent?.id])).toEqual([
      ["1", undefined],
      ["2", "1"],
    ]);
    const shown = async (space: string, run: string, id: string) =>
      fromJsonForm((await inspector.checkpoint({ space, run, id } as CheckpointRef))!.state);
    expect(await shown("ai", "c", "1")).toEqual({ messages: [one, two] });
    expect(await shown("ai", "c", "2")).toEqual({ messages: [one, { ...two, parts: [] }] });
    expect(await shown("ai-streams", "s", "s")).toEqual({ text: "ab" });
    expect((await inspector.info()).spaces.map(({ space, runs: count }) => [space, count])).toEqual([
      ["ai", 2],
      ["ai-streams", 1],
    ]);
    // A version that somebody has removed: the next save begins with what is left.
    await inspector.remove({ space: "ai", run: "c" }, ["2"]);
    expect(await chats.loadChat("c")).toEqual([one, two]);
    expect(await chats.loadChat(await chats.fork("c"))).toEqual([one, two]);
    expect(await chats.saveChat({ id: "c", messages: [one, two, three] })).toEqual({ version: 3 });
    expect(await chats.loadChat("c")).toEqual([one, two, three]);
    await inspector.remove({ space: "ai", run: "c" });
    expect(await chats.readChat("c")).toBeNull();
    await chats.createChat({ id: "c" });
    await inspector.remove({ space: "ai-streams", run: "s" });
    expect(await chats.hasExistingStream("s")).toBeNull();
    await inspector.close();
    await store.close();
  });
});

test.each(kinds)("a copy of %s has everything, and goes on", async (kind) => {
  const [from, to, single] = [place(kind), place(kind), place(kind)];
  const source = await openStore(from);
  const chats = new ForkpointChats(source);
  await chats.saveChat({ id: "c", messages: [one, two], metadata: { userId: "u" }, activeStreamId: "s" });
  await chats.saveChat({ id: "c", messages: [one, asking(1)] });
  await chats.saveChat({ id: "other", messages: [three] });
  await chats.createChat({ id: "bare" });
  const answered = [one, asking(1, true)];
  await chats.takeApprovals("c", answered);
  const expected = await chats.readChat("c");
  for (const [target, runs] of [
    [to, undefined],
    [single, [{ space: "ai" as const, run: "c" }]],
  ] as const) {
    const copy = await openStore(target);
    await copyStore(source, copy, runs && { runs: [...runs] });
    const copied = new ForkpointChats(copy);
    expect(await copied.readChat("c")).toEqual(expected);
    expect(await copied.loadChat("c", { version: 1 })).toEqual([one, two]);
    await failure(copied.takeApprovals("c", answered), "CONFLICT");
    expect(await copied.saveChat({ id: "c", messages: [one, two, three] })).toEqual({ version: 3 });
    expect(await copied.loadChat("c", { version: 2 })).toEqual([one, asking(1)]);
    const ids = (await copied.listChats()).chats.map(({ id }) => id);
    expect(ids).toEqual(runs === undefined ? ["c", "bare", "other"] : ["c"]);
    expect((await copy.check()).findings).toEqual([]);
    await copy.close();
  }
  await source.close();
});
