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
import { hostile } from "../hostile-values.js";
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

/** A valid value of each option. */
const good: Record<string, unknown> = {
  durability: "off",
  serializer: {
    name: "own",
    serialize: (value: unknown) => Buffer.from(JSON.stringify(value)),
    deserialize: (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString()) as unknown,
  },
  busyTimeoutMs: 50,
  maxPayloadBytes: 2 ** 20,
  maxQueueBytes: 2 ** 20,
  cacheBytes: 0,
  keepLastN: 3,
  ttlMs: 60_000,
  maxBytes: 2 ** 20,
  expectedParent: true,
  ttl: 60_000,
  now: Date.now,
};
const common = Object.keys(good).slice(0, 9);

/** An option with one of these names may change what a call answers, also if its value is valid. */
const limiting = ["serializer", "maxPayloadBytes", "maxQueueBytes", "ttlMs", "ttl", "now"];

interface Given {
  options: unknown;
  /** The names of the options. */
  named: string[];
}

/** options.test.ts and arguments.test.ts have each wrong value. Here they meet each other and odd targets. */
function optionsFor(below: Below, more: string[]): Given {
  const wrong = () => pick(below, Object.values(hostile))();
  const dice = below(10);
  if (dice < 2) return { options: undefined, named: [] };
  if (dice === 2) return { options: wrong(), named: limiting };
  const known = below(12) === 0 ? Object.keys(good) : [...common, ...more];
  const named = Array.from({ length: below(4) }, () => pick(below, known));
  const options = Object.fromEntries(named.map((name) => [name, below(4) === 0 ? wrong() : good[name]]));
  return { options: pick(below, [options, Object.freeze(options), new Proxy(options, {})]), named };
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
  if (dice === 10)
    return { target: pick(below, [undefined, null, 7, 5n, [], {}, new Map(), Object("a")]), good: false };
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
