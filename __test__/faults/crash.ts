/** Kills the writers of a store again and again, and compares what a new process finds with what they announced. */

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { type durable, type Program, randomBelow, repeat, seed, start, targetIn, verify } from "./faults.js";
import { type Traits, World } from "./world.js";

/** How many checkpoints of a lineage a prune keeps. */
const KEEP = 4;

/** After so many cycles, the next one begins with an empty store. */
const CYCLES_PER_STORE = 10;

const LANES = 3;

export interface Crashes {
  kills: number;
  /** How many calls were acknowledged. The model knows all of them. */
  acknowledged: number;
  /** How many checkpoints that must be there were found, in all cycles together. */
  verified: number;
  /** How many checkpoints prunes have removed. */
  pruned: number;
  /** How many calls were running when the process was killed. */
  cut: number;
}

/** A server that the writers work on. */
export interface Databases {
  /** Makes an empty database and returns its URL. */
  make(): Promise<string>;
  /** Waits until the server has ended what the killed processes had begun. */
  settle(): Promise<void>;
}

const durabilities = ["full", "normal", "off"] as const;

/**
 * Kills each writer once in each cycle. Fails if a kill met no running call, or if nothing acknowledged was looked for.
 *
 * @param place a kind of file, or a server.
 * @param modules the contract of each writer. All of them write to one store.
 * @param file the test, for the message that says how to repeat a failure.
 */
export async function crash(
  home: string,
  place: (typeof durable)[number] | Databases,
  modules: string[],
  cycles: number,
  file: string,
): Promise<Crashes> {
  const kind = typeof place === "string" ? place : "postgres";
  const below = randomBelow(seed * 1_000_003 + cycles + modules.length * 31 + kind.length);
  const traits = new Map<string, Traits>();
  for (const module of modules) traits.set(module, ((await import(module)) as { default: Traits }).default);
  const crashes = { kills: 0, acknowledged: 0, verified: 0, pruned: 0, cut: 0 };
  let known = 0;
  let worlds = new Map<string, World>();
  let target = "";

  for (let cycle = 0; cycle < cycles; cycle++) {
    if (cycle % CYCLES_PER_STORE === 0) {
      const inside = join(home, `store-${cycle}`);
      mkdirSync(inside);
      target = typeof place === "string" ? targetIn(inside, place) : await place.make();
      worlds = new Map([...traits].map(([module, one]) => [module, new World(one, KEEP)]));
    }
    const lanes = modules.map(() => Array.from({ length: LANES }, () => [] as World["lineages"]));
    for (const [module, world] of worlds)
      for (const lineage of world.lineages) {
        const writers = lanes.filter((_, writer) => modules[writer] === module);
        writers[below(writers.length)]![below(LANES)]!.push(lineage);
      }
    const options = { durability: durabilities[below(3)] };
    const programs = modules.map((module, writer) => {
      // The process is killed a moment after one of its lines.
      const [after, waitMs] = [1 + below(200), below(5)];
      const started: Program = start(
        home,
        {
          task: "work",
          target,
          module,
          options,
          seed: below(2 ** 31),
          writer: `${cycle}.${writer}`,
          lanes: lanes[writer]!,
          keep: KEEP,
        },
        {
          onLine: () => {
            if (started.lines.length === after) setTimeout(() => started.kill(), waitMs);
          },
        },
      );
      return started;
    });
    const where = `cycle ${cycle} of ${kind} with ${[...traits.values()].map((one) => (one as { name?: string }).name)}; ${repeat(file, "FORKPOINT_FAULT_CYCLES")}`;
    for (const program of programs) {
      const { signal, errors } = await program.ended;
      expect({ signal, errors }, where).toEqual({ signal: "SIGKILL", errors: "" });
      const said = program.said as Array<{ b?: number; d?: number; r?: unknown; op?: string }>;
      const begun = new Map(said.filter(({ b }) => b !== undefined).map((line) => [line.b, line.op]));
      for (const { d, r } of said) {
        if (d === undefined) continue;
        crashes.acknowledged += 1;
        if (begun.get(d) === "prune") crashes.pruned += r as number;
        begun.delete(d);
      }
      crashes.kills += 1;
      crashes.cut += begun.size;
    }
    if (typeof place !== "string") await place.settle();
    for (const [module, world] of worlds) {
      known += world.add(programs.filter((_, writer) => modules[writer] === module).map(({ said }) => said));
      const found = await verify(home, target, module);
      expect(world.problems(found), where).toEqual([]);
      crashes.verified += world.required;
      world.settle(found);
    }
  }
  const { kills, acknowledged, verified, pruned, cut } = crashes;
  const counts = JSON.stringify(crashes);
  expect([kills, known], counts).toEqual([modules.length * cycles, acknowledged]);
  // A few cycles may by chance not prune.
  const least = cycles >= 10 ? [verified, cut, pruned] : [verified, cut];
  expect(Math.min(...least), counts).toBeGreaterThan(0);
  return crashes;
}
