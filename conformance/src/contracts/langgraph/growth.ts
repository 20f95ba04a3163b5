// How many bytes are stored, and how many are read.
import { expectations } from "../../suite/expectations.js";
import { measure } from "../../suite/growth.js";
import type { Config, Saver } from "./store.js";
import { at, save } from "./cases.js";

/** Returns a text of that many letters that do not repeat. */
function text(random: (below: number) => number, length: number): string {
  let made = "";
  while (made.length < length) made += random(2 ** 31).toString(36);
  return made.slice(0, length);
}

export const growth = expectations<Saver>("growth", {
  "langgraph/growth-steps": {
    ours: "each step adds a message of 2 KB to a list, which LangGraph passes as a whole",
    title: "takes few bytes for 200 steps that add 2 KB each",
    async checkStore(store, trial) {
      const messages: string[] = [];
      let on: Config = at();
      for (let step = 1; step <= 200; step++) {
        messages.push(text(trial.random, 2_000));
        on = await save(store, step, { on, values: { messages: [...messages] } });
      }
      await measure(trial, "200 steps of +2 KB");
    },
  },
  "langgraph/growth-unchanged": {
    ours: "a channel with a document of 100 KB does not change, and LangGraph passes it with every step",
    title: "takes few bytes for 100 steps beside a channel of 100 KB that does not change",
    async checkStore(store, trial) {
      const document = text(trial.random, 100_000);
      let on: Config = at();
      for (let step = 1; step <= 100; step++) {
        const versions = { step, document: 1 };
        const fresh = step === 1 ? versions : { step };
        on = await save(store, step, { on, values: { step, document }, versions, fresh });
      }
      await measure(trial, "100 steps beside 100 KB");
    },
  },
  "langgraph/growth-branches": {
    ours: "time travel makes branches of a long thread, and each has nearly the same state",
    title: "takes few bytes for 50 branches of a checkpoint with 100 KB that change 100 bytes each",
    async checkStore(store, trial) {
      const parts = Array.from({ length: 100 }, () => text(trial.random, 1_000));
      const on = await save(store, 1, { values: { parts } });
      for (let step = 2; step <= 51; step++)
        await save(store, step, { on, values: { parts: [...parts, text(trial.random, 100)] }, versions: { parts: 2 } });
      await measure(trial, "50 branches of 100 KB");
    },
  },
  "langgraph/growth-list": {
    ours: "`list` is an async generator, and time travel often asks it for one checkpoint of a long thread",
    title: "takes few bytes of memory for a list of 100 checkpoints of 200 KB of which the first is read",
    async checkStore(store, trial) {
      for (let step = 1; step <= 100; step++)
        await save(store, step, { values: { document: text(trial.random, 200_000) } });
      await trial.bytes();
      const bytes = await trial.child("first").result();
      if (bytes !== undefined) trial.figure("the first of 100 x 200 KB listed", bytes, "bytes");
    },
  },
});
