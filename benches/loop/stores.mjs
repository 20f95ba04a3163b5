// What a step costs the event loop at 1,000 messages, in every store and with every kind of messages.
import { sized } from "../lib/measure.mjs";
import { print, spread, table, time } from "../lib/report.mjs";
import { KINDS } from "./messages.mjs";
import { DESCRIBED, opens } from "./sides.mjs";
import { measure } from "./turns.mjs";

const LENGTH = sized(1_000, 100);

export async function stores(server) {
  const names = Object.keys(opens).filter((name) => name !== "PostgresSaver" || server !== undefined);
  const found = {};
  for (const kind of Object.keys(KINDS)) {
    found[kind] = await measure(names, { kind, length: LENGTH, server, rounds: sized(3, 1) });
  }
  print(
    `Bare calls, without a framework: a save that appends one of ${LENGTH.toLocaleString("en")} messages, in all stores. The event loop's time.\n`,
  );
  table(
    ["store", "", ...Object.keys(KINDS)],
    names.map((name) =>
      [name, DESCRIBED[name]].concat(Object.keys(KINDS).map((kind) => spread(found[kind][name].loop, time))),
    ),
  );
}
