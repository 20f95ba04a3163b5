// Measures what a step costs the event loop as a conversation gets longer: in graphs of LangGraph, beside its own savers, and with
// bare calls of every store. Run: `npm run bench -- loop [--quick] [--write]`. `--write` puts the result into
// docs/internals/measurements.md and draws docs/images/loop.svg.
import { draw } from "./loop/curve.mjs";
import { graphs } from "./loop/graphs.mjs";
import { stores } from "./loop/stores.mjs";
import { onServer } from "./loop/turns.mjs";
import { machine, write } from "./lib/report.mjs";

await onServer(async (server) => {
  machine();
  const lines = await graphs(server);
  await stores(server);
  write("loop");
  if (process.argv.includes("--write")) draw(lines);
});
