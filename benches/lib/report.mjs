// Prints the result of a benchmark as Markdown. With `--write` the same text replaces the last result in
// docs/performance.md.
import { readFileSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
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

export function machine() {
  const [cpu] = cpus();
  print(
    `Node ${process.version} on ${process.platform}-${process.arch}, ${cpus().length} x ${cpu?.model.trim()}, ` +
      `${Math.round(totalmem() / 2 ** 30)} GiB. Medians, least and most in brackets; the sides take turns in one run.` +
      `${quick ? " A quick run: its figures mean little." : ""}\n`,
  );
}

/** Prints rows as a Markdown table with aligned columns. */
export function table(head, rows) {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => String(row[column]).length)));
  const line = (cells) => `| ${cells.map((cell, column) => String(cell).padEnd(widths[column])).join(" | ")} |`;
  print([line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n"));
}

/** With `--write`: puts the printed text into docs/performance.md, between the marks of that name. */
export function write(name) {
  if (!process.argv.includes("--write")) return;
  if (quick) throw new Error("a quick run's figures are not for the document: run it without --quick");
  const file = new URL("../../docs/performance.md", import.meta.url);
  const text = readFileSync(file, "utf8");
  const [begin, end] = [`<!-- begin ${name} -->\n`, `<!-- end ${name} -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/performance.md has no marks for ${name}`);
  writeFileSync(file, `${text.slice(0, from + begin.length)}\n${printed.join("\n").trim()}\n\n${text.slice(to)}`);
  progress("docs/performance.md is up to date");
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
 * Runs the subjects named on the command line, or all of them, and prints a table of the comparisons. With `goals`, the
 * table says which goals are reached. The `goal` of a row is the ratio, and `most` is the greatest figure of our side.
 */
export async function compare(name, subjects, { goals = false } = {}) {
  const chosen = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
  const rows = [];
  for (const subject of chosen.length > 0 ? chosen : Object.keys(subjects)) rows.push(...(await subjects[subject]()));
  machine();
  const head = ["work", "what", "forkpoint", "", "beside", "", "ratio"];
  if (goals)
    table(
      [...head, "goal", "reached"],
      rows.map((row) => [...compared(row), ...aim(row)]),
    );
  else table(head, rows.map(compared));
  print("\nThe ratio says how many times less time or bytes Forkpoint takes: below 1 it loses.");
  if (chosen.length === 0) write(name);
}

function compared({ work, what, mode, peer, ours, theirs, unit }) {
  return [work, what, mode, spread(ours, unit), peer, spread(theirs, unit), times(ours, theirs)];
}

function aim({ ours, theirs, unit, goal, most }) {
  if (goal !== undefined) return [`x${goal}`, reached(ratio(ours, theirs) >= goal)];
  return most === undefined ? ["", ""] : [`at most ${unit(most)}`, reached(ours.median <= most)];
}

function reached(is) {
  return is ? "yes" : "**no**";
}
