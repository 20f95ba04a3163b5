// How many bytes are stored.
import { expectations } from "../../suite/expectations.js";
import { measure, textOf } from "../../suite/growth.js";
import type { Trial } from "../../suite/types.js";
import { key, message, method, uuidOf } from "./entries.js";
import type { Entry, Store } from "./store.js";

const words = ["the", "agent", "reads", "a", "file", "and", "answers", "with", "its", "lines", "then", "asks", "more"];

/** An entry of 1 KB, with what the agent writes beside the text. */
function entryOf(trial: Trial<Store>, n: number): Entry {
  const more = {
    parentUuid: uuidOf(n - 1),
    sessionId: key.sessionId,
    cwd: "/home/ada/agent",
    version: "2.1.0",
    gitBranch: "main",
  };
  const content = [{ type: "text", text: textOf(words, trial, 700) }];
  return message(n, { ...more, timestamp: new Date(1.76e12 + n).toISOString(), message: { role: "user", content } });
}

/** Appends 200 turns of 2 KB. Returns how many bytes their JSON has. */
async function append(trial: Trial<Store>, split: (entries: Entry[]) => Entry[][]) {
  const store = await trial.store();
  let json = 0;
  for (let n = 0; n < 200; n++) {
    const turn = [entryOf(trial, 2 * n + 1), entryOf(trial, 2 * n + 2)];
    json += Buffer.byteLength(JSON.stringify(turn));
    for (const entries of split(turn)) await store.append(key, entries);
  }
  return { of: "of their JSON", bytes: json };
}

export const growth = expectations<Store>("growth", {
  "claude-agent-sdk/growth-turns": {
    ours: "a store that writes the whole session each time grows with the square of its turns",
    title: "takes few bytes for 200 turns of 2 KB",
    check: async (trial) => await measure(trial, "200 turns of 2 KB", await append(trial, (turn) => [turn])),
  },
  "claude-agent-sdk/growth-eager": {
    ours: 'with `sessionStoreFlush: "eager"`, the SDK appends each entry by itself',
    title: "takes few bytes for 400 entries of 1 KB that are appended one at a time",
    async check(trial) {
      const json = await append(trial, (turn) => turn.map((one) => [one]));
      await measure(trial, "400 entries of 1 KB, one at a time", json);
    },
  },
  "claude-agent-sdk/growth-deleted": {
    ours: "deleted sessions need not take their bytes for good",
    title: "takes few bytes for 20 sessions of 50 KB that are deleted, one after the other",
    async checkStore(store, trial) {
      for (let n = 0; n < 20; n++) {
        const of = { ...key, sessionId: uuidOf(n) };
        for (let turn = 0; turn < 5; turn++) {
          const entries = Array.from({ length: 10 }, (_, at) => entryOf(trial, 10 * turn + at + 1));
          await store.append(of, entries);
        }
        await method(store, "delete")(of);
      }
      await measure(trial, "20 deleted sessions of 50 KB");
    },
  },
});
