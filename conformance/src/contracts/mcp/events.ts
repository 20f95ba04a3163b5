// Event stores: ids, replays, order, and what belongs to whom.
import assert from "node:assert/strict";
import { expectations } from "../../suite/expectations.js";
import { eventsOf, fill, isUnknown, note, numbers, replay, sends, streamOf } from "./messages.js";
import type { Stores } from "./store.js";

const types =
  "documented: https://github.com/modelcontextprotocol/typescript-sdk (EventStore in streamableHttp.ts)" as const;
const transport = "framework: webStandardStreamableHttp.ts" as const;
const example = "framework: the SDK's InMemoryEventStore" as const;

const basics = expectations<Stores>("contract", {
  "mcp/event-id": {
    must: types,
    title: "returns the id of an event as a text that is not empty",
    async check(trial) {
      const id = await (await eventsOf(trial)).storeEvent("a", note(0));
      assert.ok(typeof id === "string" && id !== "", `storeEvent must return an id, but returned ${id}`);
    },
  },
  "mcp/event-ids-differ": {
    must: `${transport} knows by its id whether a replay has sent an event`,
    title: "gives each event an id of its own, also if their messages are equal",
    async check(trial) {
      const events = await eventsOf(trial);
      const ids = await Promise.all(numbers(0, 50).map((n) => events.storeEvent(n % 2 ? "a" : "b", note("same"))));
      assert.equal(new Set(ids).size, 50);
    },
  },
  "mcp/event-id-in-header": {
    must: `${transport} writes the id into a line of the stream, and the client returns it in a header`,
    title: "makes ids of visible ASCII characters, of at most 1,000",
    async check(trial) {
      const events = await eventsOf(trial);
      for (const stream of ["_GET_stream", "a\nb", "é🙂", "x y"])
        assert.match(await events.storeEvent(stream, note(0)), /^[!-~]{1,1000}$/, `for ${JSON.stringify(stream)}`);
    },
  },
  "mcp/replay-later": {
    must: types,
    title: "sends the events after the given one, and not that one",
    async check(trial) {
      const events = await eventsOf(trial);
      const ids = await fill(events, "a", 0, 3);
      await sends(events, ids[0]!, [1, 2]);
      await sends(events, ids[1]!, [2]);
    },
  },
  "mcp/replay-ids": {
    must: `${transport} leaves out live events by the ids that a replay has sent`,
    title: "sends each event with the id that `storeEvent` returned",
    async check(trial) {
      const events = await eventsOf(trial);
      const ids = await fill(events, "a", 0, 4);
      const { sent } = await replay(events, ids[0]!);
      assert.deepEqual(
        sent.map(({ id }) => id),
        ids.slice(1),
      );
    },
  },
  "mcp/replay-stream": {
    must: types,
    title: "returns the id of the stream from a replay",
    async check(trial) {
      const events = await eventsOf(trial);
      const [id] = await fill(events, "a", 0, 2);
      assert.equal((await replay(events, id!)).stream, "a");
    },
  },
  "mcp/replay-last": {
    must: types,
    title: "sends nothing after the last event of a stream, and returns the stream",
    async check(trial) {
      const events = await eventsOf(trial);
      const id = await events.storeEvent("a", note(0));
      const { stream, sent } = await replay(events, id);
      assert.deepEqual({ stream, sent }, { stream: "a", sent: [] });
    },
  },
  "mcp/replay-again": {
    must: `${transport}: a client may lose its connection in the middle of a replay`,
    title: "sends the same events in each replay",
    async check(trial) {
      const events = await eventsOf(trial);
      const [id] = await fill(events, "a", 0, 3);
      await sends(events, id!, [1, 2]);
      await sends(events, id!, [1, 2], "the second replay");
    },
  },
  "mcp/replay-unknown": {
    must: example,
    title: "sends nothing for an unknown event, and returns an empty text",
    async check(trial) {
      const events = await eventsOf(trial);
      await fill(events, "a", 0, 2);
      for (const id of ["no-such-event", "", "a", "0"]) await isUnknown(events, id, JSON.stringify(id));
    },
  },
  "mcp/stream-of-event": {
    must: types,
    title: "returns the stream of an event from `getStreamIdForEventId`",
    async check(trial) {
      const events = await eventsOf(trial);
      const [a] = await fill(events, "a", 0, 2);
      const [b] = await fill(events, "b", 0, 1);
      assert.deepEqual([await streamOf(events, a!), await streamOf(events, b!)], ["a", "b"]);
    },
  },
  "mcp/stream-of-unknown": {
    must: `${transport} answers 400 if the stream is undefined`,
    title: "returns undefined from `getStreamIdForEventId` for an unknown event",
    async check(trial) {
      const events = await eventsOf(trial);
      await fill(events, "a", 0, 1);
      for (const id of ["no-such-event", "", "a_1"]) assert.equal(await streamOf(events, id), undefined, id);
    },
  },
  "mcp/get-stream": {
    must: `${transport} gives the standalone stream the id _GET_stream`,
    title: "replays the stream `_GET_stream`",
    async check(trial) {
      const events = await eventsOf(trial);
      const [id] = await fill(events, "_GET_stream", 0, 3);
      const { stream, found } = await replay(events, id!);
      assert.deepEqual({ stream, found }, { stream: "_GET_stream", found: [1, 2] });
    },
  },
  "mcp/priming": {
    must: `${transport} stores {} before a stream's first message. The client's schema refuses it as a message`,
    title: "never sends the empty object that marks a place",
    async check(trial) {
      const events = await eventsOf(trial);
      const first = await events.storeEvent("a", {});
      await events.storeEvent("a", {});
      await fill(events, "a", 0, 1);
      await events.storeEvent("a", {});
      assert.deepEqual(
        (await replay(events, first)).sent.map(({ message }) => message),
        [note(0)],
      );
    },
  },
  "mcp/priming-place": {
    must: `${transport}: a client that has received nothing else resumes from this event`,
    title: "replays a stream from the empty object at its beginning",
    async check(trial) {
      const events = await eventsOf(trial);
      const first = await events.storeEvent("a", {});
      await fill(events, "a", 0, 2);
      await sends(events, first, [0, 1]);
    },
  },
});

