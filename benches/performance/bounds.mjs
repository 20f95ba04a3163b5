// What no store can go below, because it must at least serialise the state: V8's own serialiser, alone.
import { serialize } from "node:v8";
import { sized, summary } from "../lib/measure.mjs";

const ROUNDS = 5;

/**
 * The time of `v8.serialize` in microseconds, the garbage collector's share included, as in all other figures. `count` is
 * the number of calls of a round.
 */
export function serializeTime(value, count = sized(100, 40)) {
  const rounds = Array.from({ length: ROUNDS + 1 }, () => {
    const start = performance.now();
    for (let i = 0; i < count; i++) serialize(value);
    return ((performance.now() - start) * 1000) / count;
  });
  // The first round compiles the code.
  return summary(rounds.slice(1));
}
