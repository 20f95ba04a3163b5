// Runs a benchmark: `npm run bench -- performance`. Without a name, runs all but a few in sequence. Further arguments
// go to the benchmark: `npm run bench -- performance savers --quick`.
import { readdirSync } from "node:fs";
import { peers, root, run, setup } from "./setup.mjs";

const known = readdirSync(`${root}benches`)
  .filter((file) => file.endsWith(".mjs"))
  .map((file) => file.slice(0, -4));
const [first, ...others] = process.argv.slice(2);
/** These run only by name: one takes 15 GB of disk space, the other 20 minutes. */
const onDemand = new Set(["year", "retention"]);
const all = known.filter((name) => !onDemand.has(name));
const chosen = first === undefined || first.startsWith("--") ? all : [first];
if (!known.includes(chosen[0])) {
  console.error(`No benchmark "${first}": there are ${known.join(", ")}`);
  process.exit(1);
}
const passed = chosen === all ? process.argv.slice(2) : others;
setup({ release: true });
/** The benchmarks whose peers are among the frameworks. */
const peerless = new Set(["agentos", "channels", "postgres", "profile"]);
if (chosen.some((name) => !peerless.has(name))) peers();
for (const name of chosen) run(process.execPath, [`${root}benches/${name}.mjs`, ...passed]);
