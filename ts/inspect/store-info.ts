/** Describes a store: its target, its backend, and the counts of its runs and checkpoints. */

import { readRecord, whole } from "../store/options.js";
import { sizesOf } from "../store/retention.js";
import { storeCalls } from "../bridge/wire.js";
import { type KnownSpace, SPACES, traitsOf } from "../contracts/registry.js";
import { type Context, isBeside, isCurrent, refOf, spaceOf } from "./context.js";
import { countStopped } from "./stopped.js";
import { inspect } from "../plugin/wire.js";
import type { InspectedStats, StoreInfo } from "../plugin/views.js";

type Holding = StoreInfo["spaces"][number];

/** Adds up the contracts of each space. Leaves out spaces without runs. */
async function spacesOf(context: Context): Promise<Holding[]> {
  const found = await inspect.call(context.engine.native, "spaces", {});
  const spaces = SPACES.map((space) => {
    // The status of a run is the status of its current state.
    const own = traitsOf(space).current ?? space;
    const { statuses, isEstimate } = found.find((part) => part.space === own)!;
    const sizes = { checkpoints: 0, effects: 0, logicalBytes: 0, storedBytes: 0 };
    const sum: Holding = { space, runs: 0, statuses: { ...statuses, stopped: 0 }, ...sizes, isEstimate };
    for (const part of found.filter((each) => spaceOf(each.space) === space)) {
      // A run with a current state may be in two contracts: with its checkpoints, and with this state.
      if (!isBeside(part.space)) {
        sum.runs = Math.max(sum.runs, part.runs);
        sum.checkpoints += part.checkpoints;
      }
      sum.effects += part.effects;
      sum.logicalBytes += part.logicalBytes;
      sum.storedBytes += part.storedBytes;
    }
    return sum;
  });
  const held = spaces.filter(({ runs, effects }) => runs + effects > 0);
  await Promise.all(held.map((each) => separateStopped(context, each)));
  return held;
}

/** Counts the stopped runs, which the store counts as unfinished or failed ones. */
async function separateStopped(context: Context, held: Holding): Promise<void> {
  const { space, statuses } = held;
  if (statuses.unfinished + statuses.failed === 0) return;
  const { counts, isEstimate } = await countStopped(context, space);
  for (const status of ["unfinished", "failed"] as const) {
    // Runs may change between the reads.
    const stopped = Math.min(counts[status] ?? 0, statuses[status]);
    statuses[status] -= stopped;
    statuses.stopped += stopped;
  }
  held.isEstimate ||= isEstimate;
}

export async function infoOfStore(context: Context): Promise<StoreInfo> {
  const { target, write, engine } = context;
  const { backend } = engine.native;
  const { version } = require("../../package.json") as { version: string };
  return { version, target, backend, write, spaces: await spacesOf(context) };
}

const statsOptions = { largest: whole(0, 1000, "entries") };

/** Returns true if the contract is public and the run has a name. Leases are also stored as runs. */
function isShown({ space, run }: { space: string | null; run: string | null }): boolean {
  return run !== null && space !== null && (isCurrent(space) || SPACES.includes(space as KnownSpace));
}

export async function statsOf(context: Context, given: unknown): Promise<InspectedStats> {
  const { largest = 10 } = readRecord(given, "options", statsOptions);
  const { native } = context.engine;
  const found = await storeCalls.call(native, "stats", { contract: undefined, largest });
  const spaces: InspectedStats["spaces"] = {};
  for (const { space, ...sizes } of await spacesOf(context)) spaces[space] = sizes;
  return {
    ...sizesOf(found),
    largest: found.largest
      .filter(isShown)
      .map((of) => Object.assign(of, refOf({ space: of.space!, run: of.run ?? of.lineage, ns: of.ns }))),
    spaces,
    walBytes: found.logBytes,
    freeBytes: found.freeBytes,
  };
}
