import type { PruneOptions, PruneProgress, PruneResult, StatsOptions, StoreStats } from "../index.js";
import type { Engine } from "./engine.js";
import { ForkpointError, rangeError, show, typeError } from "./errors.js";
import { type Reader, type Retention, atMost, readRecord } from "./options.js";
import { type Cursor, type Pruned, type Rule, storeCalls } from "./wire.js";

/** Checkpoints that one transaction removes: a save waits for one batch at most. */
const BATCH = 500;
/** So many lineages may be asked for by `stats()`. */
const MOST_LARGEST = 1000;

/**
 * Removes what the options name, batch by batch: checkpoints of that contract, or of all. Closing waits for one batch at
 * most.
 */
export async function prune(
  { native, retention }: Engine,
  contract: string | undefined,
  options: unknown,
  closing: () => boolean,
): Promise<PruneResult> {
  const { signal, onProgress, dryRun, rules } = readPruneOptions(options, retention);
  const goOn = () => {
    if (closing()) throw new ForkpointError("CLOSED", "the store was closed: what was not removed yet stays");
    signal?.throwIfAborted();
  };
  goOn();
  const done: PruneProgress = { removed: 0, bytes: 0, lineages: 0 };
  const count = ({ checkpoints, bytes, lineages }: Pruned) => {
    done.removed += checkpoints;
    done.bytes += bytes;
    done.lineages += lineages;
    onProgress?.({ ...done });
  };
  if (dryRun) {
    count(await storeCalls.call(native, "prunable", { contract, rules }));
    return done;
  }
  for (const rule of rules) {
    let next: Cursor | undefined;
    do {
      const batch: Pruned = await storeCalls.call(native, "prune", { contract, rule, cursor: next, most: BATCH });
      count(batch);
      next = batch.next ?? undefined;
      if (next !== undefined) {
        // A store that answers at once leaves no turn to whoever wants to abort.
        await new Promise((resolve) => setImmediate(resolve));
        goOn();
      }
    } while (next !== undefined);
  }
  return done;
}

/** What there is. */
export async function stats({ native }: Engine, contract: string | undefined, options: unknown): Promise<StoreStats> {
  const { largest = 0 } = readRecord(options, "options", statsOptions) as StatsOptions;
  const found = await storeCalls.call(native, "stats", { contract, largest });
  const { logicalBytes, storedBytes, fileBytes, largest: lines, ...counts } = found;
  const ratio = storedBytes === 0 ? 1 : logicalBytes / storedBytes;
  const file = typeof fileBytes === "number" ? { fileBytes } : {};
  return { ...counts, logicalBytes, storedBytes, ratio, ...file, largest: lines };
}

const statsOptions: { [K in keyof Required<StatsOptions>]: Reader<unknown> } = {
  largest: (value, name) => {
    if (typeof value !== "number") throw typeError(`${name} must be a number of runs, and is ${show(value)}`);
    if (!Number.isInteger(value) || value < 0 || value > MOST_LARGEST) {
      throw rangeError(`${name} must be a whole number from 0 to ${MOST_LARGEST}, and is ${value}`);
    }
    return value;
  },
};

/** Gives back what removed checkpoints took. */
export async function vacuum({ native }: Engine): Promise<void> {
  await storeCalls.call(native, "vacuum", {});
}

function readPruneOptions(options: unknown, policy: Retention) {
  const read = readRecord(options, "options", pruneOptions) as PruneOptions & { olderThan?: number };
  const { signal, onProgress, dryRun = false } = read;
  const { olderThan = policy.ttl === null ? null : Date.now() - policy.ttl } = read;
  const { keepLastN = policy.keepLastN, maxBytes = policy.maxBytes } = read;
  // In this order: what has gone by its age counts no more, and what has gone by its number takes no bytes.
  const rules: Rule[] = [];
  if (olderThan !== null) rules.push({ savedBefore: Math.ceil(olderThan) });
  if (keepLastN !== null) rules.push({ keepLast: keepLastN });
  if (maxBytes !== null) rules.push({ maxBytes });
  return { signal, onProgress, dryRun, rules };
}

export const pruneOptions: { [K in keyof Required<PruneOptions>]: Reader<unknown> } = {
  olderThan: (value, name) => {
    if (value === null) return null;
    const time = value instanceof Date ? value.getTime() : value;
    if (typeof time !== "number") {
      throw typeError(`${name} must be a Date or a number of milliseconds since the epoch, and is ${show(value)}`);
    }
    if (!Number.isFinite(time) || Math.abs(time) > Number.MAX_SAFE_INTEGER) {
      throw rangeError(`${name} must be a valid time, and is ${value instanceof Date ? "an invalid Date" : time}`);
    }
    return time;
  },
  keepLastN: atMost("checkpoints"),
  maxBytes: atMost("bytes"),
  dryRun: (value, name) => {
    if (typeof value !== "boolean") throw typeError(`${name} must be true or false, and is ${show(value)}`);
    return value;
  },
  signal: (value, name) => {
    if (!(value instanceof AbortSignal)) throw typeError(`${name} must be an AbortSignal, and is ${show(value)}`);
    return value;
  },
  onProgress: (value, name) => {
    if (typeof value !== "function") throw typeError(`${name} must be a function, and is ${show(value)}`);
    return value;
  },
};
