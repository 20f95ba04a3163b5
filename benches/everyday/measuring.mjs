// Measures calls of savers, and makes rows of the figures. The rows go to another process, so they name their units.
import { clock, compare, summary } from "../lib/measure.mjs";

/** A call that takes longer than this is measured once, in microseconds. */
const SLOW = 3_000_000;
/** A round takes about as long at most. */
const ROUND = 500_000;

/**
 * Measures `operations`, by side, in turns. `count` is the number of calls in a round, and less for slow calls. A call that
 * takes more than three seconds has one sample.
 */
export async function measureCalls(operations, { count, ...options }) {
  const single = {};
  const counts = {};
  for (const [name, operation] of Object.entries(operations)) {
    const first = await clock(1, () => operation(0));
    if (first.wall <= SLOW) counts[name] = Math.min(count, Math.ceil(ROUND / first.wall));
    else single[name] = Object.fromEntries(Object.entries(first).map(([key, value]) => [key, summary([value])]));
  }
  const others = Object.fromEntries(Object.keys(counts).map((name) => [name, operations[name]]));
  return { ...single, ...(await compare(others, { count: counts, ...options })) };
}

/** A row of the table. `figures` and `modes` are by side. `rest` has the unit's name, and a goal if there is one. */
export function row(work, what, { figures, modes }, figure, { peer = "theirs", ...rest } = {}) {
  return {
    work,
    what,
    mode: modes.ours,
    peer: modes[peer],
    ours: figures.ours[figure],
    theirs: figures[peer][figure],
    unit: "time",
    ...rest,
  };
}

export const modesOf = (opened) =>
  Object.fromEntries(Object.entries(opened).map(([name, side]) => [name, side.mode()]));
