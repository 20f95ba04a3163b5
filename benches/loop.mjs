// Measures what a step costs the event loop as a conversation gets longer, for every store and beside LangGraph's own
// savers. Run: `npm run bench -- loop [--quick] [--write]`. `--write` puts the result into docs/internals/measurements.md and
// draws docs/images/loop.svg.
import { curve, draw } from "./loop/curve.mjs";
import { stores } from "./loop/stores.mjs";
import { onServer } from "./loop/turns.mjs";
import { machine, write } from "./lib/report.mjs";

await onServer(async (server) => {
  machine();
  const flat = await curve(server);
  await stores(server);
  write("loop");
  if (process.argv.includes("--write")) draw(flat);
});
