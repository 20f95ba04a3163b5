// What a step costs the event loop at 1,000 messages, in every store and with every kind of messages.
import { sized } from "../lib/measure.mjs";
import { print, spread, table, time } from "../lib/report.mjs";
import { KINDS } from "./messages.mjs";
import { DESCRIBED, opens } from "./sides.mjs";
import { measure } from "./turns.mjs";

const LENGTH = sized(1_000, 100);

/** Deep-frozen messages have a goal only. */
const SHOWN = Object.keys(KINDS).filter((kind) => kind !== "deep-frozen");

export async function stores(server) {
  const names = Object.keys(opens).filter((name) => name !== "PostgresSaver" || server !== undefined);
  const found = {};
  for (const kind of SHOWN) {
    found[kind] = await measure(names, { kind, length: LENGTH, server, rounds: sized(3, 1) });
  }
  print(
    `The event loop of a bare save, without a framework, that appends one of ${LENGTH.toLocaleString("en")} messages:\n`,
  );
  table(
    ["", ...SHOWN],
    names.map((name) =>
      [`${name}, ${DESCRIBED[name]}`].concat(SHOWN.map((kind) => spread(found[kind][name].loop, time))),
    ),
  );
}
