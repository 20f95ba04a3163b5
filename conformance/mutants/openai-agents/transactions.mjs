// Mutants of the methods that a session may have.
import { isDeepStrictEqual } from "node:util";
import { ReferenceSession, ReferenceStore } from "./reference.mjs";

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

export const transactions = {
  "openai-agents/compaction": class extends ReferenceStore {
    replace = async (id, items) => super.replace(id, items.slice(0, 1));
  },
  "openai-agents/compaction-keeps-id": class extends ReferenceSession {
    async replaceHistoryWithCompaction(items) {
      this.id = crypto.randomUUID();
      await super.addItems(items);
    }
  },
  "openai-agents/mutations-replace": class extends ReferenceStore {
    async mutate(id, { mutations: [one] }) {
      const session = this.of(id);
      session.items = session.items.filter((item) => item.type !== "function_call" || item.callId !== one.callId);
      session.items.push(one.replacement);
    }
  },
  "openai-agents/mutations-repeats": class extends ReferenceStore {
    async mutate(id, { mutations }) {
      const session = this.of(id);
      for (const { callId, replacement } of mutations) {
        const isCall = (item) => item.type === "function_call" && item.callId === callId;
        session.items = session.items.map((item) => (isCall(item) ? structuredClone(replacement) : item));
      }
    }
  },
  "openai-agents/mutations-unknown": class extends ReferenceStore {
    async mutate(id, { mutations }) {
      const { items } = this.of(id);
      await super.mutate(id, { mutations });
      for (const { callId, replacement } of mutations)
        if (!items.some((item) => item.callId === callId)) await this.add(id, [replacement]);
    }
  },
  "openai-agents/transaction-append": class extends ReferenceStore {
    async transact(id, args) {
      const before = this.of(id).items.length;
      await super.transact(id, args);
      if (args.transaction.type === "append_items") this.of(id).items.splice(before + 1);
    }
  },
  "openai-agents/transaction-replace": class extends ReferenceStore {
    async transact(id, { operationId, transaction: { type, ...transaction } }) {
      if (type === "append_items")
        return await super.transact(id, { operationId, transaction: { type, ...transaction } });
      const { items } = this.of(id);
      if (isDeepStrictEqual(items.slice(-transaction.expectedSuffix.length), transaction.expectedSuffix))
        items.push(...transaction.replacement);
    }
  },
  "openai-agents/transaction-once": class extends ReferenceStore {
    async transact(id, args) {
      this.of(id).operations.clear();
      await super.transact(id, args);
    }
  },
  "openai-agents/transaction-equal": class extends ReferenceStore {
    texts = new Map();
    async transact(id, args) {
      const key = JSON.stringify([id, args.operationId]);
      const text = JSON.stringify(args.transaction);
      if (this.of(id).operations.has(args.operationId) && this.texts.get(key) !== text) throw new Error("another one");
      await super.transact(id, args);
      this.texts.set(key, text);
    }
  },
  "openai-agents/transaction-other": class extends ReferenceStore {
    async transact(id, args) {
      if (!this.of(id).operations.has(args.operationId)) await super.transact(id, args);
    }
  },
  // Compares the texts of messages alone.
  "openai-agents/transaction-suffix": class extends ReferenceStore {
    async transact(id, { operationId, transaction }) {
      const { expectedSuffix = [] } = transaction;
      const last = this.of(id).items.slice(-expectedSuffix.length);
      const isSame =
        last.length === expectedSuffix.length &&
        last.every(({ content }, at) => content === expectedSuffix[at].content);
      await super.transact(id, {
        operationId,
        transaction: expectedSuffix.length > 0 && isSame ? { ...transaction, expectedSuffix: last } : transaction,
      });
    }
  },
  "openai-agents/transaction-failed": class extends ReferenceStore {
    async transact(id, args) {
      const { operations } = this.of(id);
      await super.transact(id, args).catch((error) => {
        if (!operations.has(args.operationId)) operations.set(args.operationId, structuredClone(args.transaction));
        throw error;
      });
    }
  },
  "openai-agents/transaction-unstorable": class extends ReferenceSession {
    async applyHistoryTransaction({ operationId, transaction }) {
      const { items } = transaction;
      if (items === undefined) return await super.applyHistoryTransaction({ operationId, transaction });
      for (const [at, item] of items.entries())
        await super.applyHistoryTransaction({
          operationId: `${operationId}:${at}`,
          transaction: { ...transaction, items: [item] },
        });
    }
  },
  "openai-agents/transaction-blank-id": class extends ReferenceStore {
    transact = async (id, args) => super.transact(id, { ...args, operationId: `o:${args.operationId}` });
  },
  "openai-agents/transaction-of-session": class extends ReferenceStore {
    operations = new Map();
    of = (id) => Object.assign(super.of(id), { operations: this.operations });
  },
  "openai-agents/transaction-clear": class extends ReferenceStore {
    async clear(id) {
      this.of(id).items = [];
    }
  },
  "openai-agents/transaction-kept": class extends ReferenceStore {
    async pop(id) {
      this.of(id).operations.clear();
      return await super.pop(id);
    }
  },
  // Looks, and changes later.
  "openai-agents/race-transaction-once": class extends ReferenceSession {
    async applyHistoryTransaction({ operationId, transaction }) {
      const isNew = !(await this.getItems()).some(({ content }) => content === operationId);
      await sleep(5);
      if (isNew) await this.addItems(transaction.items);
    }
  },
  "openai-agents/race-suffix": class extends ReferenceSession {
    async applyHistoryTransaction({ transaction: { expectedSuffix, replacement } }) {
      const items = await this.getItems();
      if (!isDeepStrictEqual(items.slice(-1), expectedSuffix)) throw new Error("the suffix is not the end");
      await sleep(5);
      await this.store.replace(this.id, [...items.slice(0, -1), ...replacement]);
    }
  },
};
