// How many bytes are stored.
import { expectations } from "../../suite/expectations.js";
import { measure, textOf } from "../../suite/growth.js";
import { answer, call, result, sessionOf, user } from "./items.js";
import type { SessionStore } from "./store.js";

const words = "the agent reads a file and answers with its lines then asks for more".split(" ");

const turn = (n: number, text: string) => [
  user(`Question ${n}`),
  call(`call_${n}`, JSON.stringify({ file: `${n}.txt` })),
  result(`call_${n}`, text),
  answer(`Answer ${n}`, { id: `msg_${n}` }),
];

export const growth = expectations<SessionStore>("growth", {
  "openai-agents/growth-turns": {
    ours: "a store that keeps each turn's whole conversation grows with the square of the turns",
    title: "takes few bytes for 200 turns of 2 KB",
    async check(trial) {
      const session = await sessionOf(trial);
      let json = 0;
      for (let n = 0; n < 200; n++) {
        const items = turn(n, textOf(words, trial, 2_000));
        json += Buffer.byteLength(JSON.stringify(items));
        await session.addItems(items);
      }
      await measure(trial, "200 turns of 2 KB", { of: "of their JSON", bytes: json });
    },
  },
  "openai-agents/growth-cleared": {
    ours: "a cleared conversation need not take its bytes for good",
    title: "takes few bytes for 20 conversations of 50 KB that are cleared, one after the other",
    async check(trial) {
      for (let round = 0; round < 20; round++) {
        const session = await sessionOf(trial);
        for (let n = 0; n < 5; n++)
          await session.addItems([0, 1, 2, 3, 4].flatMap((at) => turn(n * 5 + at, textOf(words, trial, 2_000))));
        await session.clearSession();
      }
      await measure(trial, "20 cleared conversations of 50 KB");
    },
  },
});
