// How many bytes are stored.
import { expectations } from "../../suite/expectations.js";
import { answer, call, result, sessionOf, user } from "./items.js";
import type { SessionStore } from "./store.js";

/** 2,000 characters that differ between turns. */
function words(random: (below: number) => number): string {
  const some = [
    "the",
    "agent",
    "reads",
    "a",
    "file",
    "and",
    "answers",
    "with",
    "its",
    "lines",
    "then",
    "asks",
    "for",
    "more",
  ];
  let text = "";
  while (text.length < 2_000) text += `${some[random(some.length)]} ${random(1_000)} `;
  return text.slice(0, 2_000);
}

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
        const items = turn(n, words(trial.random));
        json += Buffer.byteLength(JSON.stringify(items));
        await session.addItems(items);
      }
      const bytes = await trial.bytes();
      if (bytes === undefined) return;
      trial.figure("200 turns of 2 KB", bytes, "bytes");
      trial.figure("200 turns of 2 KB, of their JSON", bytes / json, "times");
    },
  },
  "openai-agents/growth-cleared": {
    ours: "a cleared conversation need not take its bytes for good",
    title: "takes few bytes for 20 conversations of 50 KB that are cleared, one after the other",
    async check(trial) {
      for (let round = 0; round < 20; round++) {
        const session = await sessionOf(trial);
        for (let n = 0; n < 5; n++)
          await session.addItems([0, 1, 2, 3, 4].flatMap((at) => turn(n * 5 + at, words(trial.random))));
        await session.clearSession();
      }
      const bytes = await trial.bytes();
      if (bytes !== undefined) trial.figure("20 cleared conversations of 50 KB", bytes, "bytes");
    },
  },
});
