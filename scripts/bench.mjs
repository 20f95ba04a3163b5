// Benchmarks: `npm run bench -- agentos`. Without a name: all of them, one after the other.
import { readdirSync } from "node:fs";
import { root, run, setup } from "./setup.mjs";

const known = readdirSync(`${root}benches`)
  .filter((file) => file.endsWith(".mjs") && file !== "measure.mjs")
  .map((file) => file.slice(0, -4));
const chosen = process.argv.slice(2);
const unknown = chosen.find((name) => !known.includes(name));
if (unknown !== undefined) {
  console.error(`No benchmark "${unknown}": there are ${known.join(", ")}`);
  process.exit(1);
}
setup();
for (const name of chosen.length > 0 ? chosen : known) run(process.execPath, [`${root}benches/${name}.mjs`]);
