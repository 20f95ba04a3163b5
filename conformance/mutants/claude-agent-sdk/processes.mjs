// Mutants that are wrong over processes, and those that store too much.
import { closeSync, openSync, rmSync } from "node:fs";
import { ReferenceStore, fold } from "./reference.mjs";

const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const id = ({ projectKey, sessionId }) => JSON.stringify([projectKey, sessionId]);

/** Appends by loading the session and replacing it, after `ms`. */
const replacing = (ms) => ({
  wrap: (store) => ({
    async append(key, entries) {
      const before = (await store.load(key)) ?? [];
      if (ms > 0) await sleep(ms);
      return store.replace(key, [...before, ...entries]);
    },
  }),
});

/** Each figure of the mutant is twice that of the reference, or more. */
const isWorse = (mutant, reference) =>
  mutant.length > 0 && mutant.every(({ value }, n) => value > 1.9 * reference[n].value);

export const processes = {
  "claude-agent-sdk/restart-entries": { faults: { forgets: (method, [key]) => method === "append" && key.subpath } },
  "claude-agent-sdk/restart-lists": {
    wrap(store) {
      const opened = Date.now();
      return {
        // As if the times were those of a copy in memory, which is made when the store is opened.
        async listSessions(projectKey) {
          const all = await store.listSessions(projectKey);
          return all.map(({ sessionId, mtime }) => ({ sessionId, mtime: Math.max(mtime, opened) }));
        },
      };
    },
  },
  "claude-agent-sdk/restart-summary": {
    wrap(store) {
      const known = new Map();
      return {
        async append(key, entries) {
          await store.append(key, entries);
          const [{ mtime }] = await store.listSessions(key.projectKey);
          if (key.subpath === undefined) known.set(id(key), fold(known.get(id(key)), key, entries, { mtime }));
        },
        async listSessionSummaries(projectKey) {
          const all = await store.listSessionSummaries(projectKey);
          return all.map((summary) => known.get(id({ ...summary, projectKey })) ?? summary);
        },
      };
    },
  },
  "claude-agent-sdk/restart-uuid": {
    store: class extends ReferenceStore {
      fresh = (_, texts) => texts;
    },
    wrap(store) {
      const seen = new Set();
      return {
        async append(key, entries) {
          const added = entries.filter(({ uuid }) => uuid === undefined || !seen.has(`${JSON.stringify(key)}${uuid}`));
          for (const { uuid } of added) seen.add(`${JSON.stringify(key)}${uuid}`);
          return store.append(key, added);
        },
      };
    },
  },
  "claude-agent-sdk/race-sees": { faults: { isDeaf: true } },
  "claude-agent-sdk/race-appends": replacing(5),
  "claude-agent-sdk/race-contiguous": {
    wrap: (store) => ({
      async append(key, entries) {
        for (const entry of structuredClone(entries)) {
          await store.append(key, [entry]);
          await sleep(2);
        }
      },
    }),
  },
  "claude-agent-sdk/race-uuid": {
    store: class extends ReferenceStore {
      fresh = (_, texts) => texts;
    },
    wrap: (store) => ({
      async append(key, entries) {
        const known = new Set((await store.load(key))?.map(({ uuid }) => uuid));
        await sleep(20);
        return store.append(
          key,
          entries.filter(({ uuid }) => uuid === undefined || !known.has(uuid)),
        );
      },
    }),
  },
  "claude-agent-sdk/race-summary": {
    wrap: (store) => ({
      async append(key, entries) {
        const find = async () => {
          const all = await store.listSessionSummaries(key.projectKey);
          return all.find(({ sessionId }) => sessionId === key.sessionId);
        };
        const before = await find();
        await store.append(key, entries);
        await sleep(20);
        const { mtime } = await find();
        return store.setSummary(key, fold(before, key, entries, { mtime }));
      },
    }),
  },
  "claude-agent-sdk/kill-keeps": { faults: { lateMs: 200 } },
  "claude-agent-sdk/kill-all-or-none": {
    faults: { tornMs: 40, half: (_, [key, entries]) => [key, entries.slice(0, entries.length / 2)] },
  },
  "claude-agent-sdk/kill-summary": {
    wrap: (store) => ({
      async append(key, entries) {
        const all = await store.listSessionSummaries(key.projectKey);
        const before = all.find(({ sessionId }) => sessionId === key.sessionId);
        await store.setSummary(key, fold(before, key, entries, { mtime: Date.now() + 1_000 }));
        await sleep(40);
        return store.append(key, entries);
      },
    }),
  },
  "claude-agent-sdk/kill-then-append": {
    wrap: (store, target) => ({
      async append(key, entries) {
        const path = `${target}.mine`;
        for (let attempt = 0; ; attempt++) {
          try {
            closeSync(openSync(path, "wx"));
            break;
          } catch (error) {
            // Its process may be dead, and nobody looks.
            if (attempt > 40) throw error;
            await sleep(5);
          }
        }
        await store.append(key, entries);
        await sleep(20);
        rmSync(path, { force: true });
      },
    }),
  },
  "claude-agent-sdk/growth-turns": { ...replacing(0), isWorse },
  "claude-agent-sdk/growth-eager": { ...replacing(0), isWorse },
  "claude-agent-sdk/growth-deleted": {
    wrap: (store) => ({
      // The deleted entries stay, under another key.
      async delete(key) {
        const entries = await store.load(key);
        await store.append({ ...key, projectKey: "deleted" }, entries ?? []);
        return store.delete(key);
      },
    }),
    isWorse,
  },
};
