// Constructors with random targets and random options. A constructor throws an error of the package and creates no file,
// or makes a store. Such a store works, or its calls reject with an error of the package. Nothing else in the folder
// changes.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isDeepStrictEqual } from "node:util";
import { CheckpointStore, isForkpointError, openStore } from "forkpoint";
import { ForkpointStorage, WorkflowCheckpointStore } from "forkpoint/agentium";
import { SessionStore } from "forkpoint/helix";
import { Checkpointer } from "forkpoint/tinyagents";
import { expect, it } from "vitest";
import { checkpoint, folder } from "../helpers.js";
import { hostile, nested } from "../hostile-values.js";
import { amount, isLong, randomBelow, repeat, seed } from "./faults.js";

const rounds = amount("FORKPOINT_FAULT_OPTIONS", 300);

type Below = (limit: number) => number;

const pick = <T>(below: Below, list: readonly T[]): T => list[below(list.length)]!;

/** A kind of store: its constructor, and a save that is read back. */
interface Kind {
  name: string;
  /** The options beside those of every store. */
  more: string[];
  open: (target: any, options: any) => { close(): Promise<void> } | Promise<{ close(): Promise<void> }>;
  /** Saves something and returns it as it is read back. */
  use: (store: any) => Promise<unknown>;
  expected: unknown;
}

const saved = checkpoint({ id: "one", timestamp: 1_700_000_000_000 });
const step = {
  id: "run:step-1",
  runId: "run",
  stepIndex: 0,
  stepName: "step",
  state: { a: 1 },
  createdAt: new Date(0),
};

const kinds: Kind[] = [
  {
    name: "openStore",
    more: [],
    open: openStore,
    use: async (store) => {
      const shared = new CheckpointStore(store);
      await shared.save(saved);
      return shared.get("one");
    },
    expected: saved,
  },
  {
    name: "CheckpointStore",
    more: [],
    open: (target, options) => new CheckpointStore(target, options),
    use: async (store) => {
      await store.save(saved);
      return store.get("one");
    },
    expected: saved,
  },
  {
    name: "WorkflowCheckpointStore",
    more: ["expectedParent"],
    open: (target, options) => new WorkflowCheckpointStore(target, options),
    use: async (store) => {
      await store.save(step);
      return (await store.load("run:step-1"))?.state;
    },
    expected: step.state,
  },
  {
    name: "ForkpointStorage",
    more: [],
    open: (target, options) => new ForkpointStorage(target, options),
    use: async (store) => {
      await store.set("namespace", "key", [1, "two"]);
      return store.get("namespace", "key");
    },
    expected: [1, "two"],
  },
  {
    name: "SessionStore",
    more: ["ttl", "now"],
    open: (target, options) => new SessionStore(target, options),
    use: async (store) => {
      await store.createSession("session", { agentType: "agent" });
      const state = { status: "running", stepCount: 0, customState: { a: 1 } };
      await store.saveCheckpoint({ id: "one", sessionId: "session", stepCount: 0, timestamp: 1, state });
      return (await store.getCheckpoint("one"))?.state?.customState;
    },
    expected: { a: 1 },
  },
  {
    name: "Checkpointer",
    more: ["expectedParent"],
    open: (target, options) => new Checkpointer(target, options),
    use: async (store) => {
      await store.put({ threadId: "thread", checkpointId: "one", parentCheckpointId: null, state: [1, "two"] });
      return (await store.get("thread", "one"))?.state;
    },
    expected: [1, "two"],
  },
];

// Options ------------------------------------------------------------------------------------------------------------

const names = ["durability", "serializer", "busyTimeoutMs", "maxPayloadBytes", "maxQueueBytes", "cacheBytes"];
names.push("keepLastN", "ttlMs", "maxBytes");
const unknown = ["expectedParent", "now", "ttl", "serde", "busyTimeout", "Durability", "durabilty", "", "__proto__"];
unknown.push("constructor", "toString", "then", "0", "a\0b", "\ud800", "x".repeat(3_000));

