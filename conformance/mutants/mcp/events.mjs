// Mutants of event stores.
import { ReferenceEvents as Events, ReferenceStore as Store, copyOf } from "./reference.mjs";

const { replayEventsAfter } = Events.prototype;

/** Makes events whose messages are stored in another way. */
const storing = (change) =>
  class extends Events {
    storeEvent(stream, message) {
      return super.storeEvent(stream, change(copyOf(message)));
    }
  };

/** Makes events that find others with an id. */
const finding = (change) =>
  class extends Events {
    getStreamIdForEventId(id) {
      return super.getStreamIdForEventId(change(id));
    }
    replayEventsAfter(id, to) {
      return super.replayEventsAfter(change(id), to);
    }
  };

/** Makes events whose replays do something else with what they found. */
const replaying = (work) =>
  class extends Events {
    async replayEventsAfter(id, { send }) {
      const found = await this.store.after(this.session, id);
      if (found === undefined) return "";
      const later = found.later.filter(({ message }) => "jsonrpc" in message);
      return (await work({ id, later, send, events: this, found })) ?? found.stream;
    }
  };

const inOrder = async (later, send) => {
  for (const { id, message } of later) await send(id, message);
};

/** Makes events whose ids are made in another way. */
const naming = (idOf) =>
  class extends Events {
    storeEvent(stream, message) {
      return this.store.put(this.session, stream, idOf(stream, message, this.session), copyOf(message));
    }
  };

/** Texts without a key. */
const without = (pattern) => (message) =>
  JSON.parse(JSON.stringify(message), (key, value) => (pattern.test(key) ? undefined : value));

let count = 0;

