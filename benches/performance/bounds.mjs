// What no store can go below, because it must at least serialise the state: V8's own serialiser, alone.
import { serialize } from "node:v8";
import { sized, summary } from "../lib/measure.mjs";
import { checkpoint } from "../lib/states.mjs";

/** The time of a synchronous call in microseconds, the garbage collector's share included, as in all other figures. */
export function timeOf(work, count = sized(400, 40)) {
  // The first calls compile the code.
  for (let i = 0; i < count; i++) work(i);
  const start = performance.now();
  for (let i = 0; i < count; i++) work(i);
  return summary([((performance.now() - start) * 1000) / count]);
}

export const serializeTime = (value, count) => timeOf(() => serialize(value), count);

/** The time to serialise a state of 10 KB. */
export function serializeState() {
  const states = Array.from({ length: 100 }, (_, index) => checkpoint(index).state);
  return timeOf((i) => serialize(states[i % states.length]));
}
