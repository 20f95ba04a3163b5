// A model of several processes that meet on one run in random order: starts, answers, edits, branches, deletes, prunes, clocks and
// kills, for the contracts whose frameworks the root package does not need. LangGraph's is integration/langgraph/meeting.test.ts.
// FORKPOINT_TEST_SEED repeats a run, and FORKPOINT_TEST_MEETINGS sets the number of runs.
// @module-tag slow
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { Program, amount, contracts, randomBelow, seed } from "./faults/faults.js";
import { fixture, folder, place, sharedKinds } from "./helpers.js";

const HOUR = 3_600_000;
const ROUNDS = 20;
const ACTORS = 3;

type Contract = (typeof contracts)[number];

/** What an actor may do. More starts than anything else. */
const acts: Record<Contract, readonly string[]> = {
  agentium: ["start", "start", "start", "again", "delete", "prune"],
  tinyagents: ["start", "start", "start", "start", "answer", "answer", "edit", "branch", "delete", "prune"],
  agentos: ["start", "start", "start", "branch", "delete", "prune"],
  helix: ["start", "start", "start", "edit", "branch", "delete", "prune"],
};

/** How a call ended. Neither a result nor an error: the process was killed. */
interface Done {
  what: string;
  turn: number;
  result?: any;
  error?: { name: string; code?: string; message: string };
  killed?: true;
}

/** A process that does what it is told, and is started again after it was killed. */
class Actor {
  readonly #args: [string, ...string[]];
  #program!: Program;
  #heard = 0;

  constructor(...args: string[]) {
    this.#args = [fixture("meeting.mjs"), ...args];
    this.#start();
  }

