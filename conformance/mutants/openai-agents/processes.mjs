// Mutants that go wrong when the store is opened again, or when other processes use it.
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { ReferenceSession } from "./reference.mjs";

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** A store whose file does not have some changes. */
const forgetting = (which) => ({ faults: { forgets: (method) => method === which } });

let target;

export const processes = {
  "openai-agents/restart-items": forgetting("add"),
  "openai-agents/restart-exact": {
    // Has a cache, so it shows only later what was stored.
    encode: (args) => JSON.parse(JSON.stringify(args), (_, value) => value ?? undefined),
  },
  // Numbers items from 0 whenever it is opened.
  "openai-agents/restart-append": class extends ReferenceSession {
    async addItems(items) {
      const before = await this.getItems();
      this.store.positions ??= new Map();
      const { positions } = this.store;
      const at = positions.get(this.id) ?? 0;
      positions.set(this.id, at + items.length);
      await this.store.replace(this.id, [...before.slice(0, at), ...items, ...before.slice(at + items.length)]);
    }
  },
  "openai-agents/restart-pop": forgetting("pop"),
  "openai-agents/restart-clear": forgetting("clear"),
  // Does not store a session whose id it has made up.
  "openai-agents/restart-id": class extends ReferenceSession {
    addItems = async (items) => (this.id.length === 36 ? undefined : super.addItems(items));
  },
  "openai-agents/restart-transaction": class extends ReferenceSession {
    async applyHistoryTransaction({ operationId, transaction }) {
      this.applied ??= new Map();
      if (this.applied.get(operationId) === JSON.stringify(transaction)) return;
      await super.addItems(transaction.items);
      this.applied.set(operationId, JSON.stringify(transaction));
    }
  },
  "openai-agents/process-reads": {
    begin: (given) => {
      target = `${given}-${process.pid}`;
    },
    session: class extends ReferenceSession {
      constructor(store, id) {
        super(store, `${target}:${id}`);
      }
    },
  },
  "openai-agents/process-sees-changes": { faults: { isDeaf: true } },
  "openai-agents/race-add": { faults: { unlockedMs: 10 } },
  "openai-agents/race-add-together": class extends ReferenceSession {
    async addItems(items) {
      for (const item of items) {
        await super.addItems([item]);
        await sleep(5);
      }
    }
  },
  // Reads the newest item, and removes whichever is the newest then.
  "openai-agents/race-pop": class extends ReferenceSession {
    async popItem() {
      const [item] = await this.getItems(1);
      await sleep(5);
      await super.popItem();
      return item;
    }
  },
  // Reads all, and writes all but the newest.
  "openai-agents/race-pop-add": class extends ReferenceSession {
    async popItem() {
      const items = await this.getItems();
      await sleep(5);
      if (items.length > 0) await this.store.replace(this.id, items.slice(0, -1));
      return items.at(-1);
    }
  },
  "openai-agents/kill-keeps": { faults: { lateMs: 200 } },
  "openai-agents/kill-all-or-none": { faults: { tornMs: 5, half: (_, [id, items]) => [id, items.slice(0, 20)] } },
  "openai-agents/kill-then-add": {
    // Leaves a lock behind.
    begin: (given) => {
      target = given;
    },
    session: class extends ReferenceSession {
      async addItems(items) {
        const lock = `${target}.adding`;
        if (existsSync(lock)) throw new Error("another process adds items");
        writeFileSync(lock, "");
        await super.addItems(items);
        await sleep(5);
        rmSync(lock);
      }
    },
  },
  "openai-agents/kill-pop": { faults: { lateMs: 200, forgets: (method) => method === "pop" } },
  "openai-agents/kill-compaction": class extends ReferenceSession {
    async replaceHistoryWithCompaction(items) {
      await this.clearSession();
      await sleep(5);
      await this.addItems(items);
    }
  },
  "openai-agents/kill-transaction": {
    faults: { tornMs: 5, half: (_, [id, args]) => [id, { ...args, operationId: `half of ${args.operationId}` }] },
  },
};
