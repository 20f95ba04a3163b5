// Reads the latest state of the run and prints the times. Run: `node reader.mjs <side> <url>`.
import { clock } from "../lib/measure.mjs";
import { sides } from "./sides.mjs";

const [name, url] = process.argv.slice(2);
const side = await sides[name](url);
let state;
const times = await clock(1, async () => {
  state = await side.latest("run");
});
console.log(JSON.stringify({ times, length: state.messages.length }));
await side.close();