/** An option with one of these names may change what a call answers, also if its value is valid. */
const limiting = ["serializer", "maxPayloadBytes", "maxQueueBytes", "ttlMs", "ttl", "now"];

const extremes = [0, -0, 1, -1, 0.5, 1e-300, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 40, 2 ** 53 - 1, 2 ** 53, 2 ** 63];
extremes.push(
  1e308,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  Number.NEGATIVE_INFINITY,
  900 * 2 ** 20,
  1_000,
  60_000,
  3,
  50,
);

const text = (value: string) => ({ toString: () => value, valueOf: () => 7, [Symbol.toPrimitive]: () => value });

const values = ["full", "normal", "off", "v8", "json", "FULL", "", "1", "\0", true, false, null, undefined, 5n];
const functions = [Date.now, () => Number.NaN, () => "now", () => thrower(), () => -1e17, Map];
const plain: Array<() => unknown> = [...values, Symbol.iterator, -1n << 70n, ...functions].map((value) => () => value);
const made = [() => [], () => ({}), () => Object.create(null), () => new Date(Number.NaN), () => new Map(), () => /x/];
plain.push(
  ...made,
  () => Object("full"),
  () => Object(3),
  () => text("full"),
  () => nested(20),
);
plain.push(
  () => new Uint8Array(3),
  () => Promise.resolve("full"),
);

/** Serializers: whole ones, ones without a method, and ones that return something else or throw. */
function serializer(below: Below): object {
  const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));
  const fail = () => {
    throw pick(below, [new Error("of the user"), undefined, "text", hostile["a revoked proxy"]!()]);
  };
  const odd = [undefined, null, "text", 7, fail, () => {}, () => "text", () => new Uint8Array(), async () => ({})];
  return {
    name: pick(below, ["own", "own", "own", "v8", "", "\ud800", "x".repeat(65), 7, undefined]),
    serialize: below(3) > 0 ? bytes : pick(below, odd),
    deserialize:
      below(3) > 0 ? (given: Uint8Array) => JSON.parse(Buffer.from(given).toString()) as unknown : pick(below, odd),
  };
}

function valueFor(below: Below, name: string): unknown {
  const dice = below(10);
  if (dice === 0) return pick(below, Object.values(hostile))();
  if (name === "serializer" && dice < 6) return serializer(below);
  // Half of the values are of the right type, so that many options are accepted.
  if (dice < 6) {
    if (name === "durability") return pick(below, ["full", "normal", "off"]);
    if (name === "expectedParent") return below(2) === 0;
    if (name === "now") return Date.now;
    if (names.includes(name) || name === "ttl") return pick(below, [1, 50, 1_000, 60_000, 2 ** 20]);
  }
  return below(2) === 0 ? pick(below, extremes) : pick(below, plain)();
}

interface Given {
  options: unknown;
  /** The names of the options that the object seems to have. */
  named: string[];
}

function optionsFor(below: Below, more: string[]): Given {
  const dice = below(20);
  if (dice < 3) return { options: undefined, named: [] };
  if (dice === 3) return { options: pick(below, plain)(), named: limiting };
  if (dice === 4) return { options: pick(below, Object.values(hostile))(), named: limiting };
  const options = (below(4) === 0 ? Object.create(null) : {}) as object;
  const known = [...names, ...more];
  const named = Array.from({ length: below(4) }, () => (below(12) === 0 ? pick(below, unknown) : pick(below, known)));
  for (const name of named) {
    const value = valueFor(below, name);
    const property = pick(below, [
      { value },
      { value },
      { value },
      { get: () => value },
      below(4) > 0 ? { value } : { get: thrower },
    ]);
    Object.defineProperty(options, name, { enumerable: below(12) > 0, configurable: true, ...property });
  }
  if (below(12) === 0) Object.assign(options, { [Symbol("s")]: 1 });
  return { options: shaped(below, options), named };
}

