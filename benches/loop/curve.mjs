// Draws what a step of a graph costs the event loop, by the number of messages in the state.
import { writeFileSync } from "node:fs";
import { picture } from "../lib/picture.mjs";
import { progress, time } from "../lib/report.mjs";

/** The colours of the lines, on light and on dark pages. */
const LINES = {
  "ForkpointSaver, SQLite": { name: "Forkpoint on SQLite", light: "#1a7f37", dark: "#3fb950" },
  "ForkpointSaver, Postgres": { name: "Forkpoint on Postgres", light: "#0969da", dark: "#4493f8" },
  SqliteSaver: { name: "SqliteSaver", light: "#bc4c00", dark: "#db6d28" },
  PostgresSaver: { name: "PostgresSaver", light: "#8250df", dark: "#ab7df8" },
  MemorySaver: { name: "MemorySaver", light: "#bf3989", dark: "#db61a2" },
};

/** Draws the picture for the README. `found` maps a saver to its points. */
export function draw(found) {
  const lines = Object.entries(LINES)
    .filter(([name]) => found[name] !== undefined)
    .map(([name, line]) => Object.assign(line, { points: found[name] }));
  const svg = picture({
    title: "Event-loop time that a saver adds to a step of a LangGraph graph",
    x: {
      label: "messages of 2 KB in the state; each step appends one",
      marks: [10, 100, 1_000, 5_000],
      unit: (count) => count.toLocaleString("en"),
    },
    y: { marks: decades(lines), unit: time },
    lines,
  });
  writeFileSync(new URL("../../docs/images/loop.svg", import.meta.url), svg);
  progress("docs/images/loop.svg is up to date");
}

/** The powers of ten around all points. */
function decades(lines) {
  const values = lines.flatMap(({ points }) => points.map(([, us]) => Math.log10(us)));
  const [low, high] = [Math.floor(Math.min(...values)), Math.ceil(Math.max(...values))];
  return Array.from({ length: high - low + 1 }, (_, at) => 10 ** (low + at));
}
