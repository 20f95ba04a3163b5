// One run of an expectation.
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "./children.js";
import type { Child, Expectation, Figure, StoreModule, Trial } from "./types.js";

/** What a trial needs of its suite. */
export interface Setting<Store> {
  /** The address of the suite's module. */
  readonly suite: string;
  /** The address of the store's module. */
  readonly module: string;
  readonly store: StoreModule<Store>;
  readonly target: string;
  readonly seed: number;
  /** The time that an expectation may take, in ms. */
  readonly timeoutMs: number;
  /** True: an error that a store throws in the background fails the expectation, and does not end the process. */
  readonly catchesAll: boolean;
}

/** How long closing a store, or removing what it has stored, may take. */
const CLOSING_MS = 5_000;

let trials = 0;

/** Returns a function that returns the same numbers for the same seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed | 0;
  return (below) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

const sleep = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

/** Returns the bytes of all files in a folder. */
async function bytesIn(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true });
  const sizes = names.map(async (name) => {
    const found = await stat(join(folder, name)).catch(() => undefined);
    return found?.isFile() ? found.size : 0;
  });
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}

/** Checks one expectation on an empty store. Rejects if the store does not meet it. Adds to `figures` what was measured. */
export async function attempt<Store>(
  { id, check }: Expectation<Store>,
  { suite, module, store: { open, close, wipe, bytes }, target: pattern, seed, timeoutMs, catchesAll }: Setting<Store>,
  figures: Figure[],
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "forkpoint-conformance-"));
  trials += 1;
  const number = `${process.pid}_${Date.now().toString(36)}_${trials}`;
  const target = pattern.replaceAll("{dir}", folder).replaceAll("{n}", number);
  const children: Child[] = [];
  let ended = false;
  let opened: Promise<Store> | undefined;
  /** A check that took too long must not begin anything more. */
  const goesOn = () => {
    if (ended) throw new Error("this trial has ended");
  };
  const shut = async () => {
    const before = opened;
    opened = undefined;
    if (before !== undefined) await close?.(await before);
  };
  const trial: Trial<Store> = {
    target,
    async store() {
      goesOn();
      return await (opened ??= Promise.resolve(open({ target })));
    },
    async reopen() {
      await shut();
      return await trial.store();
    },
    child(program, input) {
      goesOn();
      const child = start({ suite, module, target, program, input });
      children.push(child);
      return child;
    },
    random: numbers(seed),
    sleep,
    figure: (name, value, unit) => figures.push({ id, name, value, unit }),
    async bytes() {
      await shut();
      if (bytes !== undefined) return await bytes({ target });
      return target.includes(folder) ? await bytesIn(folder) : undefined;
    },
    library: (name) => createRequire(module)(name),
  };
  const failure = failures(timeoutMs, catchesAll);
  try {
    await Promise.race([meets(), failure.promise]);
  } finally {
    ended = true;
    failure.end();
    await Promise.all(children.map((child) => child.kill()));
    // What a store says when it is closed is no part of the expectation, and some never answer after a fault.
    await atMost(CLOSING_MS, shut);
    if (pattern !== target) await atMost(CLOSING_MS, async () => await wipe?.({ target }));
    // On Windows, a file that a store has not closed stays.
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 }).catch((error: Error) =>
      process.emitWarning(`a folder of a trial stays: ${error.message}`),
    );
  }

  async function meets() {
    if (pattern === target) await wipe!({ target });
    await check(trial);
  }
}

/** Ends work after some time, and ignores how it ends. */
async function atMost(ms: number, work: () => Promise<unknown>) {
  await Promise.race([work(), sleep(ms)]).catch(() => {});
}

/** A promise that rejects after the time, or with an error that nobody has caught. */
function failures(timeoutMs: number, catchesAll: boolean) {
  let reject!: (error: unknown) => void;
  const promise = new Promise<never>((_, fail) => (reject = fail));
  promise.catch(() => {});
  const timer = setTimeout(() => reject(new Error(`took more than ${timeoutMs} ms`)), timeoutMs);
  const events = ["uncaughtException", "unhandledRejection"] as const;
  if (catchesAll) for (const event of events) process.on(event, reject);
  return {
    promise,
    end() {
      clearTimeout(timer);
      for (const event of events) process.off(event, reject);
    },
  };
}
