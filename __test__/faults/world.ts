/** The model of a store: what a store must hold, may hold, and must not hold, after what its writers have announced. */

import type { Entry, Found, Lineage } from "./faults.js";

/** A call begins. */
interface Begun {
  b: number;
  op: string;
  lane?: number;
  name?: string;
  n?: number;
  to?: string;
  owned?: string[];
}

/** A line of fixtures/faults/work.mjs: a call begins, or has been acknowledged. */
type Line = Begun | { d: number; r?: unknown };

interface Kept {
  of: [string, number];
  /** True: the checkpoint must be there. False: it may be there. */
  must: boolean;
  /** How many pending writes it may have. */
  writes: number[];
}

/** The checkpoints of a lineage by their numbers, ascending. A checkpoint that must not be there is left out. */
type Kepts = Map<number, Kept>;

/** How a contract differs from others. */
export interface Traits {
  prunesAll: boolean;
  /** True if a fork is not one transaction. */
  copiesInParts?: boolean;
  forked(entries: Entry[], n: number, to: string): Entry[];
}

/** How many pending writes a call stores. */
const WRITES = 2;

export class World {
  readonly #traits: Traits;
  readonly #keep: number;
  readonly #lineages = new Map<string, Kepts>();
  readonly #runs = new Map<string, string | undefined>();
  /** Checkpoints that one call removes: all of them are there, or none. */
  #together: Array<Array<[string, number]>> = [];
  /** True if a prune of another lane or process may remove what is older than the newest `keep` checkpoints. */
  #pruned = false;

  constructor(traits: Traits, keep: number) {
    this.#traits = traits;
    this.#keep = keep;
  }

