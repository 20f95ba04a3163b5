// A small checkpointer in memory that meets every expectation. Made durable by `../durable.mjs`.
import { deserialize, serialize } from "node:v8";

const special = { __error__: -1, __scheduled__: -2, __interrupt__: -3, __resume__: -4 };
const tasks = "__pregel_tasks";

/** A serializer, as LangGraph's: what it keeps is what stores must return. */
export const serde = {
  dumpsTyped: async (value) => ["v8", new Uint8Array(serialize(value))],
  loadsTyped: async (_, bytes) => deserialize(bytes),
};

const copy = (value) => deserialize(serialize(value));
const less = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

export class ReferenceSaver {
  serde = serde;
  /** The checkpoints, and the writes, by thread, namespace and id. */
  checkpoints = new Map();
  writes = new Map();

  key(...parts) {
    return JSON.stringify(parts);
  }

  /** Returns the thread, the namespace and the id of a config. */
  place({ configurable: { thread_id, checkpoint_ns = "", checkpoint_id } = {} }) {
    return [thread_id, checkpoint_ns, checkpoint_id];
  }

  /** Returns the checkpoints of a thread and namespace, the one that was put last first. */
  rows(thread, ns) {
    const all = [...this.checkpoints.values()].filter((row) => row.thread === thread && row.ns === ns);
    return all.toSorted((a, b) => b.number - a.number);
  }

  /** Returns the row of a config, or undefined. */
  row(config) {
    const [thread, ns, id] = this.place(config);
    return id ? this.checkpoints.get(this.key(thread, ns, id)) : this.rows(thread, ns)[0];
  }

  async put(config, checkpoint, metadata, newVersions) {
    const [thread, ns, parent] = this.place(config);
    if (typeof thread !== "string") throw new Error("put needs a thread_id");
    const { id, channel_values, ...rest } = checkpoint;
    // A checkpoint that is put again stays at its place.
    const number = this.checkpoints.get(this.key(thread, ns, id))?.number ?? this.nextNumber();
    const row = { thread, ns, id, parent, number, rest: copy(rest), metadata: copy(metadata), values: {} };
    for (const channel of Object.keys(rest.channel_versions)) {
      const value = this.valueOf(row, channel, channel_values, newVersions);
      if (value !== undefined) row.values[channel] = value;
    }
    this.checkpoints.set(this.key(thread, ns, id), row);
    // The writes of the parent that no other child was made of led to this one.
    for (const write of this.writesOf(thread, ns, parent)) write.child ??= id;
    return { configurable: { thread_id: thread, checkpoint_ns: ns, checkpoint_id: id } };
  }

  nextNumber() {
    return Math.max(0, ...[...this.checkpoints.values()].map(({ number }) => number)) + 1;
  }

  /** Returns the bytes of a channel's value, or undefined if it has none. */
  valueOf({ thread, ns, parent, rest }, channel, given, newVersions) {
    if (Object.hasOwn(newVersions, channel))
      return Object.hasOwn(given, channel) ? serialize(given[channel]) : undefined;
    const has = (row) => row?.rest.channel_versions[channel] === rest.channel_versions[channel];
    const above = this.checkpoints.get(this.key(thread, ns, parent));
    return (has(above) ? above : this.rows(thread, ns).find(has))?.values[channel];
  }

  async putWrites(config, writes, task, path = "") {
    const [thread, ns, id] = this.place(config);
    if (typeof thread !== "string" || !id) throw new Error("putWrites needs a thread_id and a checkpoint_id");
    const key = this.key(thread, ns, id);
    const rows = this.writes.get(key) ?? new Map();
    this.writes.set(key, rows);
    for (const [at, [channel, value]] of writes.entries()) {
      const index = special[channel] ?? at;
      const name = this.key(task, index);
      if (index >= 0 && rows.has(name)) continue;
      rows.set(name, { task, path, index, channel, value: serialize(value), child: rows.get(name)?.child });
    }
  }

  /** Returns the writes to a checkpoint, in the order of path, task and position. */
  writesOf(thread, ns, id) {
    const rows = [...(this.writes.get(this.key(thread, ns, id))?.values() ?? [])];
    return rows.toSorted((a, b) => less(a.path, b.path) || less(a.task, b.task) || a.index - b.index);
  }

