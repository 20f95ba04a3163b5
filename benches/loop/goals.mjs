// The goals of the event loop: what a step costs at 1,000 messages, and how this grows from 50 to 2,000 messages.
import { sized, summary } from "../lib/measure.mjs";
import { figure, ratio, time } from "../lib/report.mjs";
import { serializeTime } from "../performance/bounds.mjs";
import { KINDS } from "./messages.mjs";
import { DESCRIBED } from "./sides.mjs";
import { measure } from "./turns.mjs";

const NAMES = ["CheckpointStore", "ForkpointSaver"];
const PEER = "SqliteSaver";
/** The store whose table has least and most. The table of goals has both. */
const SHOWN = "ForkpointSaver";

/** The most that a step may cost the event loop, in microseconds, at this number of messages. */
const LENGTH = sized(1_000, 100);
const GOALS = { flat: 100, nested: 700, "deep-frozen": 20 };
/** From 50 messages to this number, a step may cost the event loop less than 25 times as much. */
const GROWN = sized(2_000, 200);
const TIMES = 25;

/** What any store has to do at least: serialise the new message. */
export const newMessage = (kind) => serializeTime(KINDS[kind].make(1));

export async function goals() {
  const rows = [];
  for (const [kind, most] of Object.entries(GOALS)) {
    const result = await measure([...NAMES, PEER], { kind, length: LENGTH });
    const bound = { what: "v8.serialize of the new message", figure: newMessage(kind) };
    const work = `a step at ${LENGTH.toLocaleString("en")} messages of 2 KB`;
    for (const name of NAMES) {
      const beside = { peer: `${PEER}: WAL, NORMAL`, ours: result[name].loop, theirs: result[PEER].loop, unit: time };
      rows.push({
        work,
        variant: `${DESCRIBED[name]}, ${kind}`,
        what: "event loop",
        mode: "WAL, FULL",
        ...beside,
        number: 1,
        most,
        detail: name !== SHOWN,
        bound,
      });
    }
  }
  const few = await measure(NAMES, { kind: "flat", length: 50 });
  const many = await measure(NAMES, { kind: "flat", length: GROWN });
  for (const name of NAMES) {
    rows.push({
      work: `a step, from 50 to ${GROWN.toLocaleString("en")} messages`,
      variant: DESCRIBED[name],
      what: "event loop grows",
      mode: "WAL, FULL",
      ours: summary([ratio(few[name].loop, many[name].loop)]),
      unit: (times) => `x${figure(times)}`,
      number: 1,
      most: TIMES,
      detail: name !== SHOWN,
    });
  }
  return rows;
}
