// Measures savers on a disk whose syncs all take the same time. The real disk of a machine may be ten times slower in
// the next hour, so only these rows compare the programs and not the disk's hour.
import { fileURLToPath } from "node:url";
import { quick } from "../lib/measure.mjs";
import { figure, progress, rate, time } from "../lib/report.mjs";
import { onFixedDisk, SYNCS } from "../lib/sync.mjs";
import { SAVERS } from "./work.mjs";

const program = fileURLToPath(new URL("synced-turns.mjs", import.meta.url));

/** Measures "savers" or "growing" with syncs of `us` microseconds, in a process of its own. */
export function measureSynced(run, us, what) {
  return run(us, program, { args: [what, ...(quick ? ["--quick"] : [])] });
}

/** The goals beside the table that answers one question: how many times as many saves, and how much less event loop. */
const GOALS = { 67: { saves: 3, loop: 5 }, 262: { saves: 7, loop: 12 } };
/** The goals of a sliding window, where a sync takes 67 us: saves a second, and microseconds of the event loop. */
const SLIDING = { perSecond: 15_000, loop: 25 };
/** How many microseconds more than the peer one saver may take. */
const MORE = 80;

export function synced() {
  return onFixedDisk(async (run) => {
    const rows = [];
    for (const us of SYNCS) {
      progress(`savers with a sync of ${us} us`);
      const { measured, labels } = await measureSynced(run, us, "savers");
      checkCounted(us, measured);
      rows.push(...rowsOf(us, measured, labels));
    }
    return rows;
  });
}

/** Throws if a side has made no sync, or if the syncs took another time than they should. */
function checkCounted(us, measured) {
  for (const [kind, sides] of Object.entries(measured)) {
    for (const [name, side] of Object.entries(sides)) {
      if (name === "v8") continue;
      if (!(side.syncs.least > 0)) throw new Error(`no sync was counted: ${kind}, ${name}`);
      if (took(side) < us) throw new Error(`a sync took ${took(side)} us instead of ${us}: ${kind}, ${name}`);
    }
  }
}

/** What a sync really took, in microseconds. */
export const took = ({ syncs, synced }) => synced.median / syncs.median;

const appended = (sides, what, name) => ({ what, figure: sides.log[name] });

const serialise = (sides) => ({ what: "v8.serialize of the state", figure: sides.v8.loop });

function rowsOf(us, { fresh, sliding, alone }, labels) {
  const row = (work, peer, sides, what, name, rest) => ({
    work,
    variant: `a sync of ${us} us (${really(sides.ours)}, ${really(sides.lookup)})`,
    what,
    mode: labels.ours,
    peer: labels[peer],
    ours: sides.ours[name],
    theirs: sides[peer][name],
    unit: what === "saves a second" ? rate : time,
    detail: peer === "same",
    ...rest,
  });
  const grouped = (sides) => appended(sides, "JSON, one write and one sync for 64", "wall");
  const many = (kind, sides) => (peer, saves, loop) => [
    row(`${SAVERS} savers, 10 KB, ${kind}`, peer, sides, "saves a second", "wall", saves),
    row(`${SAVERS} savers, 10 KB, ${kind}`, peer, sides, "event loop a save", "loop", loop),
  ];
  const [all, window] = [many("all of it new", fresh), many("first message dropped, one appended", sliding)];
  const goal = (times, sides) => [
    { number: 2, goal: times.saves, bound: grouped(sides) },
    { number: 2, goal: times.loop, bound: serialise(sides) },
  ];
  const atLeast = [
    { number: 2, most: 1e6 / SLIDING.perSecond, bound: grouped(sliding) },
    { number: 2, most: SLIDING.loop, bound: serialise(sliding) },
  ];
  const one = (peer, rest) => row("one saver, 10 KB", peer, alone, "a save", "wall", rest);
  return [
    ...all("lookup", ...goal(GOALS[us], fresh)),
    ...all("same"),
    ...window("lookup", ...(us === 67 ? atLeast : [])),
    ...window("same"),
    one("lookup", { number: 3, more: MORE, bound: appended(alone, "JSON, one write and one sync", "wall") }),
    one("same"),
    row("one saver, 10 KB", "lookup", alone, "event loop a save", "loop"),
  ];
}

/** Says what the syncs of a side really took, in microseconds. */
const really = (side) => figure(took(side));
