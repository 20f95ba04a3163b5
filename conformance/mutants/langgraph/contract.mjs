// Mutants of the groups contract, isolation and retention.
import { serialize } from "node:v8";
import { ReferenceSaver } from "./reference.mjs";

/** Returns a class in which one method is another one. It gets the method that it replaces. */
const instead = (name, make) =>
  class extends ReferenceSaver {
    [name](...args) {
      return make.call(this, (...given) => super[name](...given), ...args);
    }
  };

/** Returns a mutant whose tuples are changed. */
const tuples = (change) =>
  instead("tuple", (tuple, row) => {
    const made = tuple(row);
    change(made, row);
    return made;
  });

const special = new Set(["__error__", "__scheduled__", "__interrupt__", "__resume__"]);
const configOf = (thread_id, checkpoint_ns, checkpoint_id) => ({
  configurable: { thread_id, checkpoint_ns, checkpoint_id },
});

/** Values are found by thread, namespace, channel and version, as PostgresSaver finds them. */
class ByVersion extends ReferenceSaver {
  blobs = new Map();

  nameOf({ thread, ns }, channel, version) {
    return this.key(thread, ns, channel, version);
  }

  valueOf(row, channel, given, newVersions) {
    const name = this.nameOf(row, channel, row.rest.channel_versions[channel]);
    if (Object.hasOwn(newVersions, channel) && !this.blobs.has(name))
      this.blobs.set(name, Object.hasOwn(given, channel) ? serialize(given[channel]) : undefined);
    return this.blobs.get(name);
  }

  async deleteThread(thread) {
    await super.deleteThread(thread);
    for (const key of this.blobs.keys()) if (JSON.parse(key)[0] === thread) this.blobs.delete(key);
  }
}