export const events = {
  "mcp/event-id": class extends Events {
    async storeEvent(...args) {
      await super.storeEvent(...args);
    }
  },
  "mcp/event-ids-differ": naming((stream, message) => `${stream}${JSON.stringify(message)}`),
  "mcp/event-id-in-header": naming((stream) => `${stream}_${crypto.randomUUID()}`),
  "mcp/replay-later": replaying(({ id, later, send }) =>
    inOrder([{ id, message: { jsonrpc: "2.0" } }, ...later], send),
  ),
  "mcp/replay-ids": replaying(async ({ later, send }) => {
    for (const { message } of later) await send(crypto.randomUUID(), message);
  }),
  "mcp/replay-stream": replaying(async ({ id, later, send }) => {
    await inOrder(later, send);
    return id;
  }),
  "mcp/replay-last": replaying(async ({ later, send }) => {
    await inOrder(later, send);
    return later.length === 0 ? "" : undefined;
  }),
  "mcp/replay-again": class extends Events {
    #gone = new Set();
    async replayEventsAfter(id, to) {
      if (this.#gone.has(id)) return "";
      this.#gone.add(id);
      return await super.replayEventsAfter(id, to);
    }
  },
  "mcp/replay-unknown": class extends Events {
    async replayEventsAfter(id, to) {
      return (await super.replayEventsAfter(id, to)) || id;
    }
  },
  "mcp/stream-of-event": class extends Events {
    async getStreamIdForEventId(id) {
      return (await super.getStreamIdForEventId(id)) && "a";
    }
  },
  "mcp/stream-of-unknown": class extends Events {
    async getStreamIdForEventId(id) {
      return (await super.getStreamIdForEventId(id)) ?? id.split("_")[0];
    }
  },
  "mcp/get-stream": class extends Events {
    replayEventsAfter(id, to) {
      return super.replayEventsAfter(id, to).then((stream) => stream.split("_")[0]);
    }
  },
  "mcp/priming": class extends Events {
    async replayEventsAfter(id, { send }) {
      const found = await this.store.after(this.session, id);
      await inOrder(found?.later ?? [], send);
      return found?.stream ?? "";
    }
  },
  "mcp/priming-place": class extends Events {
    async storeEvent(stream, message) {
      return Object.keys(message).length === 0 ? crypto.randomUUID() : await super.storeEvent(stream, message);
    }
  },
  "mcp/order": replaying(({ later, send }) =>
    inOrder(
      later.toSorted((a, b) => (a.id < b.id ? -1 : 1)),
      send,
    ),
  ),
  "mcp/order-unawaited": class extends Events {
    async storeEvent(stream, message) {
      await new Promise((resolve) => setTimeout(resolve, message.params?.progress % 3));
      return await super.storeEvent(stream, message);
    }
  },
  "mcp/order-interleaved": replaying(({ later, send }) =>
    inOrder([...later.slice(later.length / 2), ...later.slice(0, later.length / 2)], send),
  ),
  "mcp/send-waits": replaying(async ({ later, send }) => {
    await Promise.all(later.map(({ id, message }) => send(id, message)));
  }),
  "mcp/send-rejects": replaying(async ({ later, send }) => {
    for (const { id, message } of later) await send(id, message).catch(() => {});
  }),
  "mcp/stored-during-replay": replaying(async ({ id, later, send, events }) => {
    await inOrder(later, send);
    const { later: all } = await events.store.after(events.session, id);
    if (all.length > later.length) await inOrder(all, send);
  }),
  "mcp/json": storing((message) => JSON.parse(JSON.stringify(message), (_, value) => value ?? undefined)),
  "mcp/unicode": storing((message) => JSON.parse(JSON.stringify(message).replaceAll("\\u0000", ""))),
  "mcp/keys-with-meaning": storing(without(/^(__proto__|toJSON|then)$/)),
  "mcp/large": storing((message) =>
    JSON.parse(JSON.stringify(message), (_, value) => (typeof value === "string" ? value.slice(0, 65_536) : value)),
  ),
  "mcp/not-json": class extends Events {
    async storeEvent(stream, message) {
      const text = JSON.stringify(message, (_, value) => (typeof value === "bigint" ? `${value}` : value));
      return await super.storeEvent(stream, JSON.parse(text));
    }
  },
  "mcp/copies-in": class extends Events {
    async storeEvent(stream, message) {
      await Promise.resolve();
      return await super.storeEvent(stream, message);
    }
  },
  "mcp/copies-out": {
    store: class extends Store {
      async after(session, id) {
        const at = this.events.findIndex((one) => one.id === id && one.session === session);
        if (at < 0) return undefined;
        const { stream } = this.events[at];
        return {
          stream,
          later: this.events.slice(at + 1).filter((one) => one.session === session && one.stream === stream),
        };
      }
    },
  },
  "mcp/ids-literal": finding((id) => id.trim()),
  "mcp/ids-huge": finding((id) => (id.length > 1_000_000 ? id.slice(0, 36) : id)),
  "mcp/ids-unguessable": naming((_stream, _message, session) => `${session}-${(count += 1)}`),
  "mcp/streams-apart": {
    store: class extends Store {
      async after(session, id) {
        const at = this.events.findIndex((one) => one.id === id && one.session === session);
        if (at < 0) return undefined;
        const { stream } = this.events[at];
        return {
          stream,
          later: structuredClone(this.events.slice(at + 1).filter((one) => one.stream.startsWith(stream))),
        };
      }
    },
  },
  "mcp/sessions-apart": class extends Events {
    async replayEventsAfter(id, to) {
      for (const session of [this.session, "s", "t"]) {
        const stream = await replayEventsAfter.call({ store: this.store, session }, id, to);
        if (stream !== "") return stream;
      }
      return "";
    }
  },
  "mcp/sessions-same-stream": {
    store: class extends Store {
      async after(session, id) {
        const at = this.events.findIndex((one) => one.id === id && one.session === session);
        if (at < 0) return undefined;
        const { stream } = this.events[at];
        return { stream, later: structuredClone(this.events.slice(at + 1).filter((one) => one.stream === stream)) };
      }
    },
  },
};
