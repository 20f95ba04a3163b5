// Measures all sides in one run, in turns, so that a drift of the machine's speed affects all sides alike.
import { performance } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const gc = runInNewContext("gc");

/**
 * True with `--quick`. A quick run has fewer rounds and smaller sizes. It is useful to try a change, but its figures
 * mean little.
 */
export const quick = process.argv.includes("--quick");

/** The value of an option `--name=value` of the command line, or undefined. */
export function option(name) {
  const given = process.argv.find((argument) => argument.startsWith(`--${name}=`));
  return given?.slice(`--${name}=`.length);
}

/** Returns `full`. In a quick run, returns `small`. */
export const sized = (full, small) => (quick ? small : full);

/**
 * Resolves to the wall time and the event-loop time of `work`, each in microseconds per operation. `meter()` returns
 * further figures that only grow: the result also has how much each of them grew per operation.
 */
export async function clock(count, work, { collect = true, meter = () => ({}) } = {}) {
  // The garbage is collected first, so that the time of one side does not include the garbage of another side.
  if (collect) gc();
  const metered = meter();
  const before = performance.eventLoopUtilization();
  const start = performance.now();
  await work();
  const wall = performance.now() - start;
  const loop = performance.eventLoopUtilization(before).active;
  const grown = Object.entries(meter()).map(([name, figure]) => [name, (figure - (metered[name] ?? 0)) / count]);
  return { wall: (wall * 1000) / count, loop: (loop * 1000) / count, ...Object.fromEntries(grown) };
}

/** One round of one side: `count` operations by `concurrency` callers. Each caller awaits its own operation. */
async function round(operation, count, concurrency, meter) {
  const run = async (from, to) => {
    if (concurrency === 1) {
      for (let i = from; i < to; i++) await operation(i);
    } else {
      let next = from;
      const caller = async () => {
        while (next < to) await operation(next++);
      };
      await Promise.all(Array.from({ length: concurrency }, caller));
    }
  };
  // A garbage collection drops compiled code that did not run during the turns of the other sides. So the warm-up comes
  // after the collection.
  gc();
  const warm = Math.ceil(count / 4);
  await run(0, warm);
  return clock(count, () => run(warm, warm + count), { collect: false, meter });
}

/**
 * Runs the sides in turns. The first round of each side is not counted. `sides` maps a name to `operation(i)`. `count`
 * is the number of operations in a round. It is one number for all sides, or one number for each name, so that a slow
 * side can do fewer operations. `meter` is that of `clock`.
 */
export function compare(sides, { count, rounds = sized(5, 2), concurrency = 1, meter }) {
  const turn = (name) => round(sides[name], typeof count === "number" ? count : count[name], concurrency, meter);
  return inTurns(Object.keys(sides), turn, { rounds });
}

/** Runs `turn(name)` for all sides in turns. `turn` resolves to figures, such as `{ wall, loop }`. */
export async function inTurns(names, turn, { rounds, warm = true }) {
  const samples = Object.fromEntries(names.map((name) => [name, []]));
  for (let number = warm ? 0 : 1; number <= rounds; number++) {
    for (const name of names) {
      const sample = await turn(name);
      if (number > 0) samples[name].push(sample);
    }
  }
  return Object.fromEntries(
    names.map((name) => {
      const figures = Object.keys(samples[name][0]);
      return [name, Object.fromEntries(figures.map((each) => [each, summary(samples[name].map((one) => one[each]))]))];
    }),
  );
}

/** The median, the least and the greatest of some values. */
export function summary(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return { median: sorted[sorted.length >> 1], least: sorted[0], most: sorted.at(-1) };
}
