// Stores that fail in other processes, or take too many bytes.
import { existsSync, mkdirSync, writeFileSync, readFileSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";
import { deserialize, serialize } from "node:v8";
import { changes, ReferenceStore } from "./reference.mjs";

/** Returns the place of a row in an order that each process has for itself. */
const mixed = ({ order }) => (order * process.pid) % 10_007;

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns a store that writes its whole file at each change. Two processes overwrite each other's. */
function wholeFile(target) {
  mkdirSync(dirname(target), { recursive: true });
  const call = async (method, args) => {
    const calls = existsSync(target) ? deserialize(readFileSync(target)) : [];
    const store = new ReferenceStore(() => 0);
    for (const one of calls) await store[one.method](...one.args);
    const result = await store[method](...args);
    if (!changes.includes(method)) return result;
    writeFileSync(`${target}.${process.pid}`, serialize([...calls, { method, args }]));
    await sleep(10);
    renameSync(`${target}.${process.pid}`, target);
    return result;
  };
  return new Proxy({}, { get: (_, method) => (method === "then" ? undefined : (...args) => call(method, args)) });
}

/** Returns a mutant whose records of a method have as many more bytes as `bytes` says. */
const padding = (wanted, bytes) => ({
  encode: (args, method) => (method === wanted ? [...args, Buffer.alloc(bytes(...args))] : args),
  decode: (args, method) => (method === wanted ? args.slice(0, -1) : args),
  isWorse: ([mutant], [reference]) => mutant.value > reference.value * 1.5,
});

export const processes = {
  "agentos/reopen": { faults: { forgets: () => true } },
  "agentos/other-process": { at: (target) => `${target}.${process.pid}` },
  "agentos/sees-others": { faults: { isDeaf: true } },
  // The order is that of the calls of one handle: what is read from the file comes in the order of the ids.
  "agentos/reopen-order": {
    decode: (args, method) => (method === "save" ? [args[0], true] : args),
    store: class extends ReferenceStore {
      async save(checkpoint, isOfFile) {
        await super.save(checkpoint);
        if (isOfFile) this.rows.get(checkpoint.id).order = -Number(checkpoint.id.slice(-12));
      }
    },
  },
  "agentos/reopen-deleted": { faults: { forgets: (method) => method === "delete" } },

  "agentos/race-of-saves": { open: wholeFile },
  "agentos/race-has-one-order": class extends ReferenceStore {
    compare = (one, other) => other.timestamp - one.timestamp || mixed(one) - mixed(other);
  },
  // Each process has rows of its own, and all of them are read.
  "agentos/race-of-one-id": class extends ReferenceStore {
    put(checkpoint) {
      const { id, nodeId } = checkpoint;
      super.put(checkpoint);
      const row = this.rows.get(id);
      this.rows.delete(id);
      this.rows.set(`${id} of ${nodeId}`, row);
    }
    get = async (checkpointId) => this.read(this.select((row) => row.id === checkpointId)[0]);
  },
  "agentos/race-of-forks": { faults: { unlockedMs: 10 } },

  "agentos/kill-keeps-saves": { faults: { lateMs: 200 } },
  "agentos/kill-leaves-no-half": {
    faults: { tornMs: 300, half: (_, [checkpoint]) => [{ ...checkpoint, nodeResults: {}, pendingEdges: [] }] },
  },
  // The lock of a process that was killed is never given back.
  "agentos/kill-leaves-it-usable": {
    around(store, target) {
      const lock = `${target}.open`;
      return {
        async save(checkpoint) {
          if (existsSync(lock) && readFileSync(lock, "utf8") !== `${process.pid}`)
            throw new Error("the store is locked");
          writeFileSync(lock, `${process.pid}`);
          await store.save(checkpoint);
          await sleep(300);
          rmSync(lock, { force: true });
        },
      };
    },
  },
  "agentos/kill-in-save-again": {
    around: (store) => ({
      async save(checkpoint) {
        await store.delete(checkpoint.id);
        await sleep(300);
        await store.save(checkpoint);
      },
    }),
  },
  "agentos/kill-keeps-forks": { faults: { forgets: (method) => method === "fork" } },
  "agentos/kill-keeps-deletes": { faults: { forgets: (method) => method === "delete" } },

  "agentos/growth-of-steps": padding("save", (checkpoint) => JSON.stringify(checkpoint).length),
  "agentos/growth-of-forks": padding("fork", () => 200_000),
  "agentos/growth-after-deletes": padding("delete", () => 400_000),
};
