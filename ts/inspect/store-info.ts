/** Describes a store: its target, its backend, and the counts of its runs and checkpoints. */

import { readRecord, whole } from "../store/options.js";
import { sizesOf } from "../store/retention.js";
import { storeCalls } from "../bridge/wire.js";
import { type KnownSpace, SPACES, traitsOf } from "../contracts/registry.js";
import { type Context, isBeside, isCurrent, refOf, spaceOf } from "./context.js";
import { inspect } from "../plugin/wire.js";
import type { InspectedStats, StoreInfo } from "../plugin/views.js";

type Holding = StoreInfo["spaces"][number];

/** Adds up the contracts of each space. Leaves out spaces without runs. */
async function spacesOf({ engine }: Context): Promise<Holding[]> {
  const found = await inspect.call(engine.native, "spaces", {});
  const spaces = SPACES.map((space) => {
    // The status of a run is the status of its current state.
    const own = traitsOf(space).current ?? space;
    const { statuses, isEstimate } = found.find((part) => part.space === own)!;
    const sizes = { checkpoints: 0, effects: 0, logicalBytes: 0, storedBytes: 0 };
    const sum: Holding = { space, runs: 0, statuses, ...sizes, isEstimate };
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
  return spaces.filter(({ runs, effects }) => runs + effects > 0);
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
