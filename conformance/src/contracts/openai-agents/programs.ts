// What runs in other processes. The session is "s" if the input names no other.
import type { Program } from "../../suite/types.js";
import { block, numbered, textOf, texts, user } from "./items.js";
import type { SessionStore } from "./store.js";
import { append, offered, replaceHistory, replaceSuffix, transact } from "./offered.js";

export const programs: Record<string, Program<SessionStore>> = {
  async readTexts({ store }) {
    return await texts(await store.session("s"));
  },

  /** Reads whenever it is told to, by one session object. */
  async readOnDemand({ store, say, told }) {
    const session = await store.session("s");
    for (;;) {
      await say(await texts(session));
      await told();
    }
  },

  /** Adds calls of 4 items when it is told to. */
  async addBlocks({ store, input: { name, calls }, say, told }) {
    const session = await store.session("s");
    await session.getItems();
    await say("ready");
    await told();
    for (let n = 0; n < calls; n++) await session.addItems(block(`${name}:${n}`, 4));
  },

  /** Removes items until there is none. Returns their texts. */
  async popAll({ store, say, told }) {
    const session = await store.session("s");
    await session.getItems();
    await say("ready");
    await told();
    const popped: unknown[] = [];
    for (let item = await session.popItem(); item !== undefined; item = await session.popItem())
      popped.push(textOf(item));
    return popped;
  },

  /** Tries so many times to remove an item. Returns the texts of those that it got. */
  async popMany({ store, input: { count }, say, told }) {
    const session = await store.session("s");
    await session.getItems();
    await say("ready");
    await told();
    const popped: unknown[] = [];
    for (let n = 0; n < count; n++) {
      const item = await session.popItem();
      if (item !== undefined) popped.push(textOf(item));
    }
    return popped;
  },

  /** Tries each operation once. */
  async transactAll({ store, input: { operations }, say, told }) {
    const session = await store.session("s");
    await session.getItems();
    await say("ready");
    await told();
    for (const operation of operations) await transact(session, operation, append(user(operation)));
  },

  /**
   * Reads the one item, a number, and replaces it by the next one. Returns how often that was accepted. It may be refused only if the
   * number has become another one.
   */
  async countUp({ store, input: { name, tries }, say, told }) {
    const session = await store.session("s");
    offered(session, "applyHistoryTransaction");
    const read = async () => Number(textOf((await session.getItems())[0]));
    await read();
    await say("ready");
    await told();
    let wins = 0;
    for (let n = 0; n < tries; n++) {
      const count = await read();
      const next = replaceSuffix(numbered(count, count + 1), numbered(count + 1, count + 2));
      try {
        await transact(session, `${name}${n}`, next);
        wins++;
      } catch (error) {
        if ((await read()) === count) throw error;
      }
    }
    return wins;
  },

  /** Adds calls of so many items, and says the number of each that is stored. */
  async addForever({ store, input: { size, name }, say }) {
    const session = await store.session("s");
    for (let n = 0; ; n++) {
      await session.addItems(block(name === undefined ? `${n}` : `${name}:${n}`, size));
      await say(n);
    }
  },

  async popForever({ store, say }) {
    const session = await store.session("s");
    for (let n = 0; ; n++) {
      await session.popItem();
      await say(n);
    }
  },

  /** Replaces the history by a compaction and so many items. */
  async replaceForever({ store, input: { size }, say }) {
    const session = await store.session("s");
    for (let n = 0; ; n++) {
      await replaceHistory(session, [{ type: "compaction", encrypted_content: `${n}` }, ...block(`${n}`, size)]);
      await say(n);
    }
  },

  /** Applies operations of two items in a session of this name. */
  async transactForever({ store, input: { name }, say }) {
    const session = await store.session(name);
    for (let n = 0; ; n++) {
      await transact(session, `${n}`, append(user(`${n}`), user(`${n}b`)));
      await say(n);
    }
  },
};