const order = expectations<Stores>("order", {
  "mcp/order": {
    must: types,
    title: "sends 300 events in the order in which they were stored",
    async check(trial) {
      const events = await eventsOf(trial);
      const [first] = await fill(events, "a", 0, 300);
      await sends(events, first!, numbers(1, 300));
    },
  },
  "mcp/order-unawaited": {
    must: `${transport} does not wait for one message before it stores the next`,
    title: "keeps the order of calls that do not wait for each other",
    async check(trial) {
      const events = await eventsOf(trial);
      const first = await events.storeEvent("a", {});
      await Promise.all(numbers(0, 50).map((n) => events.storeEvent("a", note(n))));
      await sends(events, first, numbers(0, 50));
    },
  },
  "mcp/order-interleaved": {
    must: types,
    title: "keeps the order of each stream if the events of several streams alternate",
    async check(trial) {
      const events = await eventsOf(trial);
      const firsts = [await events.storeEvent("a", {}), await events.storeEvent("b", {})];
      for (let n = 0; n < 60; n++) await events.storeEvent(n % 2 ? "b" : "a", note(n));
      for (const at of [0, 1])
        await sends(
          events,
          firsts[at]!,
          numbers(0, 60).filter((n) => n % 2 === at),
        );
    },
  },
  "mcp/send-waits": {
    must: `${example} waits for each \`send\``,
    title: "waits for each `send` before the next",
    async check(trial) {
      const events = await eventsOf(trial);
      const [first] = await fill(events, "a", 0, 5);
      let [running, most] = [0, 0];
      await events.replayEventsAfter(first!, {
        async send() {
          most = Math.max(most, ++running);
          await trial.sleep(2);
          running--;
        },
      });
      assert.deepEqual([most, running], [1, 0]);
    },
  },
  "mcp/send-rejects": {
    should: "ours: a client that is gone gets nothing more, and the transport hears of it",
    title: "rejects if `send` rejects, and sends nothing more",
    async check(trial) {
      const events = await eventsOf(trial);
      const [first] = await fill(events, "a", 0, 5);
      let calls = 0;
      const send = async () => {
        if (++calls === 2) throw new Error("the client is gone");
      };
      await assert.rejects(events.replayEventsAfter(first!, { send }), /the client is gone/);
      assert.equal(calls, 2);
      await sends(events, first!, [1, 2, 3, 4], "a later replay");
    },
  },
  "mcp/stored-during-replay": {
    must: `${transport} stores live events while a replay runs`,
    title: "accepts events during a replay, and sends none twice",
    async check(trial) {
      const events = await eventsOf(trial);
      const [first] = await fill(events, "a", 0, 3);
      const sent: unknown[] = [];
      await events.replayEventsAfter(first!, {
        async send(_, { params }) {
          sent.push(params.progress);
          if (params.progress === 1) await fill(events, "a", 3, 5);
        },
      });
      assert.deepEqual(sent, numbers(1, sent.length + 1));
      assert.ok(sent.length >= 2, "the events before the replay are missing");
      await sends(events, first!, [1, 2, 3, 4], "the next replay");
    },
  },
});

