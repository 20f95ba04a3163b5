/** Databases that go back in time under living processes, and a model that knows which saves are gone. */

import { fixture } from "../helpers.js";
import { Program, randomBelow, repeat, seed } from "./faults.js";

/** Takes a copy of a database, and puts it back while processes have the database open. */
export interface Machine {
  readonly ways: readonly Way[];
  /** True if a copy can be put back only once. */
  readonly once?: boolean;
  /** Takes a copy. It replaces the copy before. */
  snapshot(): Promise<unknown>;
  /** Puts the copy back. */
  goBack(way: string): Promise<unknown> | void;
  /** Puts the copy back in one of the ways, while this thread waits. */
  goBackNow(): void;
}

export interface Way {
  name: string;
  /** True if the database goes back in one step. Processes then save while it goes back. */
  atomic: boolean;
}

/** What a content says of itself: its place, the save that made it, and a value that three in four saves inherit. */
export interface Content {
  lineage: string;
  n: number;
  save: number;
  slow: number;
  size: number;
}

interface Lineage {
  contents: Content[];
  /** The messages, of a contract that has messages. */
  said: number[];
}

const sizes = [700, 700, 300_000];

/** What a database must hold: what was acknowledged, without what is gone. */
export class History {
  #lineages = new Map<string, Lineage>();
  #copy = new Map<string, Lineage>();
  #before = new Map<string, Lineage>();
  #saves = 0;

  snapshot(): void {
    this.#copy = structuredClone(this.#lineages);
  }

