// The compared sides, each with its default options: two savers of LangGraph, and a table of one's own.
import { place, putsTo } from "../lib/puts.mjs";
import { ForkpointSaver, Pool, PostgresSaver, uuid6 } from "./packages.mjs";

/**
 * A side has these members. `saver` is LangGraph's, if the side is one of its savers. `open(thread)` returns a function that saves the next state of a thread: it gets the state,
 * and the names of the channels that have changed. `latest(thread)` and `list(thread, limit)` return states.
 */
export const sides = {
  async ours(url, options) {
    const saver = new ForkpointSaver(url, options);
    return { ...savesTo(saver), close: () => saver.close() };
  },
  async theirs(url) {
    const saver = new PostgresSaver(poolOf(url));
    return { ...savesTo(saver), setup: () => saver.setup(), close: () => saver.end() };
  },
  async plain(url) {
    const pool = poolOf(url);
    return {
      setup: () => pool.query(TABLE),
      open(thread) {
        let parent;
        return async (state) => {
          const id = uuid6(0);
          await pool.query(INSERT, [thread, id, parent, JSON.stringify(state)]);
          parent = id;
        };
      },
      latest: async (thread) => (await newest(pool, thread, 1))[0],
      list: (thread, limit) => newest(pool, thread, limit),
      close: () => pool.end(),
    };
  },
};

/**
 * A pool as `PostgresSaver.fromConnString` makes it, but it keeps idle connections. To close them would be counted in the
 * turn of another side.
 */
function poolOf(url) {
  const pool = new Pool({ connectionString: url, idleTimeoutMillis: 0 });
  // `end` does not wait until its connections are closed, so the drop of the database may end them first. The pool emits that
  // as an error. An error of a query rejects the query all the same.
  return pool.on("error", () => {});
}

const TABLE = `CREATE TABLE saved (thread text, id text, parent text, state text NOT NULL, PRIMARY KEY (thread, id))`;
const INSERT = "INSERT INTO saved (thread, id, parent, state) VALUES ($1, $2, $3, $4)";

async function newest(pool, thread, limit) {
  const text = "SELECT state FROM saved WHERE thread = $1 ORDER BY id DESC LIMIT $2";
  const { rows } = await pool.query(text, [thread, limit]);
  return rows.map(({ state }) => JSON.parse(state));
}

/** Saves through `put` as LangGraph does. */
function savesTo(saver) {
  return {
    saver,
    open: (thread) => putsTo(saver, uuid6, thread),
    latest: async (thread) => (await saver.getTuple(place(thread)))?.checkpoint.channel_values,
    async list(thread, limit) {
      const states = [];
      for await (const { checkpoint } of saver.list(place(thread), { limit })) states.push(checkpoint.channel_values);
      return states;
    },
  };
}
