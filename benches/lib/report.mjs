// Prints the result of a benchmark as Markdown. With `--write` the same text replaces the last result in
// docs/internals/performance.md or docs/internals/measurements.md.
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { basename } from "node:path";
import { tablesOf } from "./comparison.mjs";
import { rate, ratio, spread, times } from "./figures.mjs";
import { quick } from "./measure.mjs";

export { bytes, figure, rate, ratio, spread, time, times } from "./figures.mjs";

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

/** Prints the machine, and what else a reader has to know about it. */
export function machine(...more) {
  const [cpu] = cpus();
  const system = process.platform === "linux" ? "" : `, ${process.platform}`;
  const found = `${cpus().length} x ${cpu?.model.trim()}${system}, Node ${process.version}.`;
  print([found, ...more, ...(quick ? ["A quick run: its figures mean little."] : [])].join(" ") + "\n");
}

/** Prints rows as a Markdown table. */
export function table(head, rows) {
  print(markdown({ head, rows }));
}

/** Prints a table on the screen only: it says more than the document has. */
export function details(head, rows) {
  console.log(`\nNot in the document:\n\n${markdown({ head, rows })}\n`);
}

const markdown = ({ head, rows }) => [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
const line = (cells) => `|${cells.map((cell) => (cell === "" ? "" : ` ${cell} `)).join("|")}|`;

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

/**
 * Runs the subjects named on the command line, or all of them, and prints tables of the comparisons. Tables that are whole
 * may be written. A row has:
 *
 * - `work`, `what` and `mode`: what our side did, with `ours`, its figure; `unit` turns a number into text. `variant` says how
 *   the work differs from that of other rows. `what` is empty for the time of a call
 * - `peer` and `theirs`: the other side and its figure. A row without them has only a figure. With `hasRatio: false`, the
 *   figures are not compared
 * - `detail`: true if the row is printed and is not in the document, because it says much the same as another one
 * - a goal, if there is one: `goal` is the least ratio, `most` the greatest figure of our side, and `more` by how much
 *   our figure may be greater than theirs
 * - `number`: the number of a goal in the table of goals, and `bound`: `{ what, figure }`, the least that any store needs
 *
 * With `goals`, the tables say which goals are reached, and a table of the numbered goals is printed before them. With
 * `isWhole: false`, nothing is written.
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

async function compareOne(name, subjects, chosen, { goals = false, isWhole: mayBeWhole = true } = {}) {
  const isWhole = mayBeWhole && chosen.length === Object.keys(subjects).length;
  const rows = [];
  for (const subject of chosen) rows.push(...(await subjects[subject]()));
  const numbered = rows.filter(({ number }) => number !== undefined).toSorted((a, b) => a.number - b.number);
  if (goals && numbered.length > 0) {
    goalTable(numbered);
    if (isWhole) write("goals");
    print();
  }
  machine();
  compared(rows, { goals });
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
    ["", "", "goal", "figure", "lower bound"],
    rows.map((row, at) => {
      const [wanted, is] = aim(row);
      const before = rows[at - 1] ?? {};
      const number = before.number === row.number ? "" : row.number;
      const goal = [wanted, is].join(" ");
      return [number, goalLabel(row, before), goal, measured(row, row.ours), boundOf(row, before)];
    }),
  );
}

/** A goal's work, unless that is the work of the row before, and what differs. */
function goalLabel({ work, variant, what }, before) {
  const rest = [variant, what.replace(/^wall time ?/, "")].filter(Boolean).join(", ");
  if (before.work === work && rest !== "") return rest;
  return rest === "" ? work : `${work}: ${rest}`;
}

/** The bound of a goal. It is named where it begins. */
function boundOf({ bound, ...row }, before) {
  if (bound === undefined) return "";
  const least = row.more === undefined ? measured(row, bound.figure) : row.unit(bound.figure.median);
  return before.bound?.what === bound.what ? least : `${least}: ${bound.what}`;
}

/** Formats a figure as the row's goal asks for it: a ratio, a difference, or the figure itself. */
export function measured({ theirs, unit, goal, more }, figure) {
  if (goal !== undefined) return times(figure, theirs);
  if (more === undefined) return unit(figure.median);
  const difference = figure.median - theirs.median;
  return `${difference < 0 ? "-" : "+"}${unit(Math.abs(difference))}`;
}

/** Makes rows details: all of them, or those that `isDetail` chooses. */
export function asDetails(rows, isDetail = () => true) {
  for (const row of rows) row.detail ||= isDetail(row);
  return rows;
}

/** Prints tables of rows. With `goals`, they say which goals are reached. Details are on the screen only. */
export function compared(rows, { goals = false } = {}) {
  const text = (some) =>
    tablesOf(some.map((row) => lineOf(row, goals)))
      .map(markdown)
      .join("\n\n");
  const details = rows.filter(({ detail }) => detail);
  print(text(rows.filter(({ detail }) => !detail)));
  if (details.length > 0) console.log(`\nNot in the document:\n\n${text(details)}\n`);
}

function lineOf({ work, variant, what, mode, peer, ours, theirs, unit, hasRatio = true, ...goal }, goals) {
  const line = { work, variant, what, mode, ours: spread(ours, unit) };
  if (goals)
    line.goal = aim({ ours, theirs, unit, ...goal })
      .filter(Boolean)
      .join(" ");
  if (theirs === undefined) return line;
  return { ...line, peer, theirs: unit(theirs.median), ratio: hasRatio ? times(ours, theirs) : "" };
}

/** The goal of a row as text, and whether it is reached. Both are empty if the row has no goal. */
export function aim({ ours, theirs, unit, goal, most, more }) {
  if (goal !== undefined) return [`x${goal}`, reached(ratio(ours, theirs) >= goal)];
  if (more !== undefined) return [`≤${unit(more)} more`, reached(ours.median - theirs.median <= more)];
  if (most === undefined) return ["", ""];
  return [`${unit === rate ? "≥" : "≤"}${unit(most)}`, reached(ours.median <= most)];
}

function reached(is) {
  return is ? "yes" : "**no**";
}