const keeps = (values: readonly object[]) => ({
  async checkStore(store: Stores) {
    const events = await store.events("s");
    const first = await events.storeEvent("a", {});
    for (const value of values) await events.storeEvent("a", { jsonrpc: "2.0", params: value });
    const { sent } = await replay(events, first);
    assert.deepEqual(
      sent.map(({ message }) => message["params"]),
      values,
    );
  },
});

const hostile = expectations<Stores>("hostile", {
  "mcp/json": {
    must: types,
    title: "keeps each JSON value",
    ...keeps([{ list: [null, [], {}, "", 0, 0.1, 1e21, -1, true, false] }, { "": { "a.b": 1, $ref: "#" } }]),
  },
  "mcp/unicode": {
    must: types,
    title: "keeps texts with line breaks, control characters and any script",
    ...keeps([{ text: "a\r\nb\u0000\u001b[31m" }, { text: "日本語 👩‍👩‍👧‍👦 \u2028é" }]),
  },
  "mcp/keys-with-meaning": {
    should: "ours: the arguments and results of tools may have any key",
    title: "keeps keys that have a meaning for JavaScript or for serializers",
    ...keeps([
      JSON.parse('{"__proto__":{"a":1},"constructor":"c","toJSON":"t","then":"n","$type":"Buffer","data":[1]}'),
    ]),
  },
  "mcp/large": {
    must: "framework: the content of a tool's result may be an image",
    title: "keeps a message of 2 MB",
    ...keeps([{ image: "x".repeat(2_000_000) }]),
  },
  "mcp/not-json": {
    ours: "a message that cannot be sent is an error where it was made, and not in a later replay",
    title: "rejects a message that JSON cannot hold",
    async check(trial) {
      const events = await eventsOf(trial);
      for (const value of [1n, () => 1, Number.NaN, new Map()])
        await assert.rejects(async () => events.storeEvent("a", note(0, { value })), Error, String(value));
    },
  },
  "mcp/copies-in": {
    should: "ours: the transport may change a message after it was stored",
    title: "keeps a message as it was at the call",
    async check(trial) {
      const events = await eventsOf(trial);
      const first = await events.storeEvent("a", {});
      const message = note(1, { list: [1] });
      const stored = events.storeEvent("a", message);
      message["params"].progress = 9;
      message["params"].list.push(2);
      await stored;
      assert.deepEqual((await replay(events, first)).sent[0]?.message, note(1, { list: [1] }));
    },
  },
  "mcp/copies-out": {
    should: "ours: a replay that changes what it sends must not change the next one",
    title: "keeps a message if a replay's `send` changes it",
    async check(trial) {
      const events = await eventsOf(trial);
      const first = await events.storeEvent("a", {});
      await fill(events, "a", 1, 2);
      await events.replayEventsAfter(first, {
        send: async (_, message) => void (message["params"].progress = 9),
      });
      await sends(events, first, [1]);
    },
  },
  "mcp/ids-literal": {
    must: "framework: the client sends the id in the header Last-Event-ID, so anybody may send any text",
    title: "knows no id that differs in anything",
    async check(trial) {
      const events = await eventsOf(trial);
      const [id] = await fill(events, "a", 0, 3);
      const other = [...id!].map((letter) =>
        letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase(),
      );
      const forged = [`${id} `, ` ${id}`, `${id}\n`, `${id}0`, `0${id}`, id!.slice(0, -1), id!.slice(1), `${id}%`];
      for (const wrong of [...forged, other.join("")])
        if (wrong !== id) await isUnknown(events, wrong, `${JSON.stringify(wrong)} in place of ${JSON.stringify(id)}`);
    },
  },
  "mcp/ids-huge": {
    must: "framework: the client sends the id in the header Last-Event-ID, so anybody may send any text",
    title: "knows no id of 5 MB",
    async check(trial) {
      const events = await eventsOf(trial);
      const [id] = await fill(events, "a", 0, 2);
      await isUnknown(events, id! + "x".repeat(5_000_000), "an id of 5 MB");
      await isUnknown(events, "a".repeat(5_000_000), "another one");
    },
  },
  "mcp/ids-unguessable": {
    should: "ours: an id is the only thing that a client needs to read a stream",
    title: "gives the first events of other sessions ids that do not follow from one's own",
    async check(trial) {
      const store = await trial.store();
      const ids: string[] = [];
      for (const session of ["s", "t", "u"])
        ids.push(await (await store.events(session)).storeEvent("_GET_stream", note(0)));
      const parts = ids.map((id) => id.match(/[0-9a-zA-Z]{12,}/g) ?? []);
      for (const [at, part] of parts.entries())
        assert.ok(
          part.some((one) => !ids.some((id, other) => other !== at && id.includes(one))),
          `${ids[at]} has no 12 characters that others lack`,
        );
    },
  },
});