  /**
   * Adds what writers have done since the last `settle`. Each has lineages of its own. Returns how many of their calls
   * were acknowledged.
   */
  add(logs: Line[][], prunedByOthers = false): number {
    let acknowledged = 0;
    this.#pruned = prunedByOthers || logs.flat().some((line) => "op" in line && line.op === "prune" && !line.name);
    for (const name of this.#lineages.keys()) this.#demote(name);
    for (const lines of logs) {
      const open = new Map<number, () => void>();
      for (const line of lines) {
        if ("b" in line) open.set(line.b, this.#begin(line));
        else if ("d" in line) {
          open.get(line.d)!();
          acknowledged += 1;
        }
      }
    }
    for (const name of this.#lineages.keys()) this.#demote(name);
    return acknowledged;
  }

  /** How many checkpoints must be there: `problems` looks for each of them. */
  get required(): number {
    let required = 0;
    for (const kepts of this.#lineages.values()) for (const { must } of kepts.values()) required += Number(must);
    return required;
  }

  /** Compares the content of a store with this model, and returns the differences. */
  problems(found: Found): string[] {
    const wrong: string[] = [];
    if (!found.ok || found.findings.length > 0) wrong.push(`check() finds ${JSON.stringify(found.findings)}`);
    const counted = found.lineages.reduce((sum, { entries }) => sum + entries.length, 0);
    if (counted !== found.checkpoints) wrong.push(`stats() counts ${found.checkpoints}, and ${counted} were read`);
    const seen = new Map(found.lineages.map(({ name, entries }) => [name, entries]));
    if (seen.size !== found.lineages.length) wrong.push("a lineage was listed twice");
    // Several processes save to the run "shared", which no model can foretell.
    for (const [name, entries] of seen) if (name !== "shared") wrong.push(...this.#wrongEntries(name, entries));
    for (const [name, kepts] of this.#lineages) {
      const there = new Set(seen.get(name)?.map(([n]) => n));
      for (const [n, { must }] of kepts) if (must && !there.has(n)) wrong.push(`${name} ${n} is lost`);
    }
    for (const group of this.#together) {
      const there = group.filter(([name, n]) => seen.get(name)?.some((entry) => entry[0] === n));
      if (there.length % group.length !== 0)
        wrong.push(`of ${group.join("; ")}, which one call removes, there are ${there.join("; ")}`);
    }
    return wrong;
  }

  *#wrongEntries(name: string, entries: Entry[]): Generator<string> {
    const kepts = this.#lineages.get(name) ?? (new Map() as Kepts);
    let before = -1;
    for (const [n, lineage, of, writes = 0] of entries) {
      const kept = kepts.get(n);
      if (n <= before) yield `${name} ${n} is listed after ${before}`;
      before = n;
      if (kept === undefined) yield `${name} ${n} must not be there`;
      else if (kept.of[0] !== lineage || kept.of[1] !== of)
        yield `${name} ${n} has the content of ${lineage} ${of}, not of ${kept.of.join(" ")}`;
      else if (!kept.writes.includes(writes))
        yield `${name} ${n} has ${writes} writes, not ${kept.writes.join(" or ")}`;
    }
  }

  /** Takes over the content of a store: from now on, the store must hold exactly this. */
  settle(found: Found): void {
    this.#lineages.clear();
    this.#runs.clear();
    this.#together = [];
    for (const { name, run, entries } of found.lineages) {
      this.#runs.set(name, run);
      const kepts: Kepts = new Map();
      for (const [n, lineage, of, writes = 0] of entries)
        kepts.set(n, { of: [lineage, of], must: true, writes: [writes] });
      this.#lineages.set(name, kepts);
    }
  }

  /** Returns the lineages, for programs that go on with them. */
  get lineages(): Lineage[] {
    return [...this.#lineages]
      .filter(([, kepts]) => kepts.size > 0)
      .map(([name, kepts]) => {
        const held = [...kepts.keys()];
        // The first checkpoint of AgentOS's fork has an id that only the store knows.
        const run = this.#runs.get(name);
        return {
          name,
          run,
          newest: held.at(-1),
          held: run === undefined || run === name ? held : held.filter((n) => n > 0),
        };
      });
  }

  #of(name: string): Kepts {
    let kepts = this.#lineages.get(name);
    if (kepts === undefined) this.#lineages.set(name, (kepts = new Map()));
    return kepts;
  }

  /** Marks what a prune of others may have removed. */
  #demote(name: string): void {
    if (!this.#pruned) return;
    for (const kept of [...this.#of(name).values()].slice(0, -this.#keep)) kept.must = false;
  }

  /** Marks what a call may remove now. Returns a function that removes it. `together`: all or none. */
  #removing(name: string, numbers: number[], together: boolean): () => void {
    const kepts = this.#of(name);
    const group = numbers.filter((n) => kepts.get(n)!.must).map((n): [string, number] => [name, n]);
    if (together && group.length > 1) this.#together.push(group);
    for (const n of numbers) kepts.get(n)!.must = false;
    return () => {
      this.#together = this.#together.filter((one) => one !== group);
      for (const n of numbers) kepts.delete(n);
    };
  }

  /** What a prune of this lineage removes: whatever has enough newer checkpoints. */
  #pruning(name: string): () => void {
    const kepts = this.#of(name);
    for (const kept of [...kepts.values()].slice(0, -this.#keep)) kept.must = false;
    return () => {
      const newest = [...kepts].filter(([, { must }]) => must).slice(-this.#keep);
      if (newest.length < this.#keep) return;
      for (const n of kepts.keys()) if (n < newest[0]![0]) kepts.delete(n);
    };
  }

  /** A call begins. Returns what its acknowledgement adds. */
  #begin(line: Begun): () => void {
    const name = line.name ?? "";
    const n = line.n ?? 0;
    const kepts = line.name === undefined ? (new Map() as Kepts) : this.#of(name);
    switch (line.op) {
      case "save": {
        const kept: Kept = { of: [name, n], must: false, writes: [0] };
        kepts.set(n, kept);
        this.#demote(name);
        return () => {
          kept.must = true;
          this.#demote(name);
        };
      }
      case "writes": {
        const kept = kepts.get(n)!;
        if (!kept.writes.includes(WRITES)) kept.writes.push(WRITES);
        return () => void (kept.writes = [WRITES]);
      }
      case "remove":
        return kepts.has(n) ? this.#removing(name, [n], false) : () => {};
      case "drop":
        return this.#removing(name, [...kepts.keys()], true);
      case "rewind": {
        const undo = this.#removing(
          name,
          [...kepts.keys()].filter((key) => key > n),
          true,
        );
        return () => {
          undo();
          kepts.get(n)!.must = true;
          this.#demote(name);
        };
      }
      case "fork": {
        const source = [...kepts].map(([key, { of }]): Entry => [key, of[0], of[1]]);
        const copies = this.#of(line.to!);
        const surely: Array<[Kept, Kept["writes"]]> = [];
        for (const [key, lineage, of] of this.#traits.forked(source, n, line.to!)) {
          const from = kepts.get(key);
          const writes = this.#traits.copiesInParts === true ? (from?.writes ?? [0]) : [0];
          const most = Math.max(...writes);
          const copy: Kept = {
            of: [lineage, of],
            must: false,
            writes: Array.from({ length: most + 1 }, (_, at) => at),
          };
          copies.set(key, copy);
          if (from === undefined || from.must) surely.push([copy, writes]);
        }
        return () => {
          for (const [copy, writes] of surely) Object.assign(copy, { must: true, writes: [...writes] });
          this.#demote(line.to!);
        };
      }
      case "prune": {
        const all = (line.name === undefined ? (line.owned ?? []) : [name]).map((one) => this.#pruning(one));
        return () => all.forEach((prune) => prune());
      }
      default:
        throw new Error(`an unknown call: ${line.op}`);
    }
  }
}
