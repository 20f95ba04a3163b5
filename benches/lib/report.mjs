// Prints the result of a benchmark as Markdown. With `--write` the same text replaces the last result in
// docs/internals/performance.md or docs/internals/measurements.md.
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import { basename } from "node:path";
import { quick } from "./measure.mjs";

const printed = [];

export function print(text = "") {
  printed.push(text);
  console.log(text);
}

/** Prints the progress to standard error, so that it does not become part of the document. */
export function progress(text) {
  process.stderr.write(`${text} ...\n`);
}

/** Says what is not measured on this machine, on the screen and in the document. */
export function leaveOut(what, why) {
  progress(`LEFT OUT: ${what}, because ${why}`);
  print(`Left out: ${what}, because ${why}.\n`);
}

/** Prints the machine, and how the figures came about. */
export function machine(how = "Medians, least and most in brackets; the sides take turns in one run.") {
  const [cpu] = cpus();
  print(
    `Node ${process.version} on ${process.platform}-${process.arch}, ${cpus().length} x ${cpu?.model.trim()}, ` +
      `${Math.round(totalmem() / 2 ** 30)} GiB. ${how}` +
      `${quick ? " A quick run: its figures mean little." : ""}\n`,
  );
}

/** Prints rows as a Markdown table with aligned columns. */
export function table(head, rows) {
  const widths = head.map((title, column) =>
    Math.max(title.length, 1, ...rows.map((row) => String(row[column]).length)),
  );
  const line = (cells) => `| ${cells.map((cell, column) => String(cell).padEnd(widths[column])).join(" | ")} |`;
  print([line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n"));
}

/** The pages with tables of benchmarks. */
const PAGES = ["internals/performance.md", "internals/measurements.md"].map(
  (page) => new URL(`../../docs/${page}`, import.meta.url),
);

/**
 * With `--write`: puts the text that was printed since the last call into the page that has the marks of that name,
 * between these marks.
 */
export function write(name) {
  const text = printed.splice(0).join("\n").trim();
  if (!process.argv.includes("--write")) return;
  if (quick) throw new Error("a quick run's figures are not for the document: run it without --quick");
  const [begin, end] = [`<!-- begin ${name} -->\n`, `<!-- end ${name} -->`];
  for (const page of PAGES) {
    const before = readFileSync(page, "utf8");
    const [from, to] = [before.indexOf(begin), before.indexOf(end)];
    if (from < 0 || to < from) continue;
    writeFileSync(page, `${before.slice(0, from + begin.length)}\n${text}\n\n${before.slice(to)}`);
    progress(`${name} is up to date in ${basename(page.pathname)}`);
    return;
  }
  throw new Error(`no page has marks for ${name}`);
}

export function figure(value) {
  return value >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}

export function bytes(count) {
  if (count >= 1e9) return `${figure(count / 1e9)} GB`;
  return count >= 1e6 ? `${figure(count / 1e6)} MB` : `${figure(count / 1e3)} KB`;
}

/** Formats a median together with the least and the greatest value. `unit` turns one number into text. */
export function spread({ median, least, most }, unit = figure) {
  // For a rate, swap the bounds: the shortest time gives the highest rate.
  const [low, high] = unit === rate ? [most, least] : [least, most];
  return low === high ? unit(median) : `${unit(median)} (${unit(low)} to ${unit(high)})`;
}

/** Formats microseconds in us, ms or s, with three figures. */
export function time(us) {
  if (us >= 1e6) return `${figure(us / 1e6)} s`;
  return us >= 1000 ? `${figure(us / 1000)} ms` : `${figure(us)} us`;
}

/** Formats microseconds per operation as operations per second. */
export function rate(us) {
  return `${figure(1e6 / us)}/s`;
}

/** Returns how many times smaller the median of `ours` is. */
export function ratio(ours, theirs) {
  return theirs.median / ours.median;
}

/** Formats the ratio for a table. */
export function times(ours, theirs) {
  return `x${figure(ratio(ours, theirs))}`;
}

/**
 * Runs the subjects named on the command line, or all of them, and prints a table of the comparisons. A table that is whole
 * may be written. A row has:
 *
 * - `work`, `what` and `mode`: what our side did, with `ours`, its figure; `unit` turns a number into text
 * - `peer` and `theirs`: the other side and its figure. A row without them has only a figure.
 * - a goal, if there is one: `goal` is the least ratio, `most` the greatest figure of our side, and `more` by how much
 *   our figure may be greater than theirs
 * - `number`: the number of a goal in the table of goals, and `bound`: `{ what, figure }`, the least that any store needs
 *
 * With `goals`, the table says which goals are reached, and a table of the numbered goals is printed before it.
 */
export function compare(name, subjects, options) {
  return compareAll({ [name]: subjects }, options);
}

/** The same with several tables: `tables` maps the name of a table to its subjects. No two subjects have the same name. */
export async function compareAll(tables, options) {
  const named = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
  const known = Object.values(tables).flatMap(Object.keys);
  const unknown = named.filter((subject) => !known.includes(subject));
  if (unknown.length > 0) throw new Error(`no subject ${unknown.join(", ")}: there are ${known.join(", ")}`);
  for (const [name, subjects] of Object.entries(tables)) {
    const chosen = Object.keys(subjects).filter((subject) => named.length === 0 || named.includes(subject));
    if (chosen.length > 0) await compareOne(name, subjects, chosen, options);
  }
}

async function compareOne(name, subjects, chosen, { goals = false } = {}) {
  const isWhole = chosen.length === Object.keys(subjects).length;
  const rows = [];
  for (const subject of chosen) rows.push(...(await subjects[subject]()));
  const numbered = rows.filter(({ number }) => number !== undefined).toSorted((a, b) => a.number - b.number);
  if (goals && numbered.length > 0) {
    goalTable(numbered);
    if (isWhole) write("goals");
    print();
  }
  machine();
  const head = ["work", "what", "forkpoint", "", "beside", "", "ratio"];
  if (goals)
    table(
      [...head, "goal", "reached"],
      rows.map((row) => [...compared(row), ...aim(row)]),
    );
  else table(head, rows.map(compared));
  print("\nThe ratio says how many times less time or bytes Forkpoint takes: below 1 it loses.");
  if (isWhole) write(name);
  // What was printed for a part of a table is not for the document.
  else printed.length = 0;
}

/** Prints the numbered goals: what was wanted, what was measured, and the bound that no store can go below. */
function goalTable(rows) {
  machine();
  const reachedRows = rows.filter((row) => aim(row)[1] === "yes");
  print(`${reachedRows.length} of ${rows.length} figures reach their goal.\n`);
  table(
    ["", "work", "what", "goal", "figure", "reached", "bound"],
    rows.map((row) => {
      const [wanted, is] = aim(row);
      return [row.number, row.work, row.what, wanted, measured(row, row.ours), is, boundOf(row)];
    }),
  );
  print("\nThe bound is what was measured in the same run for the least that any store has to do.");
}

function boundOf({ bound, ...row }) {
  if (bound === undefined) return "";
  const isTotal = row.more !== undefined;
  return `${isTotal ? row.unit(bound.figure.median) : measured(row, bound.figure)}: ${bound.what}`;
}

/** Formats a figure as the row's goal asks for it: a ratio, a difference, or the figure itself. */
export function measured({ theirs, unit, goal, more }, figure) {
  if (goal !== undefined) return times(figure, theirs);
  if (more === undefined) return unit(figure.median);
  const difference = figure.median - theirs.median;
  return `${difference < 0 ? "-" : "+"}${unit(Math.abs(difference))}`;
}

function compared({ work, what, mode, peer = "", ours, theirs, unit }) {
  const beside = theirs === undefined ? ["", "", ""] : [peer, spread(theirs, unit), times(ours, theirs)];
  return [work, what, mode, spread(ours, unit), ...beside];
}

/** The goal of a row as text, and whether it is reached. Both are empty if the row has no goal. */
export function aim({ ours, theirs, unit, goal, most, more }) {
  if (goal !== undefined) return [`x${goal}`, reached(ratio(ours, theirs) >= goal)];
  if (more !== undefined) return [`at most ${unit(more)} more`, reached(ours.median - theirs.median <= more)];
  if (most === undefined) return ["", ""];
  return [`at ${unit === rate ? "least" : "most"} ${unit(most)}`, reached(ours.median <= most)];
}

function reached(is) {
  return is ? "yes" : "**no**";
}
