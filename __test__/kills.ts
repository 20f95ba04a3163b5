/**
 * Kills processes that work on a run, stop it or wait for it, at each call of the engine. Afterwards, others must get on.
 * See fixtures/killed.mjs.
 */

import { writeFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { Program, amount, isLong, randomBelow, repeat, seed } from "./faults/faults.js";
import { Gate, type Kind, expectSound, folder, place, sharedKinds } from "./helpers.js";

interface Options {
  whenBusy?: string;
  by?: string;
  reason?: string;
  maxWaitMs?: number;
}

/** The runs of a contract, in this process. */
interface Runs {
  /** How many branches more the run has after a rollback. */
  undone: number;
  exclusive<T>(run: string, work: (signal: AbortSignal) => Promise<T>, options?: Options): Promise<T>;
  /** Continues the run, and adds lines to it. Pays in between. Returns the lines. */
  works(run: string, name: string, signal: AbortSignal, pause?: () => Promise<void>): Promise<string[]>;
  recover?(run: string): Promise<string[]>;
  lines(run: string): Promise<string[]>;
  /** How many more branches than one the run has. */
  branches(run: string): Promise<number>;
  status(run: string): Promise<string | null>;
  of(run: string): object;
  leases(): Leases;
  check(): Promise<any>;
  close(): Promise<void>;
}

/** See fixtures/killed.mjs. */
interface Leases {
  requests(of: object): Promise<Array<{ holder: string }>>;
  lease(of: object): Promise<unknown>;
  close(): Promise<void>;
}

/** What becomes of a call. */
type End = { lines: string[] } | { code: string; stopped: unknown };

/** The process that is killed works on the run, stops it, or waits for it. `alone`: nobody waits for it. */
const roles = ["holds", "holds alone", "stop", "interrupt", "rollback", "waits"] as const;
type Role = (typeof roles)[number];

/**
 * A wait that is longer than any other here, and shorter than the 30 s after which leases and requests expire. A process
 * that has ended must be noticed before.
 */
const AT_ONCE = { whenBusy: "enqueue", maxWaitMs: 25_000 };

class World {
  readonly runs: Runs;
  readonly #leases: Leases;
  /** Opened at the end, so that a test that has failed ends. */
  readonly gates: Gate[] = [];
  readonly #path: string;
  readonly #target: string;
  readonly #journal: string;

  constructor(runs: Runs, leases: Leases, path: string, target: string, journal: string) {
    [this.runs, this.#leases] = [runs, leases];
    [this.#path, this.#target, this.#journal] = [path, target, journal];
  }

  /** Makes a call in another process, which dies at its n-th call of the engine, or right after it. */
  async #start(given: {
    what: "work" | "stop";
    run: string;
    n: number;
    when: string;
    pauses?: true;
    options?: Options;
  }) {
    const child = new Program([this.#path, this.#target, this.#journal]);
    await child.until(1);
    child.tell(JSON.stringify(given));
    let over = false;
    void child.ended.then(() => (over = true));
    return {
      ended: child.ended,
      isOver: () => over,
      /** Waits until it says that it holds the run, or has ended. */
      holds: () => Promise.race([child.until(2), child.ended]).catch(() => {}),
      go: () => child.tell("{}"),
      /** How it ended. Undefined: it was killed. */
      async end(): Promise<{ calls: number; code?: string; message?: string; result?: any } | undefined> {
        const { code, signal, errors } = await child.ended;
        expect(errors).toBe("");
        const end = child.said.find(({ event }) => event === "ended");
        if (end === undefined) expect([code, signal]).toEqual([null, "SIGKILL"]);
        return end;
      },
    };
  }

  #gate(): Gate {
    const gate = new Gate();
    this.gates.push(gate);
    return gate;
  }

  #requests(run: string) {
    return this.#leases.requests(this.runs.of(run));
  }

  /** Waits until these requests are stored. `or`: something else that ends the wait. */
  async #stored(run: string, are: (requests: Array<{ holder: string }>) => boolean, or: () => boolean): Promise<void> {
    while (!or() && !are(await this.#requests(run)));
  }

  /** Waits until a request is stored. */
  #asked(run: string, or: () => boolean): Promise<void> {
    return this.#stored(run, (requests) => requests.length > 0, or);
  }

  /** Works on the run in this process until the gate is opened, or until it is stopped. */
  #holder(run: string, gate: Gate): Promise<End> {
    const work = (signal: AbortSignal) => {
      const aborted = new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      });
      return this.runs.works(run, "holder", signal, () => Promise.race([gate.wait(), aborted]));
    };
    return this.runs.exclusive(run, work).then(
      (lines) => ({ lines }),
      ({ code, stopped }) => ({ code, stopped }),
    );
  }

  /** Works on the run when it is free. */
  #next(run: string, name: string): Promise<string[]> {
    return this.runs.exclusive(run, (signal) => this.runs.works(run, name, signal), AT_ONCE);
  }

  /** Kills a process of a role at a call. Returns how many calls it made, if it ended by itself. */
  async kill(role: Role, n: number, when: "sent" | "answered"): Promise<number | undefined> {
    const run = `${role}, killed at call ${n}, ${when}`;
    const told = `${run}: ${repeat("kills", "FORKPOINT_TEST_MEETINGS")}`;
    const { end, undone = 0 } = await this.#play(role, run, n, when);
    const { runs } = this;
    const lines = await runs.lines(run);
    expect(lines.at(-1), told).toBe("next ends");
    expect(new Set(lines).size, told).toBe(lines.length);
    // A payment that was interrupted may be made again, under its key.
    const paid = new Map<string, string[]>();
    for (const line of readFileSync(this.#journal, "utf8").split("\n").filter(Boolean)) {
      const { run: of, what, key } = JSON.parse(line);
      if (of === run) paid.set(what, [...(paid.get(what) ?? []), key]);
    }
    expect(paid.size, told).toBeGreaterThan(0);
    for (const [what, keys] of paid) {
      expect(new Set(keys).size, `${told}: ${what} was paid under several keys`).toBe(1);
      expect(keys.length, `${told}: ${what} was paid again`).toBeLessThanOrEqual(end === undefined ? 2 : 1);
    }
    expect(await this.#requests(run), told).toEqual([]);
    expect(await this.#leases.lease(runs.of(run)), told).toBeNull();
    expect(await runs.status(run), told).not.toBe("stopped");
    expect(await runs.branches(run), told).toBe(undone);
    return end?.calls;
  }

  async #play(role: Role, run: string, n: number, when: string) {
    const { runs } = this;
    const told = `${run}: ${repeat("kills", "FORKPOINT_TEST_MEETINGS")}`;
    if (role === "holds" || role === "holds alone") {
      const child = await this.#start({ what: "work", run, n, when, pauses: true });
      await child.holds();
      let next: Promise<string[]> | undefined;
      let isNext = false;
      if (role === "holds") {
        next = this.#next(run, "next").finally(() => (isNext = true));
        await this.#asked(run, () => isNext);
      }
      child.go();
      const end = await child.end();
      if (role === "holds alone") {
        const status = await runs.status(run);
        expect(status, told).not.toBe("stopped");
        if (end === undefined && runs.recover !== undefined) {
          const outcomes = await runs.recover(run);
          if (status === "unfinished") expect(outcomes, told).toEqual(["finished"]);
        }
      }
      await (next ?? this.#next(run, "next"));
      return { end };
    }
    const gate = this.#gate();
    const holder = this.#holder(run, gate);
    await gate.reached;
    if (role === "waits") {
      const child = await this.#start({ what: "work", run, n, when, options: AT_ONCE });
      await this.#asked(run, child.isOver);
      let isNext = false;
      const next = this.#next(run, "next").finally(() => (isNext = true));
      // The dead process's request is not removed yet.
      const ofThis = ({ holder }: { holder: string }) => holder.includes(`process ${process.pid} `);
      await this.#stored(
        run,
        (requests) => requests.some(ofThis),
        () => isNext,
      );
      gate.open();
      expect(await holder, told).toMatchObject({ lines: expect.arrayContaining(["holder ends"]) });
      const end = await child.end();
      const lines = await next;
      if (end !== undefined) expect(lines.indexOf("child ends"), told).toBeLessThan(lines.indexOf("next begins"));
      return { end };
    }
    const by = "Ana";
    const child = await this.#start(
      role === "stop"
        ? { what: "stop", run, n, when, options: { by } }
        : { what: "work", run, n, when, options: { whenBusy: role, by } },
    );
    const end = await child.end();
    // The request may not be stored. Then the holder works on.
    gate.open();
    const held = await holder;
    if ("code" in held) expect(held, told).toMatchObject({ code: "STOPPED", stopped: { kind: role, by } });
    else expect(held.lines, told).toContain("holder ends");
    if (end !== undefined) expect(held, told).toMatchObject({ code: "STOPPED" });
    if (end !== undefined && role === "stop") expect(end.result, told).toMatchObject({ outcome: "stopped" });
    const status = await runs.status(run);
    // The stop may come while the work ends.
    if (role !== "stop") expect(status, told).not.toBe("stopped");
    else if ("code" in held) expect(status, told).toMatch(/^(stopped|finished)$/);
    // A request that is left does not stop the next one, which looks for requests when another call waits.
    const asks = this.#gate();
    const work = (signal: AbortSignal) => runs.works(run, "after", signal, asks.wait);
    const after = runs.exclusive(run, work, AT_ONCE);
    await asks.reached;
    const next = this.#next(run, "next");
    await this.#asked(run, () => false);
    // The holder has begun to look, and its own calls are answered later.
    asks.open();
    expect(await after, told).toContain("after ends");
    await next;
    return { end, undone: role === "rollback" && "code" in held ? runs.undone : 0 };
  }
}

