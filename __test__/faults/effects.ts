/** Helpers of the tests of effects: kills a program at every await, and starts processes that ask for effects. */

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { openStore } from "forkpoint";
import { effects, type RunRef } from "forkpoint/effects";
import { expect, onTestFinished } from "vitest";
import { fixture } from "../helpers.js";
import { Program, amount, randomBelow, repeat, seed } from "./faults.js";

/** The names of the effects of each program. */
const NAMES = ["first", "late", "cut", "last"];

/** The other system, a server. It tells a repetition by the idempotency key. */
export class OtherSystem {
  /** The calls, in their order. */
  readonly calls: Array<{ name: string; key: string }> = [];
  readonly #receipts = new Map<string, number>();
  readonly #server: Server;

  constructor() {
    this.#server = createServer((request, response) => {
      const [name, key] = [request.url!.slice(1), String(request.headers["idempotency-key"])];
      this.calls.push({ name, key });
      const isNew = !this.#receipts.has(key);
      if (isNew) this.#receipts.set(key, this.#receipts.size);
      // It has done its work, but nobody hears of it.
      if (name === "cut" && isNew) return void request.socket.destroy();
      const answer = () => response.end(JSON.stringify({ receipt: this.#receipts.get(key) }));
      setTimeout(answer, name === "late" ? 20 : 0);
    });
    onTestFinished(() => void this.#server.close().closeAllConnections());
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  keysOf(name: string): string[] {
    return this.calls.filter((call) => call.name === name).map(({ key }) => key);
  }

  receiptOf(name: string): number | undefined {
    return this.#receipts.get(this.keysOf(name)[0] ?? "");
  }
}

/** How often the programs are killed. The default is for `npm test`. */
const kills = amount("FORKPOINT_FAULT_EFFECTS", 1);

/** A program, and the run whose effects it has. */
export interface Attacked {
  /** The path of the program and its arguments before the target. */
  program: [string, ...string[]];
  run: RunRef;
  file: string;
  /** How many kills, if not as many as the variable says. */
  kills?: number;
}

/**
 * Runs the program without a kill. Then kills it at each point, or at some that the seed selects, and once more while it
 * continues. Afterwards, each effect has arrived with one idempotency key, and none has arrived again after its result was
 * stored.
 */
export async function attack(
  { program, run, file, kills: most = kills }: Attacked,
  place: () => string,
): Promise<number> {
  const unharmed = await runs({ program, run, file }, place(), []);
  const below = randomBelow(seed);
  const all = Array.from({ length: unharmed }, (_, at) => at + 1);
  const chosen: number[] = [];
  while (chosen.length < most && all.length > 0) chosen.push(...all.splice(below(all.length), 1));
  for (const point of chosen) await runs({ program, run, file }, place(), [point, 1 + below(unharmed)]);
  return unharmed;
}

/** Runs the program to its end, killed at these points. Returns how many points it has passed at last. */
async function runs({ program, run, file }: Attacked, target: string, points: number[]): Promise<number> {
  const system = new OtherSystem();
  const url = await system.start();
  const where = `killed at ${points.join(", ") || "no"} points; ${repeat(file, "FORKPOINT_FAULT_EFFECTS")}`;
  for (let attempt = 0; ; attempt++) {
    const stored = await resultsOf(target, run);
    const before = system.calls.length;
    const killAt = String(points[attempt] ?? 0);
    const started = new Program([...program, target, url], { env: { KILL_AT: killAt } });
    const { code, signal, errors, lines } = await started.ended;
    const again = system.calls.slice(before).filter(({ key }) => stored.has(key));
    expect(again, `arrived although its result was stored, ${where}`).toEqual([]);
    if (signal === "SIGKILL" && points[attempt] !== undefined) continue;
    expect({ code, errors }, where).toEqual({ code: 0, errors: "" });
    const { receipts, points: passed } = JSON.parse(lines.at(-1)!) as { receipts: object; points: number };
    for (const name of NAMES) expect(new Set(system.keysOf(name)).size, `keys of ${name}, ${where}`).toBe(1);
    expect(receipts, where).toEqual(Object.fromEntries(NAMES.map((name) => [name, system.receiptOf(name)])));
    expect((await resultsOf(target, run)).size, where).toBe(NAMES.length);
    return passed;
  }
}

/** The idempotency keys of the effects whose results are stored. */
async function resultsOf(target: string, run: RunRef): Promise<Set<string>> {
  const store = await openStore(target);
  try {
    const listed = await effects(store).list(run);
    return new Set(listed.filter(({ state }) => state === "done").map(({ idempotencyKey }) => idempotencyKey));
  } finally {
    await store.close();
  }
}

/** A process that asks for effects: fixtures/effects.mjs. */
export class Asker extends Program {
  constructor(target: string, { ttlMs, env = {} }: { ttlMs?: number | undefined; env?: object | undefined } = {}) {
    super([fixture("effects.mjs"), target, ...(ttlMs === undefined ? [] : [String(ttlMs)])], { env });
  }

  /** Resolves to the first line that has this field, once it is printed. */
  async line(field: string, value?: unknown): Promise<any> {
    const find = () => this.said.find((said) => field in said && (value === undefined || said[field] === value));
    for (let count = this.lines.length; find() === undefined; count++) await this.until(count + 1);
    return find();
  }

  /** The lines that have this field. */
  having(field: string): any[] {
    return this.said.filter((said) => field in said);
  }

  /** Waits until there are so many lines that have this field. Resolves to the last of them. */
  async more(field: string, count: number): Promise<any> {
    for (let all = this.lines.length; this.having(field).length < count; all++) await this.until(all + 1);
    return this.having(field)[count - 1];
  }
}

/** Starts processes that ask for effects, and waits until they are ready. */
export async function askers(
  target: string,
  count: number,
  options?: ConstructorParameters<typeof Asker>[1],
): Promise<Asker[]> {
  const made = Array.from({ length: count }, () => new Asker(target, options));
  for (const asker of made) await asker.line("ready");
  return made;
}
