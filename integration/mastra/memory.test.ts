// Tests the domain `memory` against Mastra's own storages and against this package. The places where ours differs are tested below.
// @module-tag threads
import type { MastraDBMessage } from "@mastra/core/agent";
import { InMemoryStore, type MemoryStorage } from "@mastra/core/storage";
import { copyStore, openStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { describe, expect, it, onTestFinished } from "vitest";
import { kinds, place, rejection, sharedKinds, wrongType } from "../../__test__/helpers.js";
import { type Side, failure, libsql, sides, storeAt } from "./helpers.js";

async function make(side: Side): Promise<MemoryStorage> {
  if (side === "InMemoryStore") return new InMemoryStore().stores.memory!;
  const store = side === "LibSQLStore" ? await libsql() : storeAt(place(side));
  return (await store.getStore("memory"))!;
}

function message(id: string, at: number, fields: Partial<MastraDBMessage> & Record<string, unknown> = {}) {
  return {
    id,
    threadId: "t",
    resourceId: "u",
    role: "user" as const,
    type: "text",
    createdAt: new Date(at),
    content: { format: 2 as const, parts: [{ type: "text" as const, text: `text of ${id}` }] },
    ...fields,
  };
}

function thread(id: string, at = 1_000, fields: Record<string, unknown> = {}) {
  const [createdAt, updatedAt] = [new Date(at), new Date(at)];
  return { id, resourceId: "u", title: `title of ${id}`, metadata: { n: at }, createdAt, updatedAt, ...fields };
}

/** A part of the content of a message. The types of Mastra want all of it. */
const partly = (content: object) => content as MastraDBMessage["content"];

const idsOf = ({ messages }: { messages: Array<{ id: string }> }) => messages.map(({ id }) => id);
const threadIds = ({ threads }: { threads: Array<{ id: string }> }) => threads.map(({ id }) => id);

/** Ten messages, m0 to m9, one each second. */
async function filled(memory: MemoryStorage) {
  await memory.saveMessages({ messages: Array.from({ length: 10 }, (_, n) => message(`m${n}`, 1_000 * (n + 1))) });
  return memory;
}

const desc = { field: "createdAt" as const, direction: "DESC" as const };

describe.each(sides)("the memory of Mastra: %s", (side) => {
  it("keeps threads", async () => {
    const memory = await make(side);
    expect(await memory.getThreadById({ threadId: "t" })).toBeNull();
    expect(await memory.saveThread({ thread: thread("t") })).toEqual(thread("t"));
    expect(await memory.getThreadById({ threadId: "t" })).toEqual(thread("t"));
    expect(await memory.getThreadById({ threadId: "t", resourceId: "u" })).toEqual(thread("t"));
    expect(await memory.getThreadById({ threadId: "t", resourceId: "other" })).toBeNull();
    await memory.saveThread({ thread: thread("t", 2_000, { title: "new", metadata: { other: 1 } }) });
    expect(await memory.getThreadById({ threadId: "t" })).toMatchObject({ title: "new", metadata: { other: 1 } });
    await memory.deleteThread({ threadId: "t" });
    await memory.deleteThread({ threadId: "unknown" });
    expect(await memory.getThreadById({ threadId: "t" })).toBeNull();
  });

  it("leaves a thread that somebody has leased", async () => {
    const store = await openStore(place("memory"));
    onTestFinished(() => store.close());
    const { memory } = storeAt(store).stores;
    await memory.saveThread({ thread: thread("t") });
    const lease = await store.lease({ space: "mastra-threads", run: "t" });
    await expect(memory.deleteThread({ threadId: "t" })).rejects.toMatchObject({
      code: "CONFLICT",
      lease: { holder: lease.holder },
    });
    expect(await memory.getThreadById({ threadId: "t" })).toEqual(thread("t"));
    await lease.release();
    await memory.deleteThread({ threadId: "t" });
    expect(await memory.getThreadById({ threadId: "t" })).toBeNull();
  });

  it("changes a part of a thread", async () => {
    const memory = await make(side);
    await memory.saveThread({ thread: thread("t") });
    const changed = await memory.updateThread({ id: "t", metadata: { more: 1 } });
    expect(changed).toMatchObject({ title: "title of t", metadata: { n: 1_000, more: 1 } });
    expect(changed.updatedAt.getTime()).toBeGreaterThan(1_000);
    expect(await memory.updateThread({ id: "t", title: "new" })).toMatchObject({ title: "new", metadata: { more: 1 } });
    const found = (await memory.getThreadById({ threadId: "t" }))!;
    expect(found).toMatchObject({ title: "new", metadata: { n: 1_000, more: 1 }, createdAt: new Date(1_000) });
    await rejection(memory.updateThread({ id: "unknown", title: "x" }));
    const update = ({ metadata }: { metadata?: Record<string, unknown> }) => ({
      count: Number(metadata?.["count"] ?? 0) + 1,
    });
    for (let n = 0; n < 3; n++) await memory.updateThreadMetadata({ id: "t", resourceId: "u", update });
    expect((await memory.getThreadById({ threadId: "t" }))!.metadata).toMatchObject({ count: 3, more: 1 });
    expect(await memory.updateThreadMetadata({ id: "t", resourceId: "other", update })).toBeNull();
    expect(await memory.updateThreadMetadata({ id: "t", update: () => undefined })).toMatchObject({ title: "new" });
  });

  it("lists threads: filtered, in pages, in both orders", async () => {
    const memory = await make(side);
    for (let n = 0; n < 6; n++) {
      const resourceId = n % 2 === 0 ? "even" : "odd";
      const metadata = { n, kind: n < 3 ? "low" : "high" };
      await memory.saveThread({ thread: thread(`t${n}`, 1_000 * (n + 1), { resourceId, metadata }) });
    }
    await memory.updateThread({ id: "t1", title: "changed" });
    expect(threadIds(await memory.listThreads({}))).toEqual(["t5", "t4", "t3", "t2", "t1", "t0"]);
    expect(await memory.listThreads({ perPage: 4, page: 1 })).toMatchObject({
      threads: [{ id: "t1" }, { id: "t0" }],
      total: 6,
      page: 1,
      perPage: 4,
      hasMore: false,
    });
    expect(await memory.listThreads({ perPage: 2 })).toMatchObject({ total: 6, perPage: 2, hasMore: true });
    expect(threadIds(await memory.listThreads({ filter: { resourceId: "even" } }))).toEqual(["t4", "t2", "t0"]);
    expect(threadIds(await memory.listThreads({ filter: { resourceId: "unknown" } }))).toEqual([]);
    const ascending = { field: "createdAt" as const, direction: "ASC" as const };
    expect(threadIds(await memory.listThreads({ orderBy: ascending, perPage: 2, page: 1 }))).toEqual(["t2", "t3"]);
    const updated = { field: "updatedAt" as const, direction: "DESC" as const };
    expect(threadIds(await memory.listThreads({ orderBy: updated, perPage: 2 }))).toEqual(["t1", "t5"]);
    const low = { metadata: { kind: "low" } };
    expect(threadIds(await memory.listThreads({ filter: low }))).toEqual(["t2", "t1", "t0"]);
    expect(await memory.listThreads({ filter: { ...low, resourceId: "odd" } })).toMatchObject({ total: 1 });
    expect(threadIds(await memory.listThreads({ filter: { metadata: { kind: "low", n: 2 } } }))).toEqual(["t2"]);
    expect(threadIds(await memory.listThreads({ filter: { metadata: { kind: null } } }))).toEqual([]);
    expect(await memory.listThreads({ perPage: false })).toMatchObject({ total: 6, perPage: false, hasMore: false });
    expect(await memory.listThreads({ perPage: 0 })).toMatchObject({ threads: [], perPage: 0 });
    await rejection(memory.listThreads({ filter: { metadata: { "a-b": 1 } } }));
    await rejection(memory.listThreads({ page: -1 }));
  });

  it("keeps the messages of a thread, also before the thread is there", async () => {
    const memory = await make(side);
    expect(await memory.listMessages({ threadId: "t" })).toEqual({
      messages: [],
      total: 0,
      page: 0,
      perPage: 40,
      hasMore: false,
    });
    const saved = await memory.saveMessages({ messages: [message("b", 5), message("a", 3)] });
    expect(idsOf(saved)).toEqual(["a", "b"]);
    const { messages } = await memory.listMessages({ threadId: "t" });
    expect(messages).toEqual([message("a", 3), message("b", 5)]);
    expect(await memory.saveMessages({ messages: [] })).toEqual({ messages: [] });
  });

  it("orders messages of the same time as they were saved first", async () => {
    const memory = await make(side);
    await memory.saveMessages({ messages: [message("b", 5), message("a", 5)] });
    await memory.saveMessages({ messages: [message("c", 5), message("first", 1)] });
    expect(idsOf(await memory.listMessages({ threadId: "t" }))).toEqual(["first", "b", "a", "c"]);
    await memory.saveMessages({ messages: [message("b", 5, { content: { format: 2, parts: [] } })] });
    const { messages } = await memory.listMessages({ threadId: "t" });
    expect(messages.map(({ id }) => id)).toEqual(["first", "b", "a", "c"]);
    expect(messages[1]!.content).toEqual({ format: 2, parts: [] });
  });

  it("moves a message that is saved in another thread", async () => {
    const memory = await make(side);
    await memory.saveMessages({ messages: [message("a", 1), message("b", 2)] });
    await memory.saveMessages({ messages: [message("a", 1, { threadId: "other" })] });
    expect(idsOf(await memory.listMessages({ threadId: "t" }))).toEqual(["b"]);
    expect(idsOf(await memory.listMessages({ threadId: "other" }))).toEqual(["a"]);
  });

  it("moves the time of the thread's last change", async () => {
    const memory = await make(side);
    const changedAt = async (threadId: string) => (await memory.getThreadById({ threadId }))!.updatedAt.getTime();
    await memory.saveThread({ thread: thread("t") });
    await memory.saveThread({ thread: thread("other") });
    await memory.saveMessages({ messages: [message("a", 1), message("b", 2)] });
    expect(await changedAt("t")).toBeGreaterThan(1_000);
    expect(await changedAt("other")).toBe(1_000);
    await memory.updateMessages({ messages: [{ id: "a", threadId: "other" }] });
    expect(await changedAt("other")).toBeGreaterThan(1_000);
    await memory.saveThread({ thread: thread("t") });
    await memory.deleteMessages(["b"]);
    expect(await changedAt("t")).toBeGreaterThan(1_000);
    expect((await memory.getThreadById({ threadId: "t" }))!.createdAt).toEqual(new Date(1_000));
  });

  it("lists messages in pages, in both orders", async () => {
    const memory = await filled(await make(side));
    const list = (args: object) => memory.listMessages({ threadId: "t", resourceId: "u", ...args });
    expect(await list({ perPage: 3 })).toMatchObject({ total: 10, page: 0, perPage: 3, hasMore: true });
    expect(idsOf(await list({ perPage: 3 }))).toEqual(["m0", "m1", "m2"]);
    expect(idsOf(await list({ perPage: 3, page: 2 }))).toEqual(["m6", "m7", "m8"]);
    expect(await list({ perPage: 3, page: 3 })).toMatchObject({ messages: [{ id: "m9" }], hasMore: false });
    expect(idsOf(await list({ perPage: 3, page: 9 }))).toEqual([]);
    expect(idsOf(await list({ perPage: 3, orderBy: desc }))).toEqual(["m9", "m8", "m7"]);
    expect(idsOf(await list({ perPage: 3, page: 3, orderBy: desc }))).toEqual(["m0"]);
    expect(idsOf(await list({ perPage: false }))).toHaveLength(10);
    expect(idsOf(await list({ perPage: false, orderBy: desc }))[0]).toBe("m9");
    expect(await list({ perPage: 0 })).toMatchObject({ messages: [], total: 0, perPage: 0, hasMore: false });
    expect(await list({ perPage: 2, orderBy: desc, includeTotal: false })).toMatchObject({
      messages: [{ id: "m9" }, { id: "m8" }],
      hasMore: true,
    });
    expect(await list({ resourceId: "wrong" })).toMatchObject({ messages: [], total: 0 });
    expect(await memory.listMessages({ threadId: "wrong" })).toMatchObject({ messages: [], total: 0 });
    await rejection(list({ page: -1 }));
    await rejection(memory.listMessages({ threadId: " " }));
    await rejection(memory.listMessages({ threadId: [] }));
  });

  it("lists messages by their time and their metadata", async () => {
    const memory = await filled(await make(side));
    const list = (filter: object, args: object = {}) => memory.listMessages({ threadId: "t", filter, ...args });
    const range = (start: number | undefined, end?: number, more: object = {}) => ({
      dateRange: { ...(start && { start: new Date(start) }), ...(end && { end: new Date(end) }), ...more },
    });
    expect(idsOf(await list(range(3_000, 5_000)))).toEqual(["m2", "m3", "m4"]);
    expect(idsOf(await list(range(3_000, 5_000, { startExclusive: true, endExclusive: true })))).toEqual(["m3"]);
    expect(idsOf(await list(range(9_000)))).toEqual(["m8", "m9"]);
    const older = { perPage: 3, orderBy: desc, includeTotal: false };
    expect(idsOf(await list(range(undefined, 5_000), older))).toEqual(["m4", "m3", "m2"]);
    expect(idsOf(await list(range(4_000, 5_000), older))).toEqual(["m4", "m3"]);
    expect(idsOf(await list(range(undefined, 1_000)))).toEqual(["m0"]);
    expect(await list(range(3_000), { perPage: 2, page: 1, orderBy: desc })).toMatchObject({
      messages: [{ id: "m7" }, { id: "m6" }],
      total: 8,
      hasMore: true,
    });
    const marked = (metadata: Record<string, unknown>) => ({ content: { format: 2 as const, parts: [], metadata } });
    await memory.saveMessages({
      messages: [
        message("x", 20_000, marked({ kind: "a", n: 1 })),
        message("y", 30_000, marked({ kind: "a", n: "1" })),
        message("z", 40_000, marked({ kind: "b", deep: { kind: "a" } })),
      ],
    });
    expect(idsOf(await list({ metadata: { kind: "a" } }))).toEqual(["x", "y"]);
    expect(idsOf(await list({ metadata: { kind: "a", n: 1 } }))).toEqual(["x"]);
    expect(await list({ metadata: { kind: "a" } }, { perPage: 1 })).toMatchObject({ total: 2, hasMore: true });
    expect(idsOf(await list({ metadata: {} }))).toHaveLength(13);
    await rejection(list({ metadata: { "a-b": 1 } }));
    await rejection(list({ metadata: { kind: {} } }));
  });

  it("lists messages of several threads, and of a resource", async () => {
    const memory = await filled(await make(side));
    await memory.saveMessages({
      messages: [
        message("o1", 2_500, { threadId: "other" }),
        message("o2", 20_000, { threadId: "other" }),
        message("v", 3_500, { threadId: "third", resourceId: "v" }),
      ],
    });
    const both = { threadId: ["t", "other"] };
    expect(idsOf(await memory.listMessages({ ...both, perPage: 4 }))).toEqual(["m0", "m1", "o1", "m2"]);
    expect(await memory.listMessages({ ...both, perPage: 1, orderBy: desc })).toMatchObject({
      messages: [{ id: "o2", threadId: "other" }],
      total: 12,
    });
    expect(await memory.listMessagesByResourceId({ resourceId: "v" })).toMatchObject({
      messages: [message("v", 3_500, { threadId: "third", resourceId: "v" })],
      total: 1,
      page: 0,
      perPage: 40,
      hasMore: false,
    });
    expect(idsOf(await memory.listMessagesByResourceId({ resourceId: "u", perPage: 5, page: 1 }))).toEqual([
      "m4",
      "m5",
      "m6",
      "m7",
      "m8",
    ]);
    expect(idsOf(await memory.listMessagesByResourceId({ resourceId: "unknown" }))).toEqual([]);
  });

  it("adds the neighbours of messages", async () => {
    const memory = await filled(await make(side));
    await memory.saveMessages({
      messages: [message("v", 5_500, { resourceId: "v" }), message("o", 1, { threadId: "other" })],
    });
    const list = (include: object[], args: object = {}) =>
      memory.listMessages({ threadId: "t", perPage: 1, include, ...args } as never);
    const one = [{ id: "m5", withPreviousMessages: 1, withNextMessages: 2 }];
    expect(idsOf(await list(one, { perPage: 0 }))).toEqual(["v", "m5", "m6", "m7"]);
    expect(idsOf(await list(one, { perPage: 0, resourceId: "u" }))).toEqual(["m4", "m5", "m6", "m7"]);
    const found = await list([
      { id: "m9", withNextMessages: 3 },
      { id: "m0", withPreviousMessages: 2 },
    ]);
    expect(idsOf(found)).toEqual(["m0", "m9"]);
    expect(found.total).toBe(11);
    const few = await list([{ id: "m5" }], { includeTotal: false });
    if (side !== "InMemoryStore") expect([few.messages.length, few.hasMore]).toEqual([2, true]);
    expect(idsOf(await list([{ id: "o" }, { id: "unknown" }], { perPage: 0 }))).toEqual(["o"]);
    expect(idsOf(await list([{ id: "m3" }, { id: "m2", withNextMessages: 1 }], { perPage: 0, orderBy: desc }))).toEqual(
      ["m3", "m2"],
    );
  });

  it("finds messages by their ids", async () => {
    const memory = await filled(await make(side));
    const { messages } = await memory.listMessagesById({ messageIds: ["m7", "unknown", "m1"] });
    expect(messages).toMatchObject([message("m1", 2_000), message("m7", 8_000)]);
    expect(await memory.listMessagesById({ messageIds: [] })).toEqual({ messages: [] });
  });

  it("changes parts of messages", async () => {
    const memory = await make(side);
    const content = { format: 2 as const, parts: [{ type: "text" as const, text: "old" }], metadata: { a: 1, b: 1 } };
    await memory.saveMessages({ messages: [message("x", 1, { content }), message("y", 2)] });
    const updated = await memory.updateMessages({
      messages: [
        { id: "x", content: partly({ metadata: { b: 2, c: 3 }, content: "new" }) },
        { id: "unknown", role: "user" },
      ],
    });
    expect(updated).toMatchObject([{ id: "x", content: { content: "new", metadata: { a: 1, b: 2, c: 3 } } }]);
    await memory.updateMessages({ messages: [{ id: "y", role: "assistant" }] });
    const { messages } = await memory.listMessages({ threadId: "t" });
    expect(messages).toMatchObject([
      { id: "x", content: { ...content, content: "new", metadata: { a: 1, b: 2, c: 3 } }, createdAt: new Date(1) },
      { id: "y", role: "assistant", content: message("y", 2).content },
    ]);
    expect(await memory.updateMessages({ messages: [] })).toEqual([]);
  });

  it("deletes messages, threads and everything", async () => {
    const memory = await filled(await make(side));
    await memory.saveThread({ thread: thread("t") });
    await memory.saveMessages({ messages: [message("o", 1, { threadId: "other" })] });
    await memory.deleteMessages(["m3", "m4", "unknown"]);
    expect(idsOf(await memory.listMessages({ threadId: "t", perPage: 4 }))).toEqual(["m0", "m1", "m2", "m5"]);
    await memory.deleteMessages([]);
    await memory.deleteThread({ threadId: "t" });
    expect(await memory.listMessages({ threadId: "t" })).toMatchObject({ total: 0 });
    expect(idsOf(await memory.listMessages({ threadId: "other" }))).toEqual(["o"]);
    await memory.saveThread({ thread: thread("t") });
    await memory.saveResource({
      resource: { id: "u", workingMemory: "x", createdAt: new Date(), updatedAt: new Date() },
    });
    await memory.dangerouslyClearAll();
    expect(await memory.listThreads({})).toMatchObject({ total: 0 });
    expect(await memory.getResourceById({ resourceId: "u" })).toBeNull();
    expect(await memory.listMessages({ threadId: "other" })).toMatchObject({ total: 0 });
  });

  it("copies a thread with its messages", async () => {
    const memory = await filled(await make(side));
    await memory.saveThread({ thread: thread("t") });
    const {
      thread: copy,
      messageIdMap,
      clonedMessages,
    } = await memory.cloneThread({ sourceThreadId: "t", newThreadId: "copy", options: { messageLimit: 3 } });
    expect(copy).toMatchObject({ id: "copy", resourceId: "u", title: "Clone of title of t" });
    expect(copy.metadata).toMatchObject({ clone: { sourceThreadId: "t", lastMessageId: "m9" } });
    expect(Object.keys(messageIdMap ?? {}).toSorted()).toEqual(["m7", "m8", "m9"]);
    expect(clonedMessages.map(({ id }) => id)).toEqual(["m7", "m8", "m9"].map((id) => messageIdMap![id]));
    expect(clonedMessages[0]).toMatchObject({
      threadId: "copy",
      content: message("m7", 1).content,
      createdAt: new Date(8_000),
    });
    expect((await memory.getThreadById({ threadId: "copy" }))!.id).toBe("copy");
    const other = await memory.copyThread({
      sourceThreadId: "t",
      resourceId: "v",
      title: "mine",
      metadata: { more: 1 },
      options: {
        messageFilter: { startDate: new Date(2_000), endDate: new Date(4_000), messageIds: ["m0", "m1", "m3", "m9"] },
      },
    });
    expect(other.thread).toMatchObject({ resourceId: "v", title: "mine", metadata: { more: 1 } });
    expect(Object.keys(other.messageIdMap ?? {}).toSorted()).toEqual(["m1", "m3"]);
    const copied = await memory.listMessages({ threadId: other.thread.id, resourceId: "v" });
    expect(copied).toMatchObject({ total: 2 });
    await rejection(memory.copyThread({ sourceThreadId: "unknown" }));
    await rejection(memory.copyThread({ sourceThreadId: "t", newThreadId: "copy" }));
    expect(idsOf(await memory.listMessages({ threadId: "t" }))).toHaveLength(10);
  });

  it("gives a thread to another resource", async () => {
    const memory = await filled(await make(side));
    await memory.saveThread({ thread: thread("t") });
    const moved = await memory.updateThreadResourceId({ threadId: "t", resourceId: "v" });
    expect(moved).toMatchObject({ resourceId: "v", createdAt: new Date(1_000) });
    expect(await memory.listMessages({ threadId: "t", resourceId: "v" })).toMatchObject({ total: 10 });
    expect(await memory.listMessages({ threadId: "t", resourceId: "u" })).toMatchObject({ total: 0 });
    expect(threadIds(await memory.listThreads({ filter: { resourceId: "v" } }))).toEqual(["t"]);
    expect(await memory.updateThreadResourceId({ threadId: "t", resourceId: "v" })).toMatchObject({ resourceId: "v" });
    await rejection(memory.updateThreadResourceId({ threadId: "unknown", resourceId: "v" }));
  });

  it("keeps resources", async () => {
    const memory = await make(side);
    expect(await memory.getResourceById({ resourceId: "u" })).toBeNull();
    const [createdAt, updatedAt] = [new Date(1_000), new Date(2_000)];
    const resource = { id: "u", workingMemory: "old", metadata: { a: 1 }, createdAt, updatedAt };
    await memory.saveResource({ resource });
    expect(await memory.getResourceById({ resourceId: "u" })).toEqual(resource);
    const updated = await memory.updateResource({ resourceId: "u", workingMemory: "new" });
    expect(updated).toMatchObject({ workingMemory: "new", metadata: { a: 1 }, createdAt });
    await memory.updateResource({ resourceId: "u", metadata: { b: 2 } });
    expect(await memory.getResourceById({ resourceId: "u" })).toMatchObject({
      workingMemory: "new",
      metadata: { a: 1, b: 2 },
    });
    expect(await memory.updateResource({ resourceId: "new", workingMemory: "x" })).toMatchObject({
      id: "new",
      workingMemory: "x",
    });
    expect(await memory.getResourceById({ resourceId: "new" })).toMatchObject({ workingMemory: "x" });
  });
});

describe.each(kinds)("the memory over %s", (kind) => {
  const make = (): MemoryStorage => storeAt(place(kind)).stores.memory;

  it("keeps values that JSON loses, and copies what it is given", async () => {
    const memory = make();
    const odd = {
      at: new Date(1_700_000_000_123),
      map: new Map([["k", new Set([1])]]),
      nan: Number.NaN,
      big: 10n,
      ...(JSON.parse('{"__proto__":{"polluted":true}}') as object),
    };
    const given = message("a", 1, { content: { format: 2, parts: [], metadata: { odd, text: "before" } } });
    const saving = memory.saveMessages({ messages: [given] });
    (given.content as unknown as { metadata: { text: string } }).metadata.text = "after";
    await saving;
    const [found] = (await memory.listMessages({ threadId: "t" })).messages;
    expect(found!.content.metadata).toStrictEqual({ odd, text: "before" });
    found!.content.metadata!["text"] = "changed";
    expect((await memory.listMessages({ threadId: "t" })).messages[0]!.content.metadata!["text"]).toBe("before");
    await memory.updateMessages({ messages: [{ id: "a", content: partly({ metadata: { more: odd } }) }] });
    expect((await memory.listMessages({ threadId: "t" })).messages[0]!.content.metadata).toStrictEqual({
      odd,
      text: "before",
      more: odd,
    });
    await memory.saveThread({ thread: thread("t", 1, { metadata: { odd }, extra: "field" }) });
    await memory.updateThread({ id: "t", metadata: { more: odd } });
    expect(await memory.getThreadById({ threadId: "t" })).toMatchObject({
      metadata: { odd, more: odd },
      extra: "field",
    });
    await memory.saveThread({
      thread: { id: "bare", resourceId: "u", createdAt: new Date(1), updatedAt: new Date(1) },
    });
    expect(await memory.getThreadById({ threadId: "bare" })).toStrictEqual({
      id: "bare",
      resourceId: "u",
      createdAt: new Date(1),
      updatedAt: new Date(1),
    });
  });

  it("keeps rows apart, whatever their ids", async () => {
    const memory = make();
    const names = ["a", "1:a", "a\u0000b", "a\u0000", "é", "e\u0301", "__proto__", "x".repeat(1_000), "%", "_"];
    for (const [n, id] of names.entries()) {
      await memory.saveThread({ thread: thread(id, n + 1, { resourceId: id }) });
      await memory.saveMessages({ messages: [message(id, n + 1, { threadId: id, resourceId: id })] });
      await memory.updateResource({ resourceId: id, workingMemory: id });
    }
    for (const [n, id] of names.entries()) {
      expect(await memory.getThreadById({ threadId: id })).toMatchObject({ title: `title of ${id}` });
      const list = await memory.listMessages({ threadId: id, resourceId: id });
      expect(list.messages).toEqual([message(id, n + 1, { threadId: id, resourceId: id })]);
      expect(await memory.getResourceById({ resourceId: id })).toMatchObject({ workingMemory: id });
      expect(threadIds(await memory.listThreads({ filter: { resourceId: id } }))).toEqual([id]);
    }
    await memory.deleteThread({ threadId: "a" });
    expect((await memory.listThreads({})).total).toBe(names.length - 1);
  });

  it("takes changes of several stores: none is lost", async () => {
    const store = await openStore(place(kind));
    onTestFinished(() => store.close());
    const both = [storeAt(store).stores.memory, storeAt(store).stores.memory];
    await both[0]!.saveThread({ thread: thread("t") });
    await both[0]!.saveMessages({ messages: [message("a", 1)] });
    const all = Array.from({ length: 10 }, (_, n) => n);
    await Promise.all(all.map((n) => both[n % 2]!.updateThread({ id: "t", metadata: { [`k${n}`]: n } })));
    expect(Object.keys((await both[1]!.getThreadById({ threadId: "t" }))!.metadata!)).toHaveLength(11);
    const counting = ({ metadata }: { metadata?: Record<string, unknown> }) => ({ n: Number(metadata!["n"]) + 1 });
    await Promise.all(all.map((n) => both[n % 2]!.updateThreadMetadata({ id: "t", update: counting })));
    expect((await both[1]!.getThreadById({ threadId: "t" }))!.metadata).toMatchObject({ n: 1_010 });
    await Promise.all(
      all.map((n) =>
        both[n % 2]!.updateMessages({ messages: [{ id: "a", content: partly({ metadata: { [`k${n}`]: n } }) }] }),
      ),
    );
    const [found] = (await both[1]!.listMessages({ threadId: "t" })).messages;
    expect(Object.keys(found!.content.metadata!)).toHaveLength(10);
    await Promise.all(all.map((n) => both[n % 2]!.updateResource({ resourceId: "u", metadata: { [`k${n}`]: n } })));
    expect(Object.keys((await both[1]!.getResourceById({ resourceId: "u" }))!.metadata!)).toHaveLength(10);
    // The stores remember different places of the message.
    await both[0]!.saveMessages({ messages: [message("a", 1), message("b", 1)] });
    await both[1]!.saveMessages({ messages: [message("b", 1), message("a", 1), message("c", 1)] });
    await both[0]!.deleteMessages(["a"]);
    await both[1]!.saveMessages({ messages: [message("a", 1, { threadId: "other" }), message("b", 1)] });
    expect(idsOf(await both[0]!.listMessages({ threadId: "t" }))).toEqual(["b", "c"]);
    expect(idsOf(await both[0]!.listMessages({ threadId: "other" }))).toEqual(["a"]);
  });

  it("reads pages while messages come", async () => {
    const memory = await filled(make());
    const stop = new AbortController();
    const writing = (async () => {
      for (let n = 0; !stop.signal.aborted; n++)
        await memory.saveMessages({ messages: [message(`n${n}`, 20_000 + n)] });
    })();
    for (let n = 0; n < 10; n++) {
      const { messages } = await memory.listMessages({ threadId: "t", perPage: 3, page: 1 });
      expect(messages.map(({ id }) => id)).toEqual(["m3", "m4", "m5"]);
    }
    stop.abort();
    await writing;
  });

  it("reads threads that have more messages and bytes than one answer", async () => {
    const memory = make();
    const messages = Array.from({ length: 1_203 }, (_, n) => message(`m${n}`, n + 1));
    await memory.saveMessages({ messages });
    const big = "long text ".repeat(300_000);
    const content = { format: 2 as const, parts: [{ type: "text" as const, text: big }] };
    await memory.saveMessages({ messages: [0, 1, 2].map((n) => message(`big${n}`, 5_000 + n, { content })) });
    const all = await memory.listMessages({ threadId: "t", perPage: false });
    expect([all.total, all.messages.length]).toEqual([1_206, 1_206]);
    expect(all.messages[1_204]!.content).toEqual(content);
    expect(idsOf(await memory.listMessages({ threadId: "t", perPage: 2, page: 602 }))).toEqual(["big1", "big2"]);
    const newest = await memory.listMessages({ threadId: "t", perPage: 1_000, orderBy: desc });
    expect([newest.messages.length, newest.hasMore, newest.messages[999]!.id]).toEqual([1_000, true, "m206"]);
    const found = await memory.listMessagesById({ messageIds: messages.map(({ id }) => id) });
    expect(found.messages).toHaveLength(1_203);
    await memory.saveThread({ thread: thread("t") });
    const { messageIdMap } = await memory.copyThread({ sourceThreadId: "t", newThreadId: "copy" });
    expect(Object.keys(messageIdMap!)).toHaveLength(1_206);
    await memory.deleteMessages(messages.map(({ id }) => id));
    expect(await memory.listMessages({ threadId: "t", perPage: 1 })).toMatchObject({ total: 3 });
    expect(await memory.listMessages({ threadId: "copy", perPage: 1 })).toMatchObject({ total: 1_206 });
  });

  it("differs from Mastra's storages: the order of equal times, created dates, wrong pages, several updates", async () => {
    const memory = make();
    await memory.saveMessages({ messages: [message("b", 5), message("a", 5)] });
    expect(idsOf(await memory.listMessages({ threadId: "t", orderBy: desc }))).toEqual(["a", "b"]);
    await memory.saveMessages({ messages: [message("b", 9)] });
    const { messages } = await memory.listMessages({ threadId: "t" });
    expect(messages.map(({ id, createdAt }) => [id, createdAt.getTime()])).toEqual([
      ["b", 5],
      ["a", 5],
    ]);
    // The last one of several messages with the same id counts.
    await memory.saveMessages({ messages: [message("x", 7), message("y", 7), message("x", 7, { role: "assistant" })] });
    const list = await memory.listMessages({ threadId: "t", perPage: 2, page: 1 });
    expect(list.messages).toMatchObject([{ id: "x", role: "assistant" }, { id: "y" }]);
    const updated = await memory.updateMessages({
      messages: [
        { id: "x", content: partly({ metadata: { a: 1 } }) },
        { id: "x", content: partly({ metadata: { b: 2 } }) },
      ],
    });
    expect(updated.at(-1)!.content.metadata).toEqual({ a: 1, b: 2 });
    for (const wrong of [{ page: 1, perPage: false }, { perPage: 1.5 }, { perPage: -1 }, { page: 0.5 }, { page: -1 }]) {
      expect(await rejection(memory.listMessages({ threadId: "t", ...wrong } as never))).toBeInstanceOf(RangeError);
      expect(await rejection(memory.listThreads(wrong as never))).toBeInstanceOf(RangeError);
    }
    await failure(memory.updateThread({ id: "unknown" }), "NOT_FOUND");
    await failure(memory.copyThread({ sourceThreadId: "unknown" }), "NOT_FOUND");
    await memory.saveThread({ thread: thread("t") });
    await failure(memory.copyThread({ sourceThreadId: "t", newThreadId: "t" }), "CONFLICT");
    await failure(memory.updateThreadResourceId({ threadId: "unknown", resourceId: "u" }), "NOT_FOUND");
  });

  it("refuses wrong arguments before anything is stored", async () => {
    const memory = make() as unknown as Record<string, (args?: unknown) => Promise<unknown>>;
    const wrong: Record<string, unknown[]> = {
      getThreadById: [undefined, {}, { threadId: "" }, { threadId: 7 }],
      saveThread: [
        undefined,
        {},
        { thread: 7 },
        { thread: {} },
        { thread: { id: "t" } },
        { thread: { ...thread("t"), createdAt: 7 } },
      ],
      updateThread: [undefined, {}, { id: "" }],
      updateThreadMetadata: [undefined, {}, { id: "t" }, { id: "t", update: 7 }],
      deleteThread: [undefined, {}, { threadId: "" }],
      listThreads: [7, { filter: 7 }, { page: "1" }, { filter: { resourceId: 7 } }],
      saveMessages: [
        undefined,
        {},
        { messages: 7 },
        { messages: [7] },
        ...[
          { id: "" },
          { id: 7 },
          { threadId: undefined },
          { threadId: "" },
          { role: 7 },
          { role: undefined },
          { content: null },
          { content: 7 },
          { content: undefined },
        ].map((fields) => ({ messages: [message("ok", 1), { ...message("x", 1), ...fields }] })),
        ...[{ createdAt: new Date(Number.NaN) }, { createdAt: "yesterday" }, { resourceId: 7 }, { type: 7 }].map(
          (fields) => ({ messages: [message("ok", 1), { ...message("x", 1), ...fields }] }),
        ),
      ],
      updateMessages: [undefined, {}, { messages: [{}] }, { messages: [7] }],
      deleteMessages: [7, [7]],
      listMessages: [
        undefined,
        {},
        { threadId: 7 },
        { threadId: ["t", ""] },
        { threadId: "t", filter: 7 },
        { threadId: "t", filter: { dateRange: { start: 7 } } },
        { threadId: "t", include: 7 },
        { threadId: "t", include: [{ id: 7 }] },
      ],
      listMessagesByResourceId: [undefined, {}, { resourceId: "" }],
      listMessagesById: [undefined, {}, { messageIds: "m" }, { messageIds: [7] }],
      copyThread: [
        undefined,
        {},
        { sourceThreadId: "t", options: 7 },
        { sourceThreadId: "t", options: { messageFilter: { startDate: 7 } } },
      ],
      updateThreadResourceId: [undefined, {}, { threadId: "t" }],
      getResourceById: [undefined, {}],
      saveResource: [undefined, {}, { resource: {} }],
      updateResource: [undefined, {}],
    };
    for (const [name, all] of Object.entries(wrong)) for (const args of all) await wrongType(memory[name]!(args));
    for (const count of [-1, 1.5, "1"]) {
      const include = [{ id: "m", withNextMessages: count }];
      expect(await rejection(memory["listMessages"]!({ threadId: "t", include }))).toBeInstanceOf(RangeError);
    }
    for (const fields of [{ id: "\ud800" }, { threadId: "\ud800" }, { id: "x".repeat(5_000) }]) {
      const messages = [message("ok", 1), { ...message("x", 1), ...fields }];
      await failure(memory["saveMessages"]!({ messages }), "INVALID_ARGUMENT");
    }
    const content = Object.defineProperty({}, "parts", {
      enumerable: true,
      get: () => {
        throw new Error("secret");
      },
    });
    const refused = await failure(
      memory["saveMessages"]!({ messages: [message("x", 1, { content: partly(content) })] }),
      "INVALID_ARGUMENT",
    );
    expect(refused.message).toContain("messages[0].content");
    expect(await memory["listMessages"]!({ threadId: "t" })).toMatchObject({ total: 0 });
    expect(await memory["listThreads"]!()).toMatchObject({ total: 0 });
  });

  it("keeps all messages, however few checkpoints of a run the store keeps", async () => {
    const store = storeAt(place(kind), { keepLastN: 1 });
    const memory = await filled(store.stores.memory);
    expect(await memory.listMessages({ threadId: "t" })).toMatchObject({ total: 10 });
    expect(await store.prune()).toEqual([]);
  });

  it("removes old rows in batches, as the policies say", async () => {
    const old = { maxAge: "1h", batchSize: 3 } as const;
    const retention = { memory: { messages: old, threads: old, resources: old } };
    const store = storeAt(place(kind), { retention });
    const memory = await filled(store.stores.memory);
    const now = Date.now();
    await memory.saveMessages({ messages: [message("new", now), message("other", 1, { threadId: "other" })] });
    await memory.saveThread({ thread: thread("t") });
    await memory.saveThread({ thread: thread("new", now) });
    await memory.saveResource({ resource: { id: "u", createdAt: new Date(1), updatedAt: new Date() } });
    const result = (table: string, deleted: number, done: boolean) => ({
      domain: "memory",
      table: `mastra_${table}`,
      deleted,
      done,
    });
    expect(await store.prune({ maxBatches: 1 })).toEqual([
      result("messages", 3, false),
      result("resources", 1, true),
      result("threads", 1, true),
    ]);
    expect((await store.prune())[0]).toEqual(result("messages", 8, true));
    expect(idsOf(await memory.listMessages({ threadId: ["t", "other"] }))).toEqual(["new"]);
    expect(threadIds(await memory.listThreads({}))).toEqual(["new"]);
    expect(await memory.prune({})).toEqual([]);
  });

  it("shows threads with their messages, and copies them", async () => {
    const store = await openStore(place(kind));
    onTestFinished(() => store.close());
    const { memory } = storeAt(store).stores;
    await memory.saveThread({ thread: thread("t") });
    await memory.updateResource({ resourceId: "u", workingMemory: "x" });
    await memory.saveMessages({ messages: [message("a", 1_000), message("b", 2_000, { role: "assistant" })] });
    await using inspector = await openInspector(store, { write: true });
    const { items: runs } = await inspector.runs({ space: "mastra-threads" });
    expect(runs).toHaveLength(1);
    expect(runs[0]).toMatchObject({ space: "mastra-threads", run: "t", group: "u", checkpoints: 2 });
    expect(runs[0]!.latest).toMatchObject({ id: "b", label: "assistant", at: 2_000 });
    const ref = { space: "mastra-threads", run: "t" } as const;
    const { items } = await inspector.checkpoints(ref);
    expect(items.map(({ label }) => label)).toEqual(["user", "assistant"]);
    expect(await inspector.checkpoint({ ...ref, id: "a" })).toMatchObject({ state: message("a", 1).content });
    expect(await rejection(inspector.fork({ ...ref, id: "a" }, { as: "fork" }))).toMatchObject({ code: "UNSUPPORTED" });
    // Each message is a value of its own.
    const found: string[] = [];
    for await (const { run, id, path } of inspector.search("text of")) found.push(`${run} ${id} ${path.join(".")}`);
    expect(found).toEqual(["t b parts.0.text", "t a parts.0.text"]);
    const copy = await openStore("memory:");
    onTestFinished(() => copy.close());
    await copyStore(store, copy);
    const copied = storeAt(copy).stores.memory;
    expect(await copied.listMessages({ threadId: "t" })).toEqual(await memory.listMessages({ threadId: "t" }));
    expect(await copied.getThreadById({ threadId: "t" })).toEqual(await memory.getThreadById({ threadId: "t" }));
    expect(await copied.getResourceById({ resourceId: "u" })).toMatchObject({ workingMemory: "x" });
    await inspector.remove(ref);
    expect(await memory.getThreadById({ threadId: "t" })).toBeNull();
    expect(await memory.listMessages({ threadId: "t" })).toMatchObject({ total: 0 });
  });

  it("shows resources, finds their working memory, and removes them", async () => {
    const store = await openStore(place(kind));
    onTestFinished(() => store.close());
    const { memory } = storeAt(store).stores;
    await memory.updateResource({ resourceId: "u", workingMemory: "likes Lisbon" });
    await memory.updateResource({ resourceId: "u", workingMemory: "likes Lisbon and Porto" });
    await using inspector = await openInspector(store, { write: true });
    const [resource] = (await inspector.runs()).items;
    expect(resource).toMatchObject({ space: "mastra-resources", run: "u", checkpoints: 1 });
    expect((await inspector.info()).spaces).toMatchObject([{ space: "mastra-resources", runs: 1 }]);
    const found = [];
    for await (const { space, run, path } of inspector.search("Porto")) found.push([space, run, path]);
    expect(found).toEqual([["mastra-resources", "u", ["workingMemory"]]]);
    expect(await inspector.checkpoint(resource!)).toMatchObject({ state: { workingMemory: "likes Lisbon and Porto" } });
    expect(await inspector.remove(resource!)).toEqual({ removed: 1 });
    expect(await memory.getResourceById({ resourceId: "u" })).toBeNull();
  });

  it("takes no late message of a thread that was deleted, until somebody begins it again", async () => {
    const store = await openStore(place(kind));
    onTestFinished(() => store.close());
    const [mine, theirs] = [storeAt(store).stores.memory, storeAt(store).stores.memory];
    for (const deleting of [mine, theirs]) {
      await mine.saveThread({ thread: thread("t") });
      await mine.saveMessages({ messages: [message("a", 1_000)] });
      await deleting.deleteThread({ threadId: "t" });
      const late = { messages: [message("b", 2_000), message("o", 2_000, { threadId: "other" })] };
      const error = await failure(mine.saveMessages(late), "CONFLICT");
      expect(error.message).toContain('thread "t" was deleted, so nothing was saved: saveThread()');
      // Nor a message that was read before.
      await failure(mine.saveMessages({ messages: [message("a", 1_000)] }), "CONFLICT");
      expect((await store.stats()).checkpoints).toBe(0);
      await mine.saveThread({ thread: thread("t") });
      await mine.saveMessages({ messages: [message("b", 2_000)] });
      await deleting.deleteThread({ threadId: "t" });
      // Somebody who looks for the thread and finds none may begin with messages, as an import does.
      expect(await mine.getThreadById({ threadId: "t" })).toBeNull();
      await mine.saveMessages({ messages: [message("b", 2_000)] });
      await mine.deleteThread({ threadId: "t" });
    }
    await mine.saveThread({ thread: thread("t") });
    await mine.dangerouslyClearAll();
    await mine.saveMessages({ messages: [message("a", 1_000)] });
    expect(await mine.listMessages({ threadId: "t" })).toMatchObject({ total: 1 });
  });

  it("writes with a lease only while it is held, and not after it is closed", async () => {
    const store = storeAt(place(kind));
    const lease = await store.lease({ space: "mastra-threads", run: "t" });
    await failure(store.lease({ space: "mastra-threads", run: "t" }), "CONFLICT");
    const mine = store.withLease(lease).stores.memory;
    await mine.saveMessages({ messages: [message("a", 1)] });
    await lease.release();
    await failure(mine.saveMessages({ messages: [message("b", 1)] }), "CONFLICT");
    await failure(mine.updateMessages({ messages: [{ id: "a", role: "assistant" }] }), "CONFLICT");
    const { memory } = store.stores;
    expect((await memory.listMessages({ threadId: "t" })).messages).toEqual([message("a", 1)]);
    await store.close();
    for (const work of [
      memory.getThreadById({ threadId: "t" }),
      memory.saveThread({ thread: thread("t") }),
      memory.updateThread({ id: "t" }),
      memory.deleteThread({ threadId: "t" }),
      memory.listThreads({}),
      memory.saveMessages({ messages: [message("b", 1)] }),
      memory.updateMessages({ messages: [{ id: "a" }] }),
      memory.deleteMessages(["a"]),
      memory.listMessages({ threadId: "t" }),
      memory.listMessagesById({ messageIds: ["a"] }),
      memory.listMessagesByResourceId({ resourceId: "u" }),
      memory.copyThread({ sourceThreadId: "t" }),
      memory.updateThreadResourceId({ threadId: "t", resourceId: "v" }),
      memory.getResourceById({ resourceId: "u" }),
      memory.updateResource({ resourceId: "u" }),
      memory.dangerouslyClearAll(),
      memory.prune({ messages: { maxAge: 1 } }),
    ]) {
      await failure(work, "CLOSED");
    }
  });

  it("imports the threads of another storage", async () => {
    const other = await libsql();
    const theirs = (await other.getStore("memory"))!;
    for (let n = 0; n < 3; n++) {
      await theirs.saveThread({ thread: thread(`t${n}`, 1_000 + n, { resourceId: n === 2 ? "v" : "u" }) });
      await theirs.saveMessages({
        messages: Array.from({ length: 120 }, (_, at) => message(`m${n}.${at}`, 1_000 + at, { threadId: `t${n}` })),
      });
    }
    await theirs.updateResource({ resourceId: "u", workingMemory: "their" });
    // Mastra's stores leave such a message out of its page.
    const hidden = message("hidden", 1_010, { threadId: "t0", role: "system" as never });
    await theirs.saveMessages({ messages: [hidden] });
    const store = storeAt(place(kind));
    await store.stores.memory.saveThread({ thread: thread("t1", 5) });
    expect(await store.importMemory(other)).toEqual({ threads: 2, messages: 240, resources: 1, skipped: 1 });
    expect(await store.importMemory(theirs)).toEqual({ threads: 0, messages: 0, resources: 0, skipped: 3 });
    const { memory } = store.stores;
    expect(await memory.getThreadById({ threadId: "t0" })).toEqual(await theirs.getThreadById({ threadId: "t0" }));
    const all = { threadId: "t2", perPage: false as const };
    expect(await memory.listMessages(all)).toEqual(await theirs.listMessages(all));
    expect(await memory.getResourceById({ resourceId: "u" })).toMatchObject({ workingMemory: "their" });
    for (const source of [undefined, {}, { stores: {} }, 7]) await wrongType(store.importMemory(source as never));
  });
});

describe.each(sharedKinds)("the memory of a store that was closed, over %s", (kind) => {
  it("is there again", async () => {
    const target = place(kind);
    const before = storeAt(target);
    await filled(before.stores.memory);
    await before.stores.memory.saveThread({ thread: thread("t") });
    await before.close();
    const { memory } = storeAt(target).stores;
    expect(await memory.getThreadById({ threadId: "t" })).toEqual(thread("t"));
    expect(await memory.listMessages({ threadId: "t" })).toMatchObject({ total: 10 });
    await memory.saveMessages({ messages: [message("m3", 1)] });
    expect(idsOf(await memory.listMessages({ threadId: "t", perPage: 5 }))).toEqual(["m0", "m1", "m2", "m3", "m4"]);
  });
});
