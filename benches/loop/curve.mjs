// What a step costs the event loop, by the number of messages in the state.
import { writeFileSync } from "node:fs";
import { sized } from "../lib/measure.mjs";
import { picture } from "../lib/picture.mjs";
import { print, progress, table, time } from "../lib/report.mjs";
import { serializeTime } from "../performance/bounds.mjs";
import { KINDS } from "./messages.mjs";
import { measure } from "./turns.mjs";

const LENGTHS = sized([10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000], [10, 100, 500]);
/** Long conversations get fewer rounds: LangGraph's own savers take a second for a few of their steps. */
const roundsOf = (length) => (length > 1_000 ? sized(3, 1) : sized(5, 1));

const OURS = ["CheckpointStore", "ForkpointSaver"];
const OTHERS = ["SqliteSaver", "PostgresSaver", "MemorySaver"];

/** The colours of the lines, on light and on dark pages. */
const LINES = {
  CheckpointStore: { name: "Forkpoint: CheckpointStore", light: "#1a7f37", dark: "#3fb950" },
  ForkpointSaver: { name: "Forkpoint: ForkpointSaver", light: "#0969da", dark: "#4493f8" },
  SqliteSaver: { name: "SqliteSaver", light: "#bc4c00", dark: "#db6d28" },
  PostgresSaver: { name: "PostgresSaver", light: "#8250df", dark: "#ab7df8" },
  MemorySaver: { name: "MemorySaver", light: "#bf3989", dark: "#db61a2" },
  whole: { name: "v8.serialize of all", light: "#6e7781", dark: "#848d97", dashed: true },
  one: { name: "v8.serialize of the new one", light: "#6e7781", dark: "#848d97", dashed: true },
};

/** Measures all numbers of messages. Resolves to the lines, for the tables and for the picture. */
export async function curve(server) {
  const others = server === undefined ? OTHERS.filter((name) => name !== "PostgresSaver") : OTHERS;
  const lines = { flat: {}, nested: {}, "deep-frozen": {} };
  const names = { flat: [...OURS, ...others], nested: OURS, "deep-frozen": OURS };
  for (const length of LENGTHS) {
    for (const kind of Object.keys(lines)) {
      const result = await measure(names[kind], { kind, length, server, rounds: roundsOf(length) });
      const { make } = KINDS[kind];
      const all = Array.from({ length }, (_, at) => make(at));
      const bounds = { whole: serializeTime(all, sized(5, 1)).median, one: serializeTime(make(length)).median };
      const loops = Object.entries(result).map(([name, { loop }]) => [name, loop.median]);
      for (const [name, us] of [...loops, ...Object.entries(bounds)]) (lines[kind][name] ??= []).push([length, us]);
    }
  }
  for (const [kind, found] of Object.entries(lines)) {
    print(`A step that appends one message, ${kind}: the event loop's time.\n`);
    const named = Object.keys(LINES).filter((name) => found[name] !== undefined);
    table(
      ["messages", ...named.map((name) => LINES[name].name.replace("Forkpoint: ", ""))],
      LENGTHS.map((length, row) =>
        [length.toLocaleString("en")].concat(named.map((name) => time(found[name][row][1]))),
      ),
    );
    print();
  }
  return lines.flat;
}

/** Draws the curve for the README. */
export function draw(flat) {
  const lines = Object.entries(LINES)
    .filter(([name]) => flat[name] !== undefined)
    .map(([name, line]) => Object.assign(line, { points: flat[name] }));
  const svg = picture({
    title: "What a step costs the event loop, by the length of the conversation",
    x: {
      label: "messages of 2 KB in the state; one is appended at each step",
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
