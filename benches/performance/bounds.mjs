// What no store can go below, because it must at least serialise the state: V8's own serialiser, alone.
import { deserialize, serialize } from "node:v8";
import { sized, summary } from "../lib/measure.mjs";
import { checkpoint } from "../lib/states.mjs";

/** The median time of a synchronous call in microseconds, with the least and the most of the middle half. */
export function timeOf(work, count = sized(400, 40)) {
  const times = Array.from({ length: count * 2 }, (_, i) => {
    const start = performance.now();
    work(i);
    return (performance.now() - start) * 1000;
  });
  // The first half compiles the code.
  const sorted = times.slice(count).toSorted((a, b) => a - b);
  return summary(sorted.slice(count >> 2, count - (count >> 2)));
}

export const serializeTime = (value, count) => timeOf(() => serialize(value), count);

/** The time to read a value that V8 has serialised. */
export function deserializeTime(value, count) {
  const bytes = serialize(value);
  return timeOf(() => deserialize(bytes), count);
}

/** The time to serialise a state of 10 KB. */
export function serializeState() {
  const states = Array.from({ length: 100 }, (_, index) => checkpoint(index).state);
  return timeOf((i) => serialize(states[i % states.length]));
}