const isolation = expectations<Stores>("isolation", {
  "mcp/streams-apart": {
    must: types,
    title: "sends the events of one stream alone",
    async check(trial) {
      const events = await eventsOf(trial);
      const streams = ["a", "a_b", "a_", "_a", "a:1", "1", "a/../b", "A", "é", "__proto__", "constructor", "a.0", "a%"];
      const firsts: string[] = [];
      for (const stream of streams) firsts.push(await events.storeEvent(stream, note(`first of ${stream}`)));
      for (const stream of streams) await events.storeEvent(stream, note(stream));
      for (const [at, stream] of streams.entries()) {
        const { stream: found, found: sent } = await replay(events, firsts[at]!);
        assert.deepEqual([found, sent], [stream, [stream]]);
      }
    },
  },
  "mcp/sessions-apart": {
    should:
      "ours: an event of another client's session may hold its data. The id of the standalone stream is the same in all",
    title: "knows no event of another session",
    async check(trial) {
      const [s, t] = [await eventsOf(trial, "s"), await eventsOf(trial, "t")];
      const [id] = await fill(s, "_GET_stream", 0, 2);
      await fill(t, "_GET_stream", 5, 7);
      await isUnknown(t, id!, "the event of another session");
    },
  },
  "mcp/sessions-same-stream": {
    must: `${transport} gives the standalone stream of every session the id _GET_stream`,
    title: "sends a session only its own events of a stream whose id another session has too",
    async check(trial) {
      const [s, t] = [await eventsOf(trial, "s"), await eventsOf(trial, "t")];
      const first = await s.storeEvent("_GET_stream", {});
      await fill(t, "_GET_stream", 5, 7);
      await fill(s, "_GET_stream", 0, 2);
      await fill(t, "_GET_stream", 7, 8);
      await sends(s, first, [0, 1]);
    },
  },
});

export const events = [...basics, ...order, ...hostile, ...isolation];