  /** Returns how many saves are gone. */
  goBack(): number {
    const count = () => [...this.#lineages.values()].reduce((sum, { contents }) => sum + contents.length, 0);
    const before = count();
    this.#before = this.#lineages;
    this.#lineages = structuredClone(this.#copy);
    return before - count();
  }

  get names(): string[] {
    return [...this.#lineages.keys()];
  }

  contents(name: string): Content[] {
    return this.#lineages.get(name)?.contents ?? [];
  }

  /** The contents as they were before the last way back. */
  before(name: string): Content[] {
    return this.#before.get(name)?.contents ?? [];
  }

  begin(name: string): void {
    this.#lineages.set(name, { contents: [], said: [] });
  }

  /** Makes the content of the next save, after these contents of the lineage. */
  next(name: string, after = this.contents(name)): Content {
    const last = after.at(-1);
    const n = last === undefined ? 0 : last.n + 1;
    const save = this.#saves++;
    const slow = last === undefined || n % 4 === 0 ? save : last.slow;
    return { lineage: name, n, save, slow, size: last?.size ?? sizes[save % sizes.length]! };
  }

  /** A save was acknowledged. */
  add(content: Content): void {
    this.#lineages.get(content.lineage)!.contents.push(content);
  }

  /** Makes the next message. */
  nextMessage(): number {
    return this.#saves++;
  }

  /** A message was acknowledged. */
  say(name: string, said: number): void {
    this.#lineages.get(name)!.said.push(said);
  }

  /** Compares what a process reads with what it must read. Returns the difference, or undefined. */
  wrong(op: "newest" | "states" | "heard", name: string, value: unknown): string | undefined {
    const contents = this.contents(name);
    const right = {
      newest: contents.at(-1) ?? null,
      states: contents.map((content) => [content.n, content]),
      heard: this.#lineages.get(name)?.said ?? [],
    }[op];
    const [is, must] = [ordered(value), ordered(right)];
    return is === must ? undefined : `${op} of ${name} is ${is}, and must be ${must}`;
  }

  /** The same for a read while the database goes back: each content must be of the time before or of the time after. */
  wrongMeanwhile(op: "newest" | "states", name: string, value: any): string | undefined {
    const may = new Set([...this.contents(name), ...(this.#copy.get(name)?.contents ?? [])].map(ordered));
    const read: unknown[] = op === "newest" ? [value] : value.map(([, content]: [number, unknown]) => content);
    const bad = read.filter((one) => one !== null).find((one) => !may.has(ordered(one)));
    return bad === undefined ? undefined : `${op} of ${name} has ${ordered(bad)} while the database goes back`;
  }
}

/** JSON whose names are in one order. */
const ordered = (value: unknown): string =>
  JSON.stringify(value, (_, one) =>
    one !== null && typeof one === "object" && !Array.isArray(one)
      ? Object.fromEntries(Object.entries(one).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : one,
  );

interface Call {
  op: "begin" | "save" | "say" | "newest" | "states" | "heard" | "check" | "fresh";
  at?: { name: string };
  newest?: number | undefined;
  what?: unknown;
  call?: Call;
}

interface Answer {
  value?: any;
  error?: { code: string | null; message: string; outcome?: string };
}

/** A living process, which makes one call after the other. */
class Living {
  readonly #program: Program;
  #asked = 0;
  /** The calls that were rejected since the database has gone back. */
  rejected: string[] = [];

  constructor(module: string, target: string, deadlineMs: number, broken?: string) {
    const args = [fixture("faults/time.mjs"), module, target, ...(broken === undefined ? [] : [broken])];
    this.#program = new Program(args as [string, ...string[]], { deadlineMs });
  }

  async ask(call: Call): Promise<Answer> {
    this.#program.tell(JSON.stringify(call));
    await this.#program.until(++this.#asked);
    const answer = JSON.parse(this.#program.lines[this.#asked - 1]!) as Answer;
    if (answer.error?.code === null) throw new Error(`${JSON.stringify(call)}: ${answer.error.message}`);
    return answer;
  }

  async end(): Promise<void> {
    this.#program.tell("stop");
    await this.#program.success();
  }
}

/** What a run of `timeGoesBack` has done. */
export interface Journey {
  rewinds: number;
  /** Acknowledged saves that are gone. */
  gone: number;
  /** Acknowledged saves after a way back. */
  saves: number;
  /** Answers that were compared with the model after a way back. */
  reads: number;
  /** Answers that were compared while the database went back. */
  meanwhile: number;
  /** Saves on top of a checkpoint that is gone. */
  unaware: number;
  /** The codes of the calls that were rejected after a way back. */
  rejected: string[];
  checks: number;
}

const PROCESSES = 3;

/** At most so many lineages are worked on at once. */
const ACTIVE = 5;

/** The beginning of the names of lineages that are saved while the database goes back. */
const PERHAPS = "perhaps-";

/**
 * Lets a database go back in time again and again, under three processes that save and read in turns.
 *
 * @param module the contract.
 * @param file the test, for the message that says how to repeat a failure.
 * @param broken how the processes are wrong, for a test of this test.
 */
export async function timeGoesBack(
  target: string,
  module: string,
  machine: Machine,
  rewinds: number,
  file: string,
  broken?: "stale",
): Promise<Journey> {
  const traits = ((await import(module)) as { default: { say?: unknown } }).default;
  const below = randomBelow(seed * 1_009 + rewinds);
  const pick = <T>(list: readonly T[]): T => list[below(list.length)]!;
  const history = new History();
  const journey: Journey = {
    rewinds: 0,
    gone: 0,
    saves: 0,
    reads: 0,
    meanwhile: 0,
    unaware: 0,
    rejected: [],
    checks: 0,
  };
  const deadlineMs = 120_000 + rewinds * 20_000;
  const living = Array.from({ length: PROCESSES }, () => new Living(module, target, deadlineMs, broken));
  let where = "";
  const fail = (text: string): never => {
    throw new Error(`${text}\n${where}; ${repeat(file, "FORKPOINT_FAULT_REWINDS")}`);
  };

  /** Makes a call. A call that is rejected is made once more: only one call of each process may be rejected. */
  async function call(process: Living, one: Call): Promise<any> {
    for (let looked = false; ;) {
      const { value, error } = await process.ask(one);
      if (error === undefined) return value;
      // A process that has worked on a run is told that the run is gone, until it looks for it. Another process may have begun the
      // run again.
      const { op, at } = one;
      const isSave = op === "save" && at !== undefined;
      if (isSave && error.code === "CONFLICT" && !looked && journey.rewinds > 0) {
        looked = true;
        await process.ask({ op: "newest", at });
        continue;
      }
      const text = `${JSON.stringify(one)} is rejected: ${error.code} ${error.message}`;
      process.rejected.push(text);
      journey.rejected.push(error.code!);
      if (journey.rewinds === 0 || process.rejected.length > 1) fail(process.rejected.join("\n"));
    }
  }

  /** Reads as the process, or as a store that is opened for this call. */
  async function read(process: Living, op: "newest" | "states" | "heard", name: string, fresh = false): Promise<void> {
    const one: Call = { op, at: { name } };
    const whole: Call = fresh ? { op: "fresh", call: one } : one;
    let { value, error } = await process.ask(whole);
    // A lineage that is gone need not be an empty list.
    if (error?.code === "NOT_FOUND" && !history.names.includes(name)) value = op === "newest" ? null : [];
    else if (error !== undefined) {
      process.rejected.push(`${JSON.stringify(whole)} is rejected: ${error.code} ${error.message}`);
      journey.rejected.push(error.code!);
      if (process.rejected.length > 1 || journey.rewinds === 0) fail(process.rejected.join("\n"));
      value = await call(process, whole);
    }
    const wrong = history.wrong(op, name, value);
    if (wrong !== undefined) fail(`${wrong} (${fresh ? "a new store" : "an open store"})`);
    if (journey.rewinds > 0) journey.reads += 1;
  }

  async function begin(process: Living, name: string): Promise<void> {
    await call(process, { op: "begin", at: { name } });
    history.begin(name);
  }

  async function save(process: Living, name: string): Promise<void> {
    const what = history.next(name);
    await call(process, { op: "save", at: { name }, newest: history.contents(name).at(-1)?.n, what });
    history.add(what);
    if (journey.rewinds > 0) journey.saves += 1;
    if (traits.say === undefined) return;
    const said = history.nextMessage();
    await call(process, { op: "say", at: { name }, what: said });
    history.say(name, said);
  }

  let begun = 0;
  /** The lineages that are worked on. Those that were begun while the database went back may be there in part. */
  const active = () => history.names.filter((name) => !name.startsWith(PERHAPS)).slice(-ACTIVE);

  /** Calls of any processes, in turns. */
  async function work(turns: number): Promise<void> {
    for (let turn = 0; turn < turns; turn++) {
      const process = pick(living);
      const choices = active();
      const dice = below(10);
      if (choices.length < 2 || dice === 0) await begin(process, `run-${begun++}`);
      else if (dice < 7) await save(process, pick(choices));
      else await read(process, dice === 7 ? "states" : "newest", pick(choices));
    }
  }

  /** The database goes back, while processes read, and save if it goes back in one step. Returns what may be stored. */
  async function back({ name: way, atomic }: Way): Promise<Content[]> {
    const over = new AbortController();
    const perhaps: Content[] = [];
    const choices = active();
    const reading = living.map(async (process, at) => {
      for (let turn = 0; !over.signal.aborted; turn++) {
        if (atomic && at === 0) {
          const name = `${PERHAPS}${journey.rewinds}-${turn}`;
          const what = history.next(name, []);
          perhaps.push(what);
          await process.ask({ op: "begin", at: { name } });
          await process.ask({ op: "save", at: { name }, what });
        }
        const op = turn % 2 === 0 ? "newest" : "states";
        const name = choices[(turn + at) % choices.length]!;
        const { value } = await process.ask({ op, at: { name } });
        if (value === undefined) continue;
        const wrong = history.wrongMeanwhile(op, name, value);
        if (wrong !== undefined) fail(wrong);
        journey.meanwhile += 1;
      }
    });
    try {
      await machine.goBack(way);
    } finally {
      over.abort();
      await Promise.all(reading);
    }
    return perhaps;
  }

  /** What was saved while the database went back is there, or is gone, for all processes. */
  async function settle(perhaps: Content[]): Promise<void> {
    for (const what of perhaps) {
      const name = what.lineage;
      const { value, error } = await pick(living).ask({ op: "fresh", call: { op: "states", at: { name } } });
      if (error !== undefined && error.code !== "NOT_FOUND") fail(`${name}: ${error.code} ${error.message}`);
      if (error !== undefined || value.length === 0) continue;
      history.begin(name);
      history.add(what);
      for (const process of living) await read(process, "states", name);
    }
  }

  /** A process that does not know that its checkpoint is gone saves the next one. */
  async function unaware(process: Living): Promise<void> {
    const lost = active().filter((name) => history.before(name).length > history.contents(name).length);
    if (lost.length === 0) return;
    const name = pick(lost);
    const before = history.before(name);
    const what = history.next(name, before);
    const { error } = await process.ask({ op: "save", at: { name }, newest: before.at(-1)!.n, what });
    journey.unaware += 1;
    if (error === undefined) history.add(what);
    else {
      process.rejected.push(`an unaware save on ${name} is rejected: ${error.code} ${error.message}`);
      journey.rejected.push(error.code!);
    }
  }

  for (let round = 0; round < rewinds; round++) {
    const way = machine.ways[round % machine.ways.length]!;
    where = `rewind ${round} of ${target}: ${way.name}`;
    await work(12);
    // One copy in three is put back a second time.
    if (round === 0 || machine.once === true || below(3) > 0) {
      await machine.snapshot();
      history.snapshot();
    }
    await work(9);
    const [a, b, c] = [pick(living), pick(living), pick(living)];
    const [alice, bob] = [`alice-${round}`, `bob-${round}`];
    await begin(a, alice);
    await save(a, alice);
    await save(a, alice);

    const perhaps = await back(way);
    journey.gone += history.goBack();
    journey.rewinds += 1;
    for (const process of living) process.rejected = [];

    // The classic: bob's first checkpoints get the numbers of those that are gone, which were alice's.
    await begin(b, bob);
    await save(b, bob);
    await read(a, "newest", bob);
    await save(a, bob);
    for (const process of living) await read(process, "states", bob);
    await read(a, "newest", alice);
    await settle(perhaps);
    if (round % 2 === 1) await unaware(c);
    await work(12);
    for (const name of active()) {
      for (const process of living) {
        await read(process, "newest", name);
        await read(process, "states", name);
        if (traits.say !== undefined) await read(process, "heard", name);
      }
      await read(pick(living), "states", name, true);
    }
    for (const one of [{ op: "check" }, { op: "fresh", call: { op: "check" } }] as Call[]) {
      const report = await call(pick(living), one);
      if (!report.ok || report.findings.length > 0) fail(`check() finds ${JSON.stringify(report.findings)}`);
      journey.checks += 1;
    }
  }
  for (const name of history.names) {
    for (const process of living) await read(process, "states", name);
    await read(living[0]!, "newest", name, true);
  }
  for (const process of living) await process.end();
  return journey;
}
