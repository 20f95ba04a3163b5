// Suites: what users call.
import { readFileSync } from "node:fs";
import { arch, platform } from "node:os";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { NotOffered } from "./not-offered.js";
import { publicTarget, withoutSecrets } from "./secrets.js";
import { type Setting, attempt } from "./trial.js";
import { UsageError } from "./usage-error.js";
import {
  type Expectation,
  type Group,
  type Level,
  type Program,
  type Report,
  type Result,
  type StoreModule,
} from "./types.js";
import { type Figure, type Upstream, groups as allGroups } from "./types.js";

/** A contract: its expectations, and what runs in other processes. */
export interface Definition<Store> {
  /** The name of the contract in ids and on the command line. */
  readonly contract: string;
  /** The address of the module whose default export this contract is. Other processes import it. */
  readonly url: string;
  readonly expectations: ReadonlyArray<Expectation<Store>>;
  readonly programs?: Readonly<Record<string, Program<Store>>>;
  /** Runs the suite that the framework publishes. Returns undefined if it is not installed beside the store's module. */
  readonly upstream?: (setting: { module: string; target: string; name: string }) => Promise<Upstream | undefined>;
}

/** Which store is measured. */
export interface Given {
  /** The path or address of the store's module. A relative path is one from the working directory. */
  readonly module: string | URL;
  /** Where the store is. `{dir}` becomes a new folder for each expectation, and `{n}` a new name. Default: "{dir}/store". */
  readonly target?: string;
}

/** What is run. */
export interface Wanted {
  /** Default: all. */
  readonly groups?: readonly Group[];
  /** Default: all for `run`, and MUST and SHOULD for `register`. */
  readonly levels?: readonly Level[];
  /** The ids of the expectations. Default: all. */
  readonly only?: readonly string[];
  /** The seed of all random choices. Default: 1. */
  readonly seed?: number;
  /** The time that an expectation may take, in ms. Default: 60,000. */
  readonly timeoutMs?: number;
}

/** What `run` takes beside that. */
export interface RunOptions extends Wanted {
  /** If true, the suite that the framework publishes runs first. Default: false. */
  readonly upstream?: boolean;
  /** Called after each expectation. */
  readonly onResult?: (result: Result, done: number, of: number) => void;
}

/** What `register` needs of a test runner: vitest, node:test, Jest or bun:test. */
export interface Runner {
  describe(name: string, work: () => void): unknown;
  it: ((name: string, ...rest: any[]) => unknown) & { skip(name: string, work: () => void): unknown };
}

/** A contract's expectations, and one store that is measured by them. */
export interface Suite {
  /** Registers a test for each expectation with a test runner. A declared skip is a skipped test with its reason. */
  register(runner: Runner, wanted?: Wanted): Promise<void>;
  /** Runs the expectations and returns what has become of them. */
  run(options?: RunOptions): Promise<Report>;
}

/** A contract that stores can be measured by. */
export interface Contract<Store = any> {
  (given: Given): Suite;
  readonly definition: Definition<Store>;
}

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  version: string;
};

/** Returns the address of the module. */
function address(module: string | URL): string {
  if (module instanceof URL) return module.href;
  if (module.startsWith("file:")) return module;
  // A path with a `?` in it is rarer than a module that is asked for a variant.
  const [path, ...query] = module.split("?");
  return [pathToFileURL(resolve(path!)).href, ...query].join("?");
}

type Named = Pick<Expectation<never>, "id" | "group">;

/** Returns true if this is the expectation's id, its group, or the beginning of its id with a `*` behind it. */
const names = (name: string, { id, group }: Named): boolean =>
  name === id || name === group || (name.endsWith("*") && id.startsWith(name.slice(0, -1)));

/** Loads the store's module and finds mistakes in it. */
async function load<Store>(module: string, target: string, known: ReadonlyArray<Expectation<Store>>) {
  const store: StoreModule<Store> = await import(module).catch((error: Error) => {
    throw new UsageError(`the store's module can't be loaded: ${error.message}`, { cause: error });
  });
  if (typeof store.open !== "function") throw new UsageError(`${module} exports no function open({ target })`);
  if (!/\{(dir|n)\}/.test(target) && store.wipe === undefined)
    throw new UsageError(`the target needs {dir} or {n}, or ${module} must export wipe({ target }): ${target}`);
  for (const name of Object.keys(store.skip ?? {}))
    if (!known.some((one) => names(name, one)))
      throw new UsageError(`skip of ${module} names no expectation and no group: ${name}`);
  for (const name of Object.keys(store.expectFail ?? {}))
    if (!known.some(({ id }) => id === name))
      throw new UsageError(`expectFail of ${module} names no expectation: ${name}`);
  return store;
}

