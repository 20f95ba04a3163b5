// How a benchmark measures: both sides in one run, in turns, so that a machine whose speed drifts is fair to both.
import { cpus, totalmem } from "node:os";
import { performance } from "node:perf_hooks";

/** One round of one side: microseconds of wall time and of event-loop time for each operation. */
async function round(operation, count, concurrency) {
  const before = performance.eventLoopUtilization();
  const start = performance.now();
  if (concurrency === 1) {
    for (let i = 0; i < count; i++) await operation(i);
  } else {
    let next = 0;
    const caller = async () => {
      while (next < count) await operation(next++);
    };
    await Promise.all(Array.from({ length: concurrency }, caller));
  }
  const wall = performance.now() - start;
  const loop = performance.eventLoopUtilization(before).active;
  return { wall: (wall * 1000) / count, loop: (loop * 1000) / count };
}

/** Runs the sides in turns; the first round of each is not counted. `sides` maps a name to `operation(i)`. */
export async function compare(sides, { count, rounds = 5, concurrency = 1 }) {
  const names = Object.keys(sides);
  const samples = Object.fromEntries(names.map((name) => [name, { wall: [], loop: [] }]));
  for (let turn = 0; turn <= rounds; turn++) {
    for (const name of names) {
      const { wall, loop } = await round(sides[name], count, concurrency);
      if (turn === 0) continue;
      samples[name].wall.push(wall);
      samples[name].loop.push(loop);
    }
  }
  return Object.fromEntries(
    names.map((name) => [name, { wall: summary(samples[name].wall), loop: summary(samples[name].loop) }]),
  );
}

function summary(values) {
  const sorted = values.toSorted((a, b) => a - b);
  return { median: sorted[sorted.length >> 1], least: sorted[0], most: sorted.at(-1) };
}

/** Microseconds, with three figures. */
export function us({ median, least, most }) {
  return `${figure(median)} (${figure(least)} to ${figure(most)})`;
}

/** How many times smaller the first is, by medians. */
export function times(ours, theirs) {
  return `x${figure(theirs.median / ours.median)}`;
}

export function figure(value) {
  return value >= 1000 ? Math.round(value).toLocaleString("en") : String(Number(value.toPrecision(3)));
}

export function bytes(count) {
  return count >= 1e6 ? `${figure(count / 1e6)} MB` : `${figure(count / 1e3)} KB`;
}

/** Prints rows as a Markdown table with aligned columns: what a terminal shows is what the documents hold. */
export function table(head, rows) {
  const widths = head.map((title, column) => Math.max(title.length, ...rows.map((row) => String(row[column]).length)));
  const line = (cells) => `| ${cells.map((cell, column) => String(cell).padEnd(widths[column])).join(" | ")} |`;
  console.log([line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n"));
}

export function machine() {
  const [cpu] = cpus();
  console.log(
    `Node ${process.version} on ${process.platform}-${process.arch}, ${cpus().length} x ${cpu?.model.trim()}, ` +
      `${Math.round(totalmem() / 2 ** 30)} GiB. Medians, least and most in brackets; both sides take turns in one run.\n`,
  );
}

/** Text that compresses about as conversation does: words of a fixed vocabulary, in an order that does not repeat. */
export function prose(length, seed) {
  const words = "the agent reads a page and then writes what it found into its notes before it asks for the next tool call with these arguments because the user wanted an answer about storage costs in three regions".split(" ");
  let state = seed >>> 0 || 1;
  let text = "";
  while (text.length < length) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    text += `${words[(state >>> 0) % words.length]}${state % 11 === 0 ? `-${state >>> 16}` : ""} `;
  }
  return text.slice(0, length);
}
