// Makes the table of the benchmark `year`: a column for each measured size, and what a year would take.
import { bytes, figure, rate, time } from "../lib/report.mjs";

/** The checkpoints of a year of a million runs a day, three each. */
const YEAR = 365 * 1e6 * 3;

/** The ways to extrapolate. `of` takes a figure of a size. */
const ways = {
  /** As much more for each checkpoint as between the two largest sizes. */
  linear(measured, of) {
    const [before, last] = measured.slice(-2);
    const each = (of(last) - of(before)) / (last.size - before.size);
    return of(last) + Math.max(0, each) * (YEAR - last.size);
  },
  /** As much more for each tenfold as between the smallest and the largest size, or the same if it did not grow. */
  logarithmic(measured, of) {
    const [first, last] = [measured[0], measured.at(-1)];
    const each = (of(last) - of(first)) / Math.log10(last.size / first.size);
    return of(last) + Math.max(0, each) * Math.log10(YEAR / last.size);
  },
  /** The largest measured figure: the work does not depend on the size. */
  same: (measured, of) => of(measured.at(-1)),
};

/** The questions that are not logarithmic. */
const others = { "`info()`": "same", "`stats()`": "same", '`runs({ status: "waiting" })`': "linear" };

const sum = (figures) => figures.reduce((all, each) => all + each, 0);

const bytesOf = ({ relations }, isWanted) =>
  sum(Object.entries(relations).map(([name, { table, bytes }]) => (isWanted(name, table) ? bytes : 0)));

function duration(seconds) {
  if (seconds < 120) return time(seconds * 1e6);
  return seconds < 7_200 ? `${figure(seconds / 60)} min` : `${figure(seconds / 3_600)} h`;
}

/** Two tables, `{ head, rows }`: the bytes at the largest size, and the times at the sizes that an extrapolation takes. */
export function tables(all) {
  const measured = all.filter((_, at) => at === 0 || at >= all.length - 2);
  const millions = measured.map(({ size }) => `${figure(size / 1e6)} million`);
  const year = "a year: 1,095 million";
  return [
    { head: ["", millions.at(-1), `${year}, linear`], rows: sizes(measured) },
    { head: ["", ...millions, year, "extrapolated"], rows: durations(measured) },
  ];
}

const allBytes = (one) => bytesOf(one, () => true);

function sizes(measured) {
  const { relations } = measured.at(-1);
  const row = (what, of) => [what, bytes(of(measured.at(-1))), bytes(ways.linear(measured, of))];
  const relation = (name) => {
    const kind = relations[name].table === name ? "table" : "index";
    return row(`${kind} \`${name}\``, (one) => one.relations[name].bytes);
  };
  // Small relations are left out.
  const isLarge = (name) => relations[name].bytes > allBytes(measured.at(-1)) / 25;
  return [
    row("all bytes", allBytes),
    row("bytes of the indexes", (one) => bytesOf(one, (name, table) => name !== table)),
    ...Object.keys(relations).filter(isLarge).map(relation),
  ];
}

function durations(measured) {
  const row = (what, way, unit, of) => {
    return [what, ...measured.map((one) => unit(of(one))), unit(ways[way](measured, of)), way];
  };
  const { filled, times, removed } = measured.at(-1);
  const indexes = Object.keys(filled.built);
  return [
    row("insert the rows, without indexes", "linear", duration, (one) => one.filled.rows),
    row(`build ${indexes.length} indexes`, "linear", duration, (one) => sum(Object.values(one.filled.built))),
    row("the first `VACUUM ANALYZE`", "linear", duration, (one) => one.filled.vacuum),
    ...Object.keys(times).map((what) => row(what, others[what] ?? "logarithmic", time, (one) => one.times[what])),
    row("checkpoints that `prune()` deletes", "logarithmic", rate, (one) => (one.removing / one.removed) * 1e6),
    row("`prune()` that finds nothing", "linear", duration, (one) => one.looking),
    row(
      `\`VACUUM\` of all indexes after ${removed.toLocaleString("en")} deletions`,
      "linear",
      duration,
      (one) => one.vacuum,
    ),
  ];
}
