// The events of sessions: their order, their ids, and what is no longer there.
import { ForkpointError } from "forkpoint";
import { ForkpointEventStore } from "forkpoint/mcp";
import { tracingChannel } from "node:diagnostics_channel";
import { statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { DAY, LONG_AGO, at } from "../at-time.js";
import {
  Gate,
  folder,
  failure,
  kinds,
  pairOf,
  place,
  rejection,
  thrown,
  together,
  sharedKinds,
  wrongType,
} from "../helpers.js";
import { eventsAt, fill, numbers, progress, replay, shared } from "./helpers.js";

describe.each(kinds)("an event store on %s", (kind) => {
  it("replays the events after one, in order, each once, across many blocks", async () => {
    const store = eventsAt(place(kind));
    const ids = await fill(store, "stream", 0, 200);
    expect(new Set(ids).size).toBe(200);
    for (const after of [0, 1, 38, 39, 40, 63, 64, 128, 198, 199]) {
      const { stream, sent, numbers: found } = await replay(store, ids[after]!);
      expect([stream, found]).toEqual(["stream", numbers(after + 1, 200)]);
      expect(sent.map(([id]) => id)).toEqual(ids.slice(after + 1));
    }
  });

  it("keeps the order of calls that do not wait for each other", async () => {
    const store = eventsAt(place(kind));
    const first = await store.storeEvent("stream", {});
    const ids = await Promise.all(numbers(0, 100).map((n) => store.storeEvent("stream", progress(n))));
    const { sent, numbers: found } = await replay(store, first);
    expect(found).toEqual(numbers(0, 100));
    expect(sent.map(([id]) => id)).toEqual(ids);
  });

  it("keeps the streams of a session apart, whatever their ids are", async () => {
    const store = eventsAt(place(kind));
    const streams = ["_GET_stream", "a", "a_b", "a.0", "1:a", "é🙂", "__proto__", "a\n", "x".repeat(300)];
    const firsts = new Map<string, string>();
    for (const stream of streams) firsts.set(stream, await store.storeEvent(stream, progress(0)));
    for (const stream of streams) await store.storeEvent(stream, progress(1, { stream }));
    for (const [stream, first] of firsts) {
      expect(await store.getStreamIdForEventId(first)).toBe(stream);
      const found = await replay(store, first);
      expect([found.stream, found.sent.map(([, message]) => message)]).toEqual([stream, [progress(1, { stream })]]);
    }
  });

  it("knows no event of another session, and no id that is forged or stale", async () => {
    const target = await shared(kind);
    const [mine, other] = [eventsAt(target, "mine"), eventsAt(target, "other")];
    const [own, second] = await fill(mine, "_GET_stream", 0, 2);
    const [others] = await fill(other, "_GET_stream", 0, 3);
    const [block] = own!.split(".");
    const [otherBlock] = others!.split(".");
    const gone = await eventsAt(target, "gone").storeEvent("_GET_stream", progress(0));
    await eventsAt(target, "gone").deleteSession();
    const forged = [
      others!,
      `${otherBlock}.1`,
      `${block}.2`,
      `${block}.01`,
      `${block}.-1`,
      `${block}. 1`,
      `${own}\n`,
      own!.toLowerCase() === own ? own.toUpperCase() : own!.toLowerCase(),
      `${block}.1e0`,
      gone,
      "",
      "_GET_stream_1_a",
      "%00",
      "\ud800",
      "../../etc/passwd",
      "x".repeat(10_000_000),
    ];
    for (const id of forged) {
      expect(await mine.getStreamIdForEventId(id)).toBeUndefined();
      expect(await replay(mine, id)).toEqual({ stream: "", sent: [], numbers: [] });
    }
    expect(await mine.getStreamIdForEventId(second!)).toBe("_GET_stream");
    expect((await replay(mine, own!)).numbers).toEqual([1]);
    expect((await replay(other, others!)).numbers).toEqual([1, 2]);
  });

  it("keeps the place before the first message, and never sends it", async () => {
    const store = eventsAt(place(kind));
    const priming = await store.storeEvent("stream", {});
    const again = await store.storeEvent("stream", {});
    const [first] = await fill(store, "stream", 0, 1);
    expect(await store.getStreamIdForEventId(priming)).toBe("stream");
    expect((await replay(store, priming)).sent).toEqual([[first, progress(0)]]);
    expect((await replay(store, again)).sent).toEqual([[first, progress(0)]]);
  });

  it("returns each JSON message as it was", async () => {
    const store = eventsAt(place(kind));
    const first = await store.storeEvent("stream", {});
    const messages = [
      JSON.parse('{"jsonrpc":"2.0","params":{"__proto__":{"a":1},"constructor":"c","toJSON":"t","$type":"Buffer"}}'),
      { jsonrpc: "2.0", id: "a\u0000b\ud800", result: { list: [null, [], {}, 1e21, 0.1, true, ""] } },
      { jsonrpc: "2.0", id: 7, error: { code: -32_000, message: "é🙂".repeat(20_000) } },
      progress(1),
    ];
    for (const message of messages) await store.storeEvent("stream", message);
    expect((await replay(store, first)).sent.map(([, message]) => message)).toEqual(messages);
    await store.storeEvent("stream", { jsonrpc: "2.0", method: "m", params: undefined });
    const last = (await replay(store, first)).sent.at(-1)![1];
    expect(Object.keys(last)).toEqual(["jsonrpc", "method"]);
  });

  it("rejects what JSON cannot hold, and stores nothing", async () => {
    const store = eventsAt(place(kind));
    const first = await store.storeEvent("stream", {});
    const cycle: any = { jsonrpc: "2.0" };
    cycle.self = [cycle];
    const values = [undefined, () => {}, Symbol("s"), 1n, Number.NaN, Infinity, new Map(), new Date(0), [undefined]];
    for (const value of [new Uint8Array(1), /a/, ...values]) {
      const message = { jsonrpc: "2.0", params: { list: [value] } };
      await wrongType(store.storeEvent("stream", message));
      if (value !== undefined && !Array.isArray(value)) await wrongType(store.storeEvent("stream", value as object));
    }
    expect(await rejection(store.storeEvent("stream", cycle))).toBeInstanceOf(TypeError);
    await wrongType(store.storeEvent("", {}));
    await wrongType(store.storeEvent(7 as never, {}));
    await wrongType(store.getStreamIdForEventId(7 as never));
    expect(await replay(store, first)).toEqual({ stream: "stream", sent: [], numbers: [] });
  });

  it("includes events that are stored during a replay, each once, and stops when `send` rejects", async () => {
    const [store, other] = (await pairOf(kind, (target) => eventsAt(target))) as [any, any];
    // A page has a few of them.
    const ids = await fill(store, "stream", 0, 100, { text: "x".repeat(10_000) });
    const [sent, stop]: [number[], Gate] = [[], new Gate()];
    const replaying = store.replayEventsAfter(ids[0], {
      send: async (_: string, { params }: any) => {
        if (sent.push(params.progress) === 10) await stop.wait();
      },
    });
    await stop.reached;
    // The replay waits for its client. It holds no lock.
    await fill(other, "stream", 100, 110);
    expect((await replay(store, ids[95]!)).numbers).toEqual(numbers(96, 110));
    stop.open();
    expect(await replaying).toBe("stream");
    expect(sent).toEqual(numbers(1, 110));

    const gone = new Error("the client is gone");
    let calls = 0;
    const send = async () => {
      calls += 1;
      if (calls === 5) throw gone;
    };
    expect(await rejection(store.replayEventsAfter(ids[0]!, { send }))).toBe(gone);
    expect(calls).toBe(5);
  });

  it("keeps events for `ttlMs`, and knows no older one, even before it is removed", async () => {
    const target = await shared(kind);
    const store = eventsAt(target, "s", { ttlMs: DAY });
    const [old, older] = await at(LONG_AGO, () => fill(store, "stream", 0, 2));
    const [young] = await at(LONG_AGO + DAY - 1, () => fill(store, "stream", 2, 3));
    const found = await at(LONG_AGO + DAY - 1, () => replay(store, old!));
    expect(found.numbers).toEqual([1, 2]);
    await at(LONG_AGO + DAY, async () => {
      expect(await store.getStreamIdForEventId(older!)).toBeUndefined();
      expect((await replay(store, old!)).stream).toBe("");
      expect(await store.getStreamIdForEventId(young!)).toBe("stream");
    });
    // Without the option, nothing expires.
    expect(await eventsAt(target).getStreamIdForEventId(old!)).toBe("stream");
  });

  it("keeps the newest `maxEvents` of each stream", async () => {
    const store = eventsAt(place(kind), "s", { maxEvents: 100 });
    const other = await store.storeEvent("other", progress(0));
    const ids = await fill(store, "stream", 0, 400);
    expect(await store.getStreamIdForEventId(ids[299]!)).toBeUndefined();
    expect((await replay(store, ids[0]!)).stream).toBe("");
    expect((await replay(store, ids[300]!)).numbers).toEqual(numbers(301, 400));
    expect((await replay(store, other)).stream).toBe("other");
  });

  it("removes all streams of a session, and begins new ones", async () => {
    const target = await shared(kind);
    const [store, other] = [eventsAt(target, "s"), eventsAt(target, "s2")];
    const [first] = await fill(store, "a", 0, 2);
    const [second] = await fill(store, "b", 0, 2);
    const [kept] = await fill(other, "a", 0, 2);
    await store.deleteSession();
    for (const id of [first, second]) expect((await replay(store, id!)).stream).toBe("");
    expect((await replay(other, kept!)).numbers).toEqual([1]);
    const [again] = await fill(store, "a", 5, 7);
    expect((await replay(store, again!)).numbers).toEqual([6]);
    expect((await replay(store, first!)).stream).toBe("");
  });

  it("reads events through the user's serializer, which sees all of them", async () => {
    const key = 0x5a;
    const flip = (bytes: Uint8Array) => bytes.map((byte) => byte ^ key);
    const serializer = {
      name: "flip",
      serialize: (value: unknown) => flip(Buffer.from(JSON.stringify(value))),
      deserialize: (bytes: Uint8Array) => JSON.parse(Buffer.from(flip(bytes)).toString()),
    };
    const target = place(kind);
    const store = eventsAt(target, "s", { serializer });
    const [first] = await fill(store, "stream", 0, 100);
    expect((await replay(store, first!)).numbers).toEqual(numbers(1, 100));
    if (kind === "memory") return;
    await failure(eventsAt(target).getStreamIdForEventId(first!), "UNSUPPORTED");
  });
});

describe.each(sharedKinds)("processes on %s", (kind) => {
  it("store the events of a stream in one order, and lose none", async () => {
    const target = place(kind);
    const store = eventsAt(target);
    const first = await store.storeEvent("stream", {});
    await together(
      "mcp.mjs",
      ["a", "b", "c"].map((name) => ["events", target, name, "40"]),
    );
    const found = (await replay(store, first)).sent.map(([, { params }]) => params);
    for (const name of ["a", "b", "c"]) {
      expect(found.filter(({ by }) => by === name).map(({ progress: n }) => n)).toEqual(numbers(0, 40));
    }
    expect(found).toHaveLength(120);
  });
});

it("takes at most 40 bytes for a notification of 200 in a database file", async () => {
  const path = join(folder(), "mcp.db");
  const size = async (from: number, to: number) => {
    const store = new ForkpointEventStore(path, { sessionId: "s", durability: "off" });
    const text = (n: number) =>
      `Row ${n} was read, checked and stored in the table of the orders of all our customers.`;
    for (let n = from; n < to; n++) await store.storeEvent("stream", progress(n, { total: 4_000, message: text(n) }));
    await store.close();
    return statSync(path).size;
  };
  const before = await size(0, 1_000);
  expect(((await size(1_000, 3_000)) - before) / 2_000).toBeLessThan(40);
});

it("reads a replay in pages, each with a bounded number of bytes", async () => {
  const store = eventsAt(place("memory"));
  const ids = await fill(store, "stream", 0, 200, { text: "x".repeat(10_000) });
  const reads: number[] = [];
  const channel = tracingChannel("forkpoint:read");
  const end = (message: any) => void (message.operation === "page" && reads.push(message.bytes));
  channel.subscribe({ asyncEnd: end } as never);
  const { numbers: found } = await replay(store, ids[0]!);
  channel.unsubscribe({ asyncEnd: end } as never);
  expect(found).toEqual(numbers(1, 200));
  expect(reads.length).toBeGreaterThan(5);
  expect(Math.max(...reads)).toBeLessThan(300_000);
});

it("checks its options", () => {
  const wrong = (options: unknown) => thrown(() => new ForkpointEventStore("memory:", options as never));
  expect(wrong(undefined)).toBeInstanceOf(TypeError);
  expect(wrong({})).toBeInstanceOf(TypeError);
  expect(wrong({ sessionId: "" }).message).toContain("sessionId");
  expect(wrong({ sessionId: "\ud800" })).toBeInstanceOf(ForkpointError);
  expect(wrong({ sessionId: "s", ttlMs: -1 })).toBeInstanceOf(RangeError);
  expect(wrong({ sessionId: "s", maxEvents: 1.5 })).toBeInstanceOf(RangeError);
  expect(wrong({ sessionId: "s", maxEvent: 1 }).message).toContain("maxEvent");
});
