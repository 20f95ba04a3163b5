// A model of several actors that meet on one thread in random order: starts, answers, edits, branches, deletes, prunes, copies and
// clocks, in two stores on the same data. FORKPOINT_TEST_SEED repeats a run, and
// FORKPOINT_TEST_MEETINGS sets the number of runs.
import { Annotation, Command, type LangGraphRunnableConfig, interrupt } from "@langchain/langgraph";
import { type ForkpointError, type Store, isForkpointError, openStore } from "forkpoint";
import { effects } from "forkpoint/effects";
import { ForkpointSaver } from "forkpoint/langgraph";
import { afterEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { amount, randomBelow, seed } from "../../__test__/faults/faults.js";
import { all, kinds, place, sequence, thread } from "./helpers.js";

const HOUR = 3_600_000;
const ROUNDS = 25;

const State = Annotation.Root({
  turn: Annotation<number>,
  asks: Annotation<boolean>,
  note: Annotation<number>,
  log: Annotation<string[]>({ reducer: (a, b) => [...a, ...b], default: () => [] }),
});

afterEach(() => void vi.useRealTimers());

/** What an actor did. */
interface Done {
  what: "start" | "answer" | "edit" | "branch" | "delete" | "prune" | "copy";
  turn?: number;
  error: Error | undefined;
}

/** An answer may come when the thread is gone, or when an edit has begun it. */
function required(turn: number | undefined): void {
  if (turn === undefined) throw new Error("there is nothing to answer");
}

class World {
  readonly savers: ForkpointSaver[];
  /** The idempotency keys of the payments, by what they are for: a turn, or its end. */
  readonly paid = new Map<string, string[]>();
  /** How many payments of a turn may be more than one: a branch that a caller asks for has effects of its own. */
  branches = 0;
  turns = 0;
  readonly graphs;
  readonly #below: (limit: number) => number;

  constructor(target: string | Store, below: (limit: number) => number) {
    this.#below = below;
    this.savers = [0, 1].map(() => new ForkpointSaver(target));
    this.graphs = this.savers.map((saver) => {
      const once = effects(saver);
      const pause = () => new Promise((resolve) => setTimeout(resolve, below(4)));
      const pay = (config: LangGraphRunnableConfig, what: string) =>
        once(config, `charge ${what}`, async ({ idempotencyKey }) => {
          this.paid.set(what, [...(this.paid.get(what) ?? []), idempotencyKey]);
          await pause();
          return what;
        });
      return sequence(State, {
        begin: async ({ turn }) => {
          await pause();
          required(turn);
          return { log: [`${turn} begun`] };
        },
        pay: async ({ turn }, config) => {
          await pause();
          required(turn);
          await pay(config, `${turn}`);
          return { log: [`${turn} paid`] };
        },
        ask: ({ turn, asks }) => ({ log: asks ? [`${turn} answered ${interrupt(`${turn}?`)}`] : [] }),
        settle: async ({ turn }, config) => {
          await pause();
          await pay(config, `the end of ${turn}`);
          return {};
        },
        end: ({ turn }) => ({ log: [`${turn} done`] }),
      }).compile({ checkpointer: saver });
    });
  }

  async act(what: Done["what"]): Promise<Done> {
    const at = this.#below(2);
    const [graph, saver] = [this.graphs[at]!, this.savers[at]!];
    const durability = (["async", "sync", "exit"] as const)[this.#below(3)]!;
    const config = { ...thread(), durability };
    await new Promise((resolve) => setTimeout(resolve, this.#below(12)));
    const doing = async (): Promise<number | undefined> => {
      switch (what) {
        case "start": {
          this.turns += 1;
          const turn = this.turns;
          await graph.invoke({ turn, asks: this.#below(3) === 0 }, config).catch((error: unknown) => {
            throw Object.assign(error as Error, { turn });
          });
          return turn;
        }
        case "answer":
          if ((await graph.getState(thread())).next.length === 0) return undefined;
          await graph.invoke(new Command({ resume: "yes" }), config);
          return undefined;
        case "edit":
          await graph.updateState(thread(), { note: this.#below(100) });
          return undefined;
        case "branch": {
          const history = await all(graph.getStateHistory(thread()));
          this.branches += 1;
          const from = history[this.#below(Math.max(1, history.length))];
          if (from !== undefined) await graph.invoke(null, { ...from.config, durability });
          return undefined;
        }
        case "delete":
          return void (await saver.deleteThread("thread"));
        case "prune":
          return void (await saver.prune(["thread"], "keep_latest"));
        case "copy": {
          const to = `copy ${this.#below(1_000_000)}`;
          await saver.copyThread("thread", to);
          await saver.deleteThread(to);
          return undefined;
        }
      }
    };
    try {
      const turn = await doing();
      return { what, ...(turn !== undefined && { turn }), error: undefined };
    } catch (error) {
      return { what, error: error as Error };
    }
  }
}

/** Those that an actor may meet. More starts than anything else. */
const KINDS: ReadonlyArray<Done["what"]> = [
  ...Array.from({ length: 5 }, () => "start" as const),
  ...(["answer", "answer", "edit", "edit", "branch", "delete", "prune", "copy"] as const),
];

async function play(kind: (typeof kinds)[number], random: number): Promise<number> {
  const below = randomBelow(random);
  const target = kind === "memory" ? await openStore("memory:") : place(kind);
  const world = new World(target, below);
  const [saver, other] = world.savers as [ForkpointSaver, ForkpointSaver];
  onTestFinished(async () => {
    await Promise.all([saver.close(), other.close()]);
    if (typeof target !== "string") await target.close();
  });
  /** The turns that the latest state must have. */
  let must = new Set<number>();
  let checked = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    if (below(4) === 0) {
      const now = Date.now() + (below(2) === 0 ? -HOUR : HOUR / 2);
      vi.useRealTimers();
      vi.useFakeTimers({ toFake: ["Date"], now, shouldAdvanceTime: true });
    }
    const done = await Promise.all(Array.from({ length: 1 + below(3) }, () => world.act(KINDS[below(KINDS.length)]!)));
    const told = `seed ${random}, round ${round}: ${done.map(({ what, error }) => `${what}${error ? ` (${error.message})` : ""}`).join(", ")}`;
    for (const { error } of done) {
      if (isForkpointError(error)) {
        const { code } = error as ForkpointError;
        expect(["CONFLICT", "NOT_FOUND"], told).toContain(code);
      }
    }
    const happened = (what: Done["what"]) => done.some((each) => each.what === what && each.error === undefined);
    const { values } = await world.graphs[0]!.getState(thread());
    const log: string[] = values?.log ?? [];
    const turnsIn = new Set(log.filter((line) => line.endsWith("paid")).map((line) => Number.parseInt(line, 10)));
    // A turn is in a state once.
    expect(new Set(log).size, told).toBe(log.length);
    if (happened("delete")) {
      // Who was refused has left nothing. An answer or a branch that begins after the delete may begin the thread again.
      const others = done.filter(
        ({ what, error }) => !isForkpointError(error) && !["delete", "prune", "copy"].includes(what),
      );
      if (others.length === 0) {
        expect((await other.listThreads()).threads, told).toEqual([]);
        expect((await other.stats()).effects, `${told}: effects of the deleted thread`).toBe(0);
      }
      must = turnsIn;
    } else if (done.some(({ what }) => what === "branch")) {
      // A branch becomes the latest with its first checkpoint, also if it is refused later.
      must = turnsIn;
    } else {
      for (const { what, turn, error } of done) if (what === "start" && error === undefined) must.add(turn!);
      for (const turn of must) expect(turnsIn, told).toContain(turn);
    }
    for (const turn of turnsIn) expect(world.paid.get(`${turn}`), told).toBeDefined();
    for (const [what, keys] of world.paid) {
      expect(new Set(keys).size, `${told}: ${what}`).toBe(keys.length);
      expect(keys.length, `${told}: ${what}`).toBeLessThanOrEqual(1 + world.branches);
      if (world.branches === 0) expect(keys.length, `${told}: ${what}`).toBe(1);
    }
    expect(await saver.check(), told).toMatchObject({ ok: true, findings: [] });
    checked += done.length;
  }
  return checked;
}

const meetings = amount("FORKPOINT_TEST_MEETINGS", 2);

describe.each(kinds)("on %s", (kind) => {
  it(
    "no turn is lost, no payment is made twice, and nothing that was deleted is left",
    { timeout: 600_000 + meetings * 60_000 },
    async () => {
      let actors = 0;
      for (let at = 0; at < meetings; at += 1) actors += await play(kind, seed + at);
      expect(actors).toBeGreaterThan(ROUNDS);
    },
  );
});
