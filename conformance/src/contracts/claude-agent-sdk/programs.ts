// What runs in other processes.
import type { Program } from "../../suite/types.js";
import type { Entry, Key, Store } from "./store.js";

/** The entries of a writer's append: each names the writer, the append and its place in it. */
export function batch(writer: string, n: number, size: number): Entry[] {
  return Array.from({ length: size }, (_, at) => ({
    type: "user",
    uuid: `${writer}-${n}-${at}`,
    writer,
    batch: n,
    at,
    ...(at === size - 1 ? { customTitle: `${writer}-${n}` } : {}),
  }));
}

export const programs: Record<string, Program<Store>> = {
  /** Makes the given appends. */
  async append({ store, input }) {
    const { appends } = input as { appends: Array<[Key, Entry[]]> };
    for (const [key, entries] of appends) await store.append(key, entries);
  },

  /** Appends until it is killed, and says the number of each append that is stored. */
  async appendForever({ store, input, say }) {
    const { key, writer, size } = input as { key: Key; writer: string; size: number };
    for (let n = 0; ; n++) {
      await store.append(key, batch(writer, n, size));
      await say(n);
    }
  },

  /** Appends a number of times as fast as it can, and waits for a word before. */
  async appendMany({ store, input, say, told }) {
    const { key, writer, size, count } = input as { key: Key; writer: string; size: number; count: number };
    await say("ready");
    await told();
    for (let n = 0; n < count; n++) await store.append(key, batch(writer, n, size));
  },

  /** Appends the entries to each session that it is told of. */
  async appendWhenTold({ store, input, say, told }) {
    const { entries } = input as { entries: Entry[] };
    await say("ready");
    for (;;) {
      const key: Key | undefined = await told();
      if (key === undefined) return;
      await store.append(key, entries);
      await say("done");
    }
  },

  /** Returns the entries that another process sees. */
  load: ({ store, input: { key } }) => store.load(key),
};