function thrower(): never {
  throw new Error("of a getter");
}

/** The same options in another shape. */
function shaped(below: Below, options: object): unknown {
  switch (below(12)) {
    case 0:
      return Object.freeze(options);
    case 1:
      return Object.create(options);
    case 2:
      return new Proxy(options, {});
    case 3:
      return new Proxy(options, { get: (of, name) => (below(2) === 0 ? thrower() : Reflect.get(of, name)) });
    case 4:
      return new Proxy(options, { ownKeys: () => pick(below, [[], ["durability"], ["x", Symbol("s")]]) });
    case 5:
      return Object.setPrototypeOf(options, pick(below, [{ durability: "no" }, Array.prototype, Date.prototype]));
    default:
      return options;
  }
}

// Targets ------------------------------------------------------------------------------------------------------------

/** At most five steps upwards, so the path stays in the folder of the test. */
const DEPTH = ["1", "2", "3", "4", "5", "6", "7"];

const schemes = ["", "", "", "sqlite:", "sqlite://", "jsonl:", "jsonl://", "file:", "file://", "FILE://", "memory:"];
schemes.push("Sqlite:", "JSONL:", "http://", "postgres:", "a:", ":", " ", "\0", "./", "sqlite:jsonl:", "file:sqlite:");

const pieces = "a,b.db,c,dir,text,.,..,..,/,/,//,:,%,%41,%2e%2e,%2f,%00,?,#,\\, ,\n,é,e\u0301,🜁,\ud800,\udc00".split(
  ",",
);
pieces.push(..."\0,\u202e,\ufeff,*,~,$HOME,-wal,-journal,sqlite:,jsonl:,memory:,:memory:,?mode=memory".split(","));
pieces.push(..."&,',\",con,nul".split(","), "x".repeat(200), "y".repeat(300), "z/".repeat(3_000));

interface Aim {
  target: unknown;
  /** True if the target is certainly valid. */
  good: boolean;
  /** The path that the target names, if it names one. */
  path?: string | undefined;
}

function aim(below: Below, inner: string, round: number): Aim {
  const dice = below(20);
  if (dice < 7) return { target: "memory:", good: true };
  if (dice < 9) {
    const path = join(inner, `plain-${round}`);
    return { target: pick(below, [path, `jsonl:${path}`, `sqlite:${path}`, pathToFileURL(path)]), good: true, path };
  }
  if (dice === 9) return { target: pick(below, Object.values(hostile))(), good: false };
  if (dice === 10) {
    const value = pick(below, plain)();
    // A text could be the name of a file outside the folder.
    return { target: typeof value === "string" ? text(value) : value, good: false };
  }
  const scheme = pick(below, schemes);
  const name = Array.from({ length: below(6) }, () => pick(below, pieces)).join("");
  const target = `${scheme}${inner}/${name}`;
  if (dice === 11) {
    try {
      const url = new URL(target);
      return { target: url, good: false, path: pathIn(url.href) };
    } catch {}
  }
  return { target, good: false, path: pathIn(target) };
}

/** The path that a text names, or undefined if it names none. */
function pathIn(target: string): string | undefined {
  if (/^file:/i.test(target)) {
    try {
      return resolve(fileURLToPath(target));
    } catch {
      return undefined;
    }
  }
  const path = /^(?:sqlite|jsonl):(?:\/\/)?(.*)$/s.exec(target)?.[1] ?? target;
  return path.includes("\0") ? undefined : resolve(path);
}

// The test -----------------------------------------------------------------------------------------------------------

const files = (of: string) => readdirSync(of, { recursive: true }).map((name) => join(of, name as string));

const isTyped = (error: unknown): boolean => {
  try {
    return isForkpointError(error);
  } catch {
    return false;
  }
};

function described(value: unknown): string {
  try {
    const shown = value instanceof Error ? value.stack : JSON.stringify(value);
    return String(shown ?? String(value)).slice(0, 300);
  } catch {
    return `a ${typeof value}`;
  }
}

