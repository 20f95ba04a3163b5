// Holds the agent of docs/http.md at its steps. Prints each step, and waits for a line on the standard input. After the line "free",
// no step waits any more.
import { once } from "node:events";
import { createInterface } from "node:readline";

const lines = createInterface(process.stdin);
let isFree = false;
lines.on("line", (line) => (isFree ||= line === "free"));

export const say = (line) => process.stdout.write(`${JSON.stringify(line)}\n`);

export async function hold(event) {
  const going = isFree ? undefined : once(lines, "line");
  say({ event });
  await going;
}