  pending(row) {
    return this.writesOf(row.thread, row.ns, row.id).map(({ task, channel, value }) => [
      task,
      channel,
      deserialize(value),
    ]);
  }

  tuple(row) {
    const { thread, ns, id, parent, metadata } = row;
    const rest = copy(row.rest);
    const values = Object.fromEntries(Object.entries(row.values).map(([name, value]) => [name, deserialize(value)]));
    if (rest.v < 4 && parent !== undefined) this.migrate(row, rest, values);
    const config = (of) => ({ configurable: { thread_id: thread, checkpoint_ns: ns, checkpoint_id: of } });
    return {
      config: config(id),
      checkpoint: { ...rest, id, channel_values: values },
      metadata: copy(metadata),
      ...(parent !== undefined && { parentConfig: config(parent) }),
      pendingWrites: this.pending(row),
    };
  }

  /** Earlier formats kept sends as writes of the parent. */
  migrate({ thread, ns, parent }, rest, values) {
    const sends = this.sends(thread, ns, parent);
    values[tasks] = sends.map(({ value }) => deserialize(value));
    rest.channel_versions[tasks] = Math.max(1, ...Object.values(rest.channel_versions));
  }

  sends(thread, ns, parent) {
    return this.writesOf(thread, ns, parent).filter(({ channel }) => channel === tasks);
  }

  async getTuple(config) {
    const row = this.row(config);
    return row && this.tuple(row);
  }

  async get(config) {
    return (await this.getTuple(config))?.checkpoint;
  }

  /** Returns the configs of the checkpoints that `list` yields. */
  async find(config, { limit, before, filter } = {}) {
    const [thread, , id] = this.place(config);
    const ns = config.configurable?.checkpoint_ns;
    const end = before?.configurable?.checkpoint_id;
    const found = [...this.checkpoints.values()]
      .filter((row) => thread === undefined || row.thread === thread)
      .filter((row) => ns === undefined || row.ns === ns)
      .filter((row) => id === undefined || row.id === id)
      .filter((row) => end === undefined || this.isBefore(row, end))
      .filter((row) => this.passes(row.metadata, filter ?? {}))
      .toSorted((a, b) => this.order(a, b));
    return this.cut(found, limit).map((row) => this.tuple(row).config);
  }

  order(a, b) {
    return b.number - a.number;
  }

  /** True if a checkpoint was put before the one with this id. Its id is all that is known of one that is not stored. */
  isBefore(row, end) {
    const of = [...this.checkpoints.values()].find(({ thread, id }) => thread === row.thread && id === end);
    return of === undefined ? row.id < end : row.number < of.number;
  }

  cut(rows, limit) {
    return rows.slice(0, limit);
  }

  passes(metadata, filter) {
    return Object.entries(filter).every(([key, value]) => Object.hasOwn(metadata, key) && metadata[key] === value);
  }

  async deleteThread(thread) {
    for (const rows of [this.checkpoints, this.writes])
      for (const key of rows.keys()) if (JSON.parse(key)[0] === thread) rows.delete(key);
  }

  async getDeltaChannelHistory({ config, channels }) {
    const found = {};
    for (const channel of channels) {
      const history = (found[channel] = { writes: [] });
      let child = this.row(config);
      for (;;) {
        const row = child && this.above(child);
        if (row === undefined) break;
        history.writes.unshift(...this.between(row, child, channel));
        if (row.values[channel] !== undefined) {
          history.seed = deserialize(row.values[channel]);
          break;
        }
        child = row;
      }
    }
    return found;
  }

  above({ thread, ns, parent }) {
    return this.checkpoints.get(this.key(thread, ns, parent));
  }

  /** Returns the writes to a checkpoint that led to one of its children. */
  between(row, child, channel) {
    const mine = this.writesOf(row.thread, row.ns, row.id).filter((write) => write.child === child.id);
    return mine
      .filter((write) => write.channel === channel)
      .map(({ task, value }) => [task, channel, deserialize(value)]);
  }

  getNextVersion(current = 0) {
    return current + 1;
  }
}

export const changes = ["put", "putWrites", "deleteThread"];