interface Counts {
  /** The constructor threw. */
  refused: number;
  /** A call of the store rejected. */
  rejected: number;
  /** The calls returned, but what they read cannot be foretold. */
  worked: number;
  /** What the calls read was compared with what they saved. */
  compared: number;
  /** The target became a file or a folder, and nothing else in the folder changed. */
  created: number;
}

it("targets and options", { timeout: 60_000 + rounds * 200 }, async () => {
  const home = folder();
  const inner = join(home, ...DEPTH);
  const around = readdirSync(process.cwd());
  const none: Counts = { refused: 0, rejected: 0, worked: 0, compared: 0, created: 0 };
  const counts = new Map<string, Counts>(kinds.map(({ name }) => [name, { ...none }]));
  const problems: string[] = [];
  for (let round = 0; round < rounds; round++) {
    // The numbers of a round depend on nothing before it.
    const below = randomBelow(seed * 1_000_003 + round);
    mkdirSync(join(inner, "dir"), { recursive: true });
    writeFileSync(join(inner, "text"), "not a database");
    const before = files(home);
    const kind = pick(below, kinds);
    const { target, good, path } = aim(below, inner, round);
    const { options, named } = optionsFor(below, kind.more);
    const where = `round ${round}, ${kind.name}, target ${described(target)}, options ${described(options)}`;
    const problem = (what: string, value?: unknown) => problems.push(`${where}: ${what} ${described(value)}`);
    const created = () => files(home).filter((file) => !before.includes(file));

    const count = counts.get(kind.name)!;
    let store: { close(): Promise<void> } | undefined;
    try {
      store = await kind.open(target, options);
    } catch (error) {
      count.refused += 1;
      if (!isTyped(error)) problem("not an error of the package:", error);
      if (good && options === undefined) problem("is refused:", error);
      // `openStore` waits until the store is open, so it may have begun to create it.
      if (kind.name !== "openStore" && created().length > 0) problem("is refused and creates", created());
    }
    if (store !== undefined) {
      const free = good && !named.some((name) => limiting.includes(name));
      try {
        const found = await kind.use(store);
        // What has expired is not found. A serializer of the user may return something else.
        count[free ? "compared" : "worked"] += 1;
        if (free && !isDeepStrictEqual(found, kind.expected)) problem("reads something else:", found);
      } catch (error) {
        count.rejected += 1;
        if (!isTyped(error)) problem("a call rejects with", error);
        else if (free) problem("a call fails:", error);
      }
      await store.close().catch((error: unknown) => problem("close() rejects with", error));
    }
    const elsewhere = created().filter((file) => path === undefined || !(file === path || file.startsWith(path)));
    if (elsewhere.length > 0) problem("creates other files:", elsewhere);
    if (readFileSync(join(inner, "text"), "utf8") !== "not a database") problem("changes another file");
    if (created().length > 0) {
      count.created += 1;
      rmSync(home, { recursive: true, force: true });
    }
    if (problems.length > 20) break;
  }
  if (isLong("FORKPOINT_FAULT_OPTIONS")) console.log(Object.fromEntries(counts));
  expect(problems, repeat("__test__/faults/options.test.ts", "FORKPOINT_FAULT_OPTIONS")).toEqual([]);
  expect(readdirSync(process.cwd())).toEqual(around);
  // Every round had one outcome. Each constructor refused some, and compared what the others had saved.
  const all = [...counts.values()];
  const sum = (of: (one: Counts) => number) => all.reduce((total, one) => total + of(one), 0);
  expect(sum((one) => one.refused + one.rejected + one.worked + one.compared)).toBe(rounds);
  expect(sum(({ created }) => created)).toBeGreaterThan(0);
  for (const [name, { refused, compared }] of counts)
    expect(Math.min(refused, compared), `${name}: ${refused} refused, ${compared} compared`).toBeGreaterThan(0);
});