  #start(): void {
    this.#program = new Program(this.#args, { deadlineMs: 600_000 });
    this.#heard = 1;
  }

  async call(what: string, given: object = {}): Promise<any> {
    this.#program.tell(JSON.stringify({ what, ...given }));
    this.#heard += 1;
    await this.#program.until(this.#heard);
    return JSON.parse(this.#program.lines[this.#heard - 1]!);
  }

  /** Makes a call whose process is killed after this time, unless it has ended by then. */
  async killed(after: number, what: string, given: { turn: number }): Promise<Done> {
    await this.#program.until(this.#heard);
    const killing = sleep(after).then(() => this.#program.kill());
    const told = await this.call(what, given).catch(() => ({ what, ...given, killed: true }));
    await killing;
    await this.#program.ended;
    this.#start();
    return told as Done;
  }

  ready(): Promise<void> {
    return this.#program.until(1);
  }
}

async function play(contract: Contract, kind: (typeof sharedKinds)[number], random: number): Promise<number> {
  const below = randomBelow(random);
  const target = place(kind);
  const file = join(folder(), "payments");
  writeFileSync(file, "");
  const actors = Array.from({ length: ACTORS }, (_, at) => new Actor(contract, target, file, `${random + at + 1}`));
  const [first] = actors as [Actor];
  // One after the other, because a store is made by the first one.
  for (const actor of actors) await actor.ready();
  const one = async (what: string) => {
    const { result, error } = await first.call(what);
    if (error !== undefined) throw new Error(`${what}: ${error.message}`);
    return result;
  };
  /** How often something was paid, by its idempotency keys. */
  const payments = () => {
    const paid = new Map<string, Map<string, number>>();
    for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
      const { what, key } = JSON.parse(line);
      const keys = paid.get(`${what}`) ?? new Map<string, number>();
      paid.set(`${what}`, keys.set(key, (keys.get(key) ?? 0) + 1));
    }
    return paid;
  };
  let [turn, begun, kills] = [0, 1, 0];
  /** The turns that the state must have. */
  let must = new Set<number>();
  let ended = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    if (below(4) === 0) await actors[below(ACTORS)]!.call("clock", { ms: (below(3) - 1) * HOUR });
    const done: Done[] = await Promise.all(
      actors.slice(0, 1 + below(ACTORS)).map((actor) => {
        const what = acts[contract][below(acts[contract].length)]!;
        turn += 1;
        const durability = ["sync", "async", "exit"][below(3)];
        const given = { turn, after: below(12), asks: below(3) === 0, durability };
        return below(5) === 0 ? actor.killed(below(40), what, given) : actor.call(what, given);
      }),
    );
    for (const actor of actors) await actor.ready();
    const of = (what: string) => done.filter((each) => each.what === what);
    const deleted = of("delete").some(({ error, killed }) => !error && !killed);
    // A delete that was killed may have happened.
    const mayBeDeleted = of("delete").some(({ error }) => !error);
    begun += of(contract === "tinyagents" ? "branch" : "delete").length + of("again").length;
    kills += done.filter(({ killed }) => killed).length;
    const told = `${contract}, seed ${random}, round ${round}: ${done
      .map(
        ({ what, turn: of, error, killed }) =>
          `${what} ${of}${killed ? " (killed)" : error ? ` (${error.message})` : ""}`,
      )
      .join(", ")}`;
    for (const { error } of done)
      if (error !== undefined) expect(["CONFLICT", "NOT_FOUND"], `${told}: ${error.name}`).toContain(error.code);
    ended += done.filter(({ error, killed }) => !error && !killed).length;

    const left: string[] = await one("left");
    const state: any = await one("state");
    const refused = ({ what, error, killed }: Done) =>
      what === "delete" || what === "prune" || (!killed && error !== undefined);
    // Nobody has begun the run again: each start was refused, or had found the run and was deleted with it.
    const found = ({ what, result }: Done) => what === "start" && result?.found === true;
    if (deleted && done.every((each) => refused(each) || found(each))) {
      expect(left, told).toEqual([]);
      expect(await one("effects"), `${told}: effects of the deleted run`).toBe(0);
    }
    const starts = of("start").filter(({ error, killed }) => !error && !killed);
    if (contract === "tinyagents") {
      const log: string[] = state;
      expect(new Set(log).size, told).toBe(log.length);
      const turns = new Set(log.map((line) => Number(line.replace(/^edit /u, "").split(" ")[0])));
      if (mayBeDeleted || of("branch").length > 0) must = turns;
      for (const { turn: at } of mayBeDeleted || of("branch").length > 0 ? [] : starts) must.add(at);
      for (const at of must) expect(turns, told).toContain(at);
    } else if (contract === "agentium") {
      for (const { result } of starts) expect(result, told).toEqual(["check", "pay", "tell"]);
      if (starts.length > 0 && !mayBeDeleted && of("again").length === 0)
        expect(state, told).toEqual(["check", "pay", "tell"]);
    } else if (starts.length > 0 && !mayBeDeleted) {
      // The newest one is of this round, whatever the clocks of the processes say.
      expect(
        of("start").map(({ turn: at }) => `${at}`),
        told,
      ).toContain(state);
    }
    for (const [what, keys] of payments()) {
      // An effect that a kill has interrupted runs again under its key.
      const calls = [...keys.values()].reduce((sum, count) => sum + count, 0);
      expect(calls - keys.size, `${told}: ${what} was paid again`).toBeLessThanOrEqual(kills);
      expect(keys.size, `${told}: ${what} was paid under several keys`).toBeLessThanOrEqual(begun);
    }
    const { ok, findings } = await one("check");
    expect({ ok, findings: findings.filter((found: any) => found.code !== "ORPHAN") }, told).toEqual({
      ok: true,
      findings: [],
    });
  }
  return ended;
}

const meetings = amount("FORKPOINT_TEST_MEETINGS", 1);

describe.each(sharedKinds)("on %s", (kind) => {
  it.each(contracts)(
    "%s: no work is lost, nothing is paid twice, and nothing that was deleted is left",
    async (contract) => {
      let ended = 0;
      for (let at = 0; at < meetings; at += 1) ended += await play(contract, kind, seed + at);
      expect(ended).toBeGreaterThan(ROUNDS / 2);
    },
    600_000 + meetings * 60_000,
  );
});