export const contract = {
  "langgraph/get-missing": instead(
    "row",
    (row, config) => row(config) ?? row({ configurable: { ...config.configurable, checkpoint_id: "" } }),
  ),
  "langgraph/get-without-thread": instead("row", function (row, config) {
    return config.configurable?.thread_id === undefined ? [...this.checkpoints.values()][0] : row(config);
  }),
  "langgraph/round-trip": tuples((tuple) => (tuple.checkpoint.versions_seen = {})),
  "langgraph/put-config": instead("put", async (put, config, ...rest) => {
    const made = await put(config, ...rest);
    return { configurable: { ...config.configurable, ...made.configurable } };
  }),
  "langgraph/default-namespace": instead("rows", function (_, thread) {
    const all = [...this.checkpoints.values()].filter((row) => row.thread === thread);
    return all.toSorted((a, b) => (a.id < b.id ? 1 : -1));
  }),
  "langgraph/metadata": tuples(
    (tuple) => (tuple.metadata = { source: tuple.metadata.source, step: tuple.metadata.step, parents: {} }),
  ),
  // It takes the checkpoint that was put before as the parent.
  "langgraph/parent-config": instead("put", function (put, config, ...rest) {
    const [thread, ns] = this.place(config);
    return put(configOf(thread, ns, this.rows(thread, ns)[0]?.id), ...rest);
  }),
  "langgraph/put-needs-thread": instead("put", (put, { configurable }, ...rest) =>
    put({ configurable: { thread_id: "none", ...configurable } }, ...rest),
  ),
  "langgraph/put-again": instead("put", async function (put, config, checkpoint, ...rest) {
    const [thread, ns] = this.place(config);
    if (this.checkpoints.has(this.key(thread, ns, checkpoint.id))) return configOf(thread, ns, checkpoint.id);
    return await put(config, checkpoint, ...rest);
  }),
  "langgraph/put-again-keeps-writes": instead("put", function (put, config, checkpoint, ...rest) {
    const [thread, ns] = this.place(config);
    const key = this.key(thread, ns, checkpoint.id);
    if (this.checkpoints.has(key)) this.writes.delete(key);
    return put(config, checkpoint, ...rest);
  }),
  "langgraph/next-version": instead("getNextVersion", (_, current) => `${Number(current ?? 0) + 1}`),
  "langgraph/text-versions": tuples((tuple) => {
    for (const [name, version] of Object.entries(tuple.checkpoint.channel_versions))
      tuple.checkpoint.channel_versions[name] = Number.parseInt(version, 10);
  }),
  "langgraph/inherited-channels": instead("valueOf", (valueOf, row, channel, given, newVersions) =>
    Object.hasOwn(newVersions, channel) ? valueOf(row, channel, given, newVersions) : undefined,
  ),
  "langgraph/only-new-versions": instead("valueOf", (valueOf, row, channel, given) =>
    valueOf(row, channel, given, row.rest.channel_versions),
  ),
  "langgraph/copied-checkpoint": instead("valueOf", function (valueOf, row, channel, given, newVersions) {
    if (Object.hasOwn(newVersions, channel)) return valueOf(row, channel, given, newVersions);
    return this.above(row)?.values[channel];
  }),
  "langgraph/sibling-values": ByVersion,
  "langgraph/same-version-elsewhere": class extends ByVersion {
    nameOf = ({ thread }, channel, version) => this.key(thread, channel, version);
  },
  "langgraph/cleared-channel": instead("valueOf", function (valueOf, row, channel, given, newVersions) {
    return valueOf(row, channel, given, newVersions) ?? this.above(row)?.values[channel];
  }),
  "langgraph/pending-sends": instead("migrate", () => {}),
  "langgraph/pending-sends-namespace": instead("sends", function (sends, thread, _, parent) {
    return ["", "sub"].flatMap((ns) => sends(thread, ns, parent));
  }),
  "langgraph/given-values": instead("put", async function (put, config, checkpoint, metadata, newVersions) {
    const made = await put(config, checkpoint, metadata, newVersions);
    this.row(made).metadata = metadata;
    return made;
  }),
  "langgraph/returned-values": class extends ReferenceSaver {
    cache = new Map();

    tuple(row) {
      if (!this.cache.has(row)) this.cache.set(row, super.tuple(row));
      return { ...this.cache.get(row), pendingWrites: this.pending(row) };
    }
  },
  "langgraph/writes": instead("putWrites", (putWrites, config, writes, ...rest) =>
    putWrites(config, [...new Map(writes.map((write) => [write[0], write])).values()], ...rest),
  ),
  "langgraph/no-writes": tuples((tuple) => {
    if (tuple.pendingWrites.length === 0) delete tuple.pendingWrites;
  }),
  "langgraph/writes-need-checkpoint": instead("putWrites", async (putWrites, config, ...rest) => {
    if (config.configurable?.checkpoint_id !== undefined) await putWrites(config, ...rest);
  }),
  "langgraph/writes-without-namespace": instead("putWrites", async (putWrites, config, ...rest) => {
    if (config.configurable.checkpoint_ns !== undefined) await putWrites(config, ...rest);
  }),
  "langgraph/writes-before-checkpoint": instead("putWrites", async function (putWrites, config, ...rest) {
    if (this.row(config) !== undefined || !config.configurable?.checkpoint_id) await putWrites(config, ...rest);
  }),
  "langgraph/writes-twice": instead("putWrites", function (putWrites, config, writes, task, path) {
    const rows = this.writes.get(this.key(...this.place(config)));
    for (const at of writes.keys()) rows?.delete(this.key(task, at));
    return putWrites(config, writes, task, path);
  }),
  "langgraph/special-writes-replace": instead("putWrites", async function (putWrites, config, writes, task, path) {
    const before = this.writesOf(...this.place(config)).filter((write) => write.task === task);
    const isNew = ([channel]) => !special.has(channel) || !before.some((write) => write.channel === channel);
    if (writes.every(isNew)) await putWrites(config, writes, task, path);
  }),
  "langgraph/special-writes-apart": instead("putWrites", async function (putWrites, config, writes, task, path) {
    const rows = this.writes.get(this.key(...this.place(config)));
    if (special.has(writes[0]?.[0])) rows?.delete(this.key(task, 0));
    await putWrites(config, writes, task, path);
  }),
  "langgraph/writes-apart": class extends ReferenceSaver {
    writesOf(thread, ns, id) {
      const others = [...this.writes.keys()]
        .map((key) => JSON.parse(key))
        .filter((place) => place[0] === thread && place[2] === id);
      return others.flatMap((place) => super.writesOf(...place));
    }
  },
  "langgraph/writes-at-once": {
    // What another call has put in the meantime is lost.
    wrap: (saver) => {
      let running = 0;
      return {
        ...saver,
        async putWrites(...args) {
          if (running > 10) return;
          running += 1;
          await saver.putWrites(...args).finally(() => (running -= 1));
        },
      };
    },
  },
  "langgraph/list-tuples": {
    wrap: (saver) => ({
      ...saver,
      async *list(...args) {
        for await (const tuple of saver.list(...args)) yield { ...tuple, pendingWrites: [] };
      },
    }),
  },
  "langgraph/list-config": instead("find", (find, config, options) =>
    find({ configurable: { checkpoint_ns: "", ...config.configurable } }, options),
  ),
  "langgraph/list-one": instead("find", (find, { configurable }, options) =>
    find({ configurable: { ...configurable, checkpoint_id: undefined } }, options),
  ),
  "langgraph/filter": instead(
    "passes",
    (_, metadata, filter) =>
      Object.entries(filter).some(([key, value]) => metadata[key] === value) || Object.keys(filter).length === 0,
  ),
  "langgraph/filter-types": instead("passes", (_, metadata, filter) =>
    Object.entries(filter).every(([key, value]) => String(metadata[key]) === String(value)),
  ),
  "langgraph/delta-history": instead("getDeltaChannelHistory", async (history, options) => {
    const found = await history(options);
    // It begins all channels at the same checkpoint.
    const lengths = Object.values(found).map(({ writes }) => writes.length);
    const length = Math.min(...lengths.filter((each) => each > 0));
    for (const each of Object.values(found)) each.writes = each.writes.slice(-length);
    return found;
  }),
  "langgraph/delta-after-overwrite": instead("getDeltaChannelHistory", async (history, options) => {
    const found = await history(options);
    for (const each of Object.values(found)) if (each.seed !== undefined) each.writes = each.writes.slice(1);
    return found;
  }),
  // It takes the checkpoints with smaller ids as the ancestors.
  "langgraph/delta-on-path": instead("above", function (_, { thread, ns, id }) {
    return this.rows(thread, ns).find((row) => row.id < id);
  }),
  "langgraph/delta-siblings": class extends ReferenceSaver {
    between(row, child, channel) {
      for (const write of this.writesOf(row.thread, row.ns, row.id)) write.child = child.id;
      return super.between(row, child, channel);
    }
  },
  "langgraph/delete-thread": instead("deleteThread", async function (_, thread) {
    for (const rows of [this.checkpoints, this.writes])
      for (const key of rows.keys()) if (JSON.parse(key)[0] === thread && JSON.parse(key)[1] === "") rows.delete(key);
  }),
  "langgraph/delete-writes": instead("deleteThread", async function (_, thread) {
    for (const [key, row] of this.checkpoints) {
      if (row.thread !== thread) continue;
      this.checkpoints.delete(key);
      this.writes.delete(key);
    }
  }),
  "langgraph/delete-values": class extends ByVersion {
    async deleteThread(thread) {
      const { blobs } = this;
      this.blobs = new Map();
      await super.deleteThread(thread);
      this.blobs = blobs;
    }
  },
  "langgraph/delete-unknown": instead("deleteThread", async function (deleteThread, thread) {
    if (this.checkpoints.size === 0) throw new Error("no such table: checkpoints");
    await deleteThread(thread);
  }),
};
