// Measures the goals of the design and prints a table. Run:
// `npm run bench -- performance [--quick] [--write] [subject ...]`, for example
// `npm run bench -- performance savers`. `--quick` runs fewer rounds. `--write` puts the result into
// docs/internals/performance.md and docs/internals/measurements.md. Subject names select what to run. Default: all subjects.
import { asDetails, compare } from "./lib/report.mjs";
import { beside } from "./performance/beside.mjs";
import { floor } from "./performance/floor.mjs";
import { frames } from "./performance/frames.mjs";
import { growing } from "./performance/growing.mjs";
import { million } from "./performance/million.mjs";
import { payloads } from "./performance/payloads.mjs";
import { savers } from "./performance/savers.mjs";
import { stored } from "./performance/stored.mjs";
import { synced } from "./performance/synced.mjs";

// The last three load LangGraph, when they begin: a large program makes every garbage collection longer.
const loop = async () => (await import("./loop/goals.mjs")).goals();
// The benchmark `langgraph` has all rows of the history.
const history = async () => {
  const rows = await (await import("./langgraph/history.mjs")).history();
  return asDetails(rows, ({ goal }) => goal === undefined);
};

const subjects = { synced, frames, savers, beside, stored, payloads, million, floor, growing, loop, history };
await compare("performance", subjects, { goals: true });
