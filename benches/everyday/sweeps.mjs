// Measures retention in the background while others save: every save expires after a tenth of the run, so that the store soon deletes
// as much as is saved. There is no peer: the first tenth, in which nothing expires, is beside the rest.
import { subscribe } from "node:diagnostics_channel";
import { performance } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { openStore } from "forkpoint";
import { option, sized, summary } from "../lib/measure.mjs";
import { progress } from "../lib/report.mjs";
import { putThread } from "./put-threads.mjs";
import { threadId } from "./filling.mjs";

const SECONDS = Number(option("seconds") ?? sized(600, 20));
if (!Number.isSafeInteger(SECONDS) || SECONDS < 20) throw new Error("--seconds must be a number from 20 on");
const PARTS = 10;
const PART_MS = (SECONDS * 1_000) / PARTS;
const WRITERS = 16;

export function measure(database) {
  return database.inPlace("ours", async ({ open, target }) => {
    const side = await open({ ttlMs: PART_MS });
    // The first save makes the tables.
    await putThread(side.saver, "first", 0);
    const watching = await openStore(target, { readOnly: true });
    const swept = { removed: 0, workMs: 0, tookMs: 0 };
    subscribe("forkpoint:sweep", (sweep) => {
      for (const name of Object.keys(swept)) swept[name] += sweep[name];
    });
    const parts = [];
    const ending = new AbortController();
    let next = 0;
    let part = newPart();
    const write = async () => {
      while (!ending.signal.aborted) {
        const saver = timing(side.saver, (took) => {
          part.saves += 1;
          part.longest = Math.max(part.longest, took);
        });
        const number = next++;
        await putThread(saver, threadId(number), number);
      }
    };
    const writing = Promise.all(Array.from({ length: WRITERS }, write));
    for (let at = 1; at <= PARTS; at++) {
      await sleep(part.end - performance.now());
      const done = part;
      part = newPart();
      const { fileBytes, checkpoints } = await watching.stats();
      parts.push({ ...done, fileBytes, checkpoints });
      progress(
        `${database.name}: part ${at} of ${PARTS}: ${JSON.stringify({ ...parts.at(-1), swept: swept.removed })}`,
      );
    }
    ending.abort();
    await writing;
    await watching.close();
    const mode = side.mode();
    await side.close();
    const rest = parts.slice(2);
    const perSave = ({ saves }) => (PART_MS * 1_000) / saves;
    const work = `${WRITERS} writers, each save expires after ${PART_MS / 1_000} s`;
    const row = (what, unit, of, goal = {}) => {
      const [theirs, ours] = [summary([of(parts[0])]), summary(rest.map(of))];
      return { work, what, unit, mode, peer: "earlier in the run", ours, theirs, ...goal };
    };
    return [
      row("saves", "rate", perSave, { goal: 0.8 }),
      row("the longest save", "time", ({ longest }) => longest * 1_000),
      {
        ...row("bytes", "bytes", ({ fileBytes }) => fileBytes),
        theirs: summary([parts[1].fileBytes]),
        goal: 0.9,
      },
      { work, what: "deleted a second", unit: "figure", mode, ours: summary([swept.removed / SECONDS]) },
      {
        work,
        what: "time of deleting, of 100",
        detail: true,
        unit: "figure",
        mode,
        ours: summary([(100 * swept.workMs) / (SECONDS * 1_000)]),
      },
    ];

    function newPart() {
      return { saves: 0, longest: 0, end: performance.now() + PART_MS };
    }
  });
}

/** A saver whose puts tell how long they took, in ms. */
function timing(saver, tell) {
  return new Proxy(saver, {
    get(of, name) {
      const value = of[name];
      if (name !== "put") return typeof value === "function" ? value.bind(of) : value;
      return async (...given) => {
        const began = performance.now();
        const saved = await of.put(...given);
        tell(performance.now() - began);
        return saved;
      };
    },
  });
}