/** Runs work on items, some at a time. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const lane = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item);
  };
  await Promise.all([lane(), lane(), lane()]);
}

/**
 * `path` is the contract's fixture, and `make` its function for this process. `short` is the number of kills of each role.
 * FORKPOINT_TEST_MEETINGS sets another one, and more than a call makes kills at each.
 */
export function killTests(
  path: string,
  make: (target: string, journal: string) => Promise<Runs>,
  { short = 2, isSlow = false } = {},
): void {
  const kills = amount("FORKPOINT_TEST_MEETINGS", short);
  const kinds = isSlow && !isLong("FORKPOINT_TEST_MEETINGS") ? sharedKinds.slice(0, 1) : sharedKinds;
  it.each(kinds)(
    "%s: a process is killed at a call, and others get on",
    async (kind: Kind) => {
      const below = randomBelow(seed);
      const [target, journal] = [place(kind), join(folder(), "journal")];
      writeFileSync(journal, "");
      const runs = await make(target, journal);
      const leases = runs.leases();
      const world = new World(runs, leases, path, target, journal);
      onTestFinished(async () => {
        for (const gate of world.gates) gate.open();
        await runs.close().catch(() => {});
        await leases.close();
      });
      const points: Array<[Role, number, "sent" | "answered"]> = [];
      const whole = new Map<Role, number>();
      await each(roles, async (role) => void whole.set(role, (await world.kill(role, 0, "sent"))!));
      for (const role of roles) {
        const calls = whole.get(role)!;
        const all = Array.from({ length: calls * 2 }, (_, at) => at);
        for (let left = kills; left > 0 && all.length > 0; left -= 1) {
          const [at] = all.splice(below(all.length), 1);
          points.push([role, Math.floor(at! / 2) + 1, at! % 2 === 0 ? "sent" : "answered"]);
        }
      }
      let ended = 0;
      await each(points, async (point) => {
        if ((await world.kill(...point)) !== undefined) ended += 1;
      });
      // A process may make fewer calls than the one that was not killed, because it has not waited as long.
      expect(ended).toBeLessThan(points.length / 2);
      await expectSound(runs);
    },
    120_000 + kills * 30_000,
  );
}