function choose<Store>(all: ReadonlyArray<Expectation<Store>>, { groups, levels, only }: Wanted) {
  for (const id of only ?? [])
    if (!all.some((one) => one.id === id)) throw new UsageError(`there is no expectation ${id}`);
  const chosen = allGroups.flatMap((group) =>
    all.filter(
      (one) =>
        one.group === group &&
        (groups === undefined || groups.includes(group)) &&
        (levels === undefined || levels.includes(one.level)) &&
        (only === undefined || only.includes(one.id)),
    ),
  );
  if (chosen.length === 0) throw new UsageError("no expectation has the wanted groups, levels and ids");
  return chosen;
}

/** Returns why an expectation is not tried. */
const skipped = ({ skip = {} }: StoreModule, one: Named) =>
  Object.entries(skip).find(([name]) => names(name, one))?.[1];

/** The number of characters of a message that are kept. */
const LONGEST = 4_000;

/** Returns an error as text. An error of another process has its stack in its message, which has paths of the machine. */
const textOf = (error: unknown) =>
  (error instanceof Error ? `${error.name}: ${error.message}` : String(error)).replaceAll(/\n\s+at .*/g, "");

/** Checks one expectation, and compares the outcome with what the store's module expects. */
async function judge<Store>(expectation: Expectation<Store>, setting: Setting<Store>) {
  const { check: _, ...named } = expectation;
  const began = performance.now();
  const result = (status: Result["status"], more: Partial<Result> = {}): Result => ({
    ...named,
    status,
    ...more,
    ms: Math.round(performance.now() - began),
  });
  const why = skipped(setting.store, expectation);
  if (why !== undefined) return { result: result("skipped", { reason: why }), figures: [] };
  const reason = setting.store.expectFail?.[expectation.id];
  const figures: Figure[] = [];
  try {
    await attempt(expectation, setting, figures);
    return { result: reason === undefined ? result("passed") : result("unexpected pass", { reason }), figures };
  } catch (error) {
    const message = withoutSecrets(setting.target)(textOf(error)).slice(0, LONGEST);
    if (error instanceof NotOffered) return { result: result("skipped", { reason: error.message }), figures };
    const failed =
      reason === undefined ? result("failed", { message }) : result("expected failure", { reason, message });
    return { result: failed, figures, error };
  }
}

/** Makes a contract. */
export function contract<Store>(definition: Definition<Store>): Contract<Store> {
  const { expectations, upstream } = definition;
  const suite = ({ module: given, target = "{dir}/store" }: Given): Suite => {
    const module = address(given);
    const setting = async ({ seed = 1, timeoutMs = 60_000 }: Wanted, catchesAll: boolean): Promise<Setting<Store>> => {
      const store = await load(module, target, expectations);
      return { suite: definition.url, module, store, target, seed, timeoutMs, catchesAll };
    };
    const nameOf = ({ name }: StoreModule) => name ?? basename(new URL(module).pathname).replace(/\.[^.]*$/, "");
    return {
      async register({ describe, it, ...runner }, given = {}) {
        const wanted = { levels: ["MUST", "SHOULD"] as const, ...given };
        const set = await setting(wanted, false);
        // The runner of Node takes its options before the function, the others take a time after it.
        const ofNode = "run" in runner && "mock" in runner;
        describe(`${definition.contract}: ${nameOf(set.store)}`, () => {
          for (const one of choose(expectations, wanted)) {
            const title = `${one.level} ${one.id}: ${one.title}`;
            const why = skipped(set.store, one);
            const work = async () => {
              const { result, error } = await judge(one, set);
              if (result.status === "failed") throw error;
              if (result.status === "unexpected pass")
                throw new Error(`began to pass, so expectFail must no longer name ${one.id} (${result.reason})`);
            };
            const timeout = set.timeoutMs + 10_000;
            if (why !== undefined) it.skip(`${title} (${why})`, () => {});
            else if (ofNode) it(title, { timeout }, work);
            else it(title, work, timeout);
          }
        });
      },
      async run({ onResult, upstream: wantsUpstream = false, ...wanted } = {}) {
        const set = await setting(wanted, true);
        const chosen = choose(expectations, wanted);
        const name = nameOf(set.store);
        const ran = new Date().toISOString();
        const theirs = wantsUpstream ? await upstream?.({ module, target, name }) : undefined;
        const results: Result[] = [];
        const figures: Figure[] = [];
        for (const one of chosen) {
          const { result, figures: measured } = await judge(one, set);
          results.push(result);
          figures.push(...measured);
          onResult?.(result, results.length, chosen.length);
        }
        return {
          contract: definition.contract,
          suite: version,
          store: { name, ...(set.store.version === undefined ? {} : { version: set.store.version }) },
          target: publicTarget(target),
          ran,
          machine: `Node ${process.version} on ${platform()}-${arch()}`,
          seed: set.seed,
          ...(theirs === undefined ? {} : { upstream: theirs }),
          results,
          figures,
        };
      },
    };
  };
  return Object.assign(suite, { definition });
}
