// Mutants of the groups order and hostile.
import { ReferenceSaver } from "./reference.mjs";

const less = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** Returns a class in which writes are in another order. */
const writesBy = (compare) =>
  class extends ReferenceSaver {
    writesOf = (...place) => super.writesOf(...place).toSorted(compare);
  };

/** Returns a class whose `find` has other arguments. */
const finds = (change) =>
  class extends ReferenceSaver {
    find = (config, options = {}) => super.find(...change.call(this, config, options));
  };

/** Returns a class in which names are changed before they are used. */
const renames = (rename) =>
  class extends ReferenceSaver {
    place(config) {
      const [thread, ns, id] = super.place(config);
      return [typeof thread === "string" ? rename(thread) : thread, typeof ns === "string" ? rename(ns) : ns, id];
    }

    find(config, options) {
      const { thread_id, checkpoint_ns, ...rest } = config.configurable ?? {};
      return super.find(
        {
          configurable: {
            ...rest,
            ...(thread_id !== undefined && { thread_id: rename(thread_id) }),
            ...(checkpoint_ns !== undefined && { checkpoint_ns: rename(checkpoint_ns) }),
          },
        },
        options,
      );
    }

    deleteThread = (thread) => super.deleteThread(rename(thread));
  };

/** Returns a class in which values that are put are changed. */
const values = (change) =>
  class extends ReferenceSaver {
    put(config, checkpoint, ...rest) {
      const changed = Object.fromEntries(
        Object.entries(checkpoint.channel_values).map(([name, value]) => [name, change(value)]),
      );
      return super.put(config, { ...checkpoint, channel_values: changed }, ...rest);
    }
  };

/** Returns a class in which values that are written are changed. */
const written = (change) =>
  class extends ReferenceSaver {
    putWrites(config, writes, ...rest) {
      return super.putWrites(
        config,
        writes.map(([channel, value]) => [channel, change(value)]),
        ...rest,
      );
    }
  };

const asText = (value) =>
  value instanceof Uint8Array ? new TextEncoder().encode(new TextDecoder().decode(value)) : value;
const well = (text) => text.toWellFormed();

export const order = {
  "langgraph/latest": class extends ReferenceSaver {
    rows = (thread, ns) => super.rows(thread, ns).toReversed();
  },
  // It goes by the ids.
  "langgraph/latest-clock": class extends ReferenceSaver {
    rows = (thread, ns) => super.rows(thread, ns).toSorted((a, b) => less(b.id, a.id));
  },
  "langgraph/list-order": class extends ReferenceSaver {
    order = (a, b) => -super.order(a, b);
  },
  "langgraph/list-order-everywhere": class extends ReferenceSaver {
    order = (a, b) => less(a.thread, b.thread) || less(a.ns, b.ns) || super.order(a, b);
  },
  "langgraph/list-limit": finds((config, { limit, ...rest }) => [config, { ...rest, limit: limit && limit + 1 }]),
  "langgraph/list-limit-zero": finds((config, { limit, ...rest }) => [config, limit ? { ...rest, limit } : rest]),
  "langgraph/list-before": class extends ReferenceSaver {
    async find(config, options = {}) {
      const [thread, ns = ""] = this.place(config);
      const end = options.before?.configurable?.checkpoint_id;
      // It begins after the place of a checkpoint that need not be there.
      const isKnown = end === undefined || this.checkpoints.has(this.key(thread, ns, end));
      return isKnown ? await super.find(config, options) : [];
    }
  },
  "langgraph/list-before-none": finds(function (config, options) {
    const id = options.before && (options.before.configurable?.checkpoint_id ?? "");
    return [config, id === undefined ? options : { ...options, before: { configurable: { checkpoint_id: id } } }];
  }),
  "langgraph/list-before-elsewhere": class extends ReferenceSaver {
    async find(config, options = {}) {
      const found = await super.find(
        { ...config, configurable: { ...config.configurable, checkpoint_ns: undefined } },
        options,
      );
      const ns = config.configurable?.checkpoint_ns;
      return found.filter((each) => ns === undefined || each.configurable.checkpoint_ns === ns);
    }
  },
  "langgraph/filter-limit": class extends ReferenceSaver {
    async find(config, { filter, ...options } = {}) {
      const found = await super.find(config, options);
      return found.filter((each) => this.passes(this.row(each).metadata, filter ?? {}));
    }
  },
  "langgraph/list-while-saving": {
    wrap: (saver) => ({
      ...saver,
      async *list(config, options = {}) {
        for (let at = 0; ; at++) {
          let skipped = 0;
          for await (const tuple of saver.list(config, options)) if (skipped++ === at) yield tuple;
          if (skipped <= at) return;
        }
      },
    }),
  },
  "langgraph/writes-order": writesBy((a, b) => less(a.path, b.path) || a.index - b.index),
  "langgraph/writes-path-order": writesBy((a, b) => less(a.task, b.task) || a.index - b.index),
  "langgraph/delta-order": writesBy((a, b) => less(a.task, b.task) || less(`${a.index}`, `${b.index}`)),
};

export const hostile = {
  "langgraph/filter-dots": class extends ReferenceSaver {
    passes(metadata, filter) {
      const at = (path) => path.split(".").reduce((value, key) => value?.[key], metadata);
      return Object.entries(filter).every(([path, value]) => at(path) === value);
    }
  },
  "langgraph/filter-keys": class extends ReferenceSaver {
    passes(metadata, filter) {
      for (const key of Object.keys(filter)) if (/["'\\]/.test(key)) throw new Error(`bad JSON path: $.${key}`);
      return super.passes(metadata, filter);
    }
  },
  "langgraph/values": values((value) =>
    value instanceof Map || value instanceof Set ? JSON.parse(JSON.stringify(value)) : value,
  ),
  "langgraph/bytes": values(asText),
  "langgraph/bytes-in-writes": written(asText),
  "langgraph/metadata-nul": class extends ReferenceSaver {
    put(config, checkpoint, metadata, ...rest) {
      const text = JSON.stringify(metadata).replaceAll("\\u0000", "");
      return super.put(config, checkpoint, JSON.parse(text), ...rest);
    }
  },
  "langgraph/unserializable": values((value) => (typeof value?.cents === "bigint" ? "[unable to serialize]" : value)),
  "langgraph/large-values": written((value) =>
    value?.text?.length > 1_000_000 ? { text: value.text.slice(0, 1_000_000) } : value,
  ),
  "langgraph/names": renames((name) => name.normalize("NFC")),
  "langgraph/long-names": renames((name) => name.slice(0, 255)),
  "langgraph/channel-names": class extends ReferenceSaver {
    put(config, checkpoint, ...rest) {
      const named = Object.entries(checkpoint.channel_values).map(([name, value]) => [name.split(".")[0], value]);
      return super.put(config, { ...checkpoint, channel_values: Object.fromEntries(named) }, ...rest);
    }
  },
  "langgraph/prototype-channels": class extends ReferenceSaver {
    async putWrites(config, writes, ...rest) {
      for (const [channel] of writes)
        if (typeof {}[channel] === "function") throw new TypeError("SQLite3 can only bind numbers");
      await super.putWrites(config, writes, ...rest);
    }
  },
  "langgraph/prototype-names": class extends ReferenceSaver {
    threads = {};

    async put(config, ...rest) {
      const [thread, ns] = this.place(config);
      (this.threads[thread] ??= {})[ns] = true;
      return await super.put(config, ...rest);
    }
  },
  "langgraph/nul-names": renames((name) => name.split("\u0000")[0]),
  "langgraph/surrogate-names": renames(well),
};
