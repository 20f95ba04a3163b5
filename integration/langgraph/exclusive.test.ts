// Scopes with real graphs: what becomes of two calls of one thread, in one process and in two.
// @module-tag slow
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  type Policy,
  type Running,
  type There,
  type Where,
  callers,
  newer,
  places,
  policies,
  outcome as outcomeOf,
  stopped,
} from "../../__test__/callers.js";
import { expectSound, windows } from "../../__test__/helpers.js";
// @ts-expect-error: a program without types
import * as program from "./fixtures/scopes.mjs";
import { type Kind, Log, open, place, says, sequence, sharedKinds, thread } from "./helpers.js";

const path = fileURLToPath(new URL("fixtures/scopes.mjs", import.meta.url));

function setUp(kind: Kind, where: Where = "two processes") {
  const target = place(kind);
  const saver = open(target, { program: "scopes" });
  const made = callers(where, target, path, (...tools) => program.make(saver, ...tools));
  const history = async (run: string): Promise<Array<{ id: string; parent?: string; log: string[] }>> =>
    (await made.here.call("history", { run }).ended).result;
  return { saver, history, ...made };
}

/** How a call has ended. */
const outcome = async (call: Pick<Running, "ended">): Promise<string> =>
  (await outcomeOf(call)).replace(/^CONFLICT: .* was answered by the program .*$/, "ANSWERED");

/** How graphs run: with each durability, with and without `once`, and as streams. */
const waysOf = (...graphs: Array<"flat" | "nested" | "single">) => [
  ...graphs.flatMap((graph) =>
    (["sync", "async", "exit"] as const).flatMap((durability) =>
      (["once", "plain"] as const).map((pays) => ({ graph, durability, pays, how: "invoke" })),
    ),
  ),
  ...["values", "updates"].map((how) => ({ graph: "flat" as const, durability: "sync" as const, pays: "once", how })),
];
type Way = ReturnType<typeof waysOf>[number];

/** The outcomes of both calls, the thread's log, its branches, and how often each order was paid. */
type Met = [first: string, second: string, log: string, branches: number, payments: Record<string, number>];

describe.each(places)("$kind, $where", ({ kind, where }) => {
  /** Makes a second call while the first one pays. */
  async function meet(set: ReturnType<typeof setUp>, way: Way, whenBusy: Policy, asks: boolean): Promise<Met> {
    const { here, first, payments, history } = set;
    const run = Object.values(way).join("-");
    if (asks) await here.through("run", { ...way, run, asks, how: "invoke", input: "0" });
    const given = (n: string) => ({ ...way, run, asks, ...(asks ? { answer: n } : { input: n, order: n }) });
    const one = first.call("run", given("1"));
    await one.paying;
    const two = here.call("run", { ...given("2"), options: newer(whenBusy) });
    two.go();
    if (whenBusy === "reject") await two.ended;
    if (whenBusy === "interrupt" || whenBusy === "rollback") await one.stopping;
    one.go();
    const ends = [await outcome(one), await outcome(two)] as const;
    const rows = await history(run);
    const heads = rows.filter(({ id }) => rows.every(({ parent }) => parent !== id));
    // With "exit", LangGraph 1.6 and earlier save a checkpoint again as its own parent if the run stops there.
    return [...ends, rows[0]!.log.join(" "), heads.length || 1, payments(run)];
  }

  async function expectAll(ways: Way[], whenBusy: Policy, asks: boolean, expected: (way: Way) => Met): Promise<void> {
    const set = setUp(kind, where);
    const met = await Promise.all(ways.map((way) => meet(set, way, whenBusy, asks)));
    const named = (each: (way: Way, at: number) => Met) =>
      Object.fromEntries(ways.map((way, at) => [Object.values(way).join(" "), each(way, at)]));
    expect(named((_, at) => met[at]!)).toEqual(named(expected));
    await expectSound(set.saver);
  }

  const [one, both] = ["1 ask paid 1 end", "2 ask paid 2 end"];
  const inputs: Record<Policy, Met> = {
    reject: [one, "BUSY", one, 1, { 1: 1 }],
    enqueue: [one, `${one} ${both}`, `${one} ${both}`, 1, { 1: 1, 2: 1 }],
    interrupt: [stopped("interrupt"), `1 ask ${both}`, `1 ask ${both}`, 1, { 1: 1, 2: 1 }],
    // One branch is the undone run.
    rollback: [stopped("rollback"), both, both, 2, { 1: 1, 2: 1 }],
  };

  it.each(policies)("two inputs at once, whenBusy %s", (whenBusy) =>
    expectAll(waysOf("flat", "nested"), whenBusy, false, ({ how }) => {
      const [first, second, ...rest] = inputs[whenBusy];
      // A call's updates are those of its own run.
      const updates = (words: string) => words.replace(/^.*(?=ask)/, "");
      return how === "updates" ? [updates(first), updates(second), ...rest] : inputs[whenBusy];
    }),
  );

  const paid = (answer: string) => `0 ${answer} paid order end`;
  const answers: Record<Policy, Met> = {
    reject: [paid("1"), "BUSY", paid("1"), 1, { order: 1 }],
    // The question has its answer. The second call gets the result.
    enqueue: [paid("1"), paid("1"), paid("1"), 1, { order: 1 }],
    interrupt: [stopped("interrupt"), paid("1"), paid("1"), 1, { order: 1 }],
    rollback: [stopped("rollback"), paid("2"), paid("2"), 2, { order: 1 }],
  };

  it.each(policies)("two people answer at once, whenBusy %s", (whenBusy) =>
    expectAll(waysOf("flat", "nested", "single"), whenBusy, true, ({ graph, pays, how }) => {
      let [first, second, log, branches, payments] = answers[whenBusy];
      const stops = whenBusy === "interrupt" || whenBusy === "rollback";
      // The node has saved nothing after its question. An answer that is stored stays the answer.
      if (graph === "single" && stops) branches = 1;
      if (graph === "single" && whenBusy === "interrupt") [second, log] = ["ANSWERED", "0"];
      if (how === "updates") {
        first = first.replace("0 ", "");
        second = { reject: "BUSY", enqueue: "", interrupt: "paid order end", rollback: "2 paid order end" }[whenBusy];
      }
      // Without `once`, a node that runs again pays again.
      if (pays === "plain" && stops && second !== "ANSWERED") payments = { order: 2 };
      return [first, second, log, branches, payments];
    }),
  );

  it("an interrupted call's answer and effect stay for the next one", async () => {
    const { here, first, payments } = setUp(kind, where);
    const given = { run: "t", graph: "single", asks: true };
    await here.through("run", { ...given, input: "0" });
    const one = first.call("run", { ...given, answer: "1" });
    await one.paying;
    const two = here.call("run", { ...given, answer: "1", options: newer("interrupt") });
    await one.stopping;
    one.go();
    expect([await outcome(one), await outcome(two)]).toEqual([stopped("interrupt"), paid("1")]);
    expect(payments("t")).toEqual({ order: 1 });
  });

  it("rollbacks in a row go back to before the first call", async () => {
    const { here, first, payments } = setUp(kind, where);
    await here.through("run", { run: "t", input: "0", order: "0" });
    const all = [first.call("run", { run: "t", input: "1", order: "1" })];
    for (const n of ["2", "3"]) {
      const last = all.at(-1)!;
      await last.paying;
      all.push(here.call("run", { run: "t", input: n, order: n, options: newer("rollback") }));
      await last.stopping;
      last.go();
    }
    all[2]!.go();
    const ends = [stopped("rollback"), stopped("rollback"), "0 ask paid 0 end 3 ask paid 3 end"];
    expect(await Promise.all(all.map(outcome))).toEqual(ends);
    expect(payments("t")).toEqual({ 0: 1, 1: 1, 2: 1, 3: 1 });
  });

  it("a rollback is refused if the checkpoint before the call was removed", async () => {
    const { here, first, saver, payments } = setUp(kind, where);
    await here.through("run", { run: "t", input: "0", order: "0" });
    const one = first.call("run", { run: "t", input: "1", order: "1" });
    await one.paying;
    await saver.prune(["t"]);
    const two = here.call("run", { run: "t", input: "2", options: newer("rollback") });
    await one.stopping;
    one.go();
    expect(await outcome(one)).toBe(stopped("rollback"));
    expect(await outcome(two)).toContain("NOT_FOUND");
    const next = here.call("run", { run: "t", order: "1" });
    expect(await outcome(next)).toBe("0 ask paid 0 end 1 ask paid 1 end");
    expect(payments("t")).toEqual({ 0: 1, 1: 1 });
  });

  it("writes from outside are refused before a node runs", async () => {
    const { here, first, history, payments } = setUp(kind, where);
    const holder = first.call("run", { run: "t", input: "1" });
    await holder.paying;
    const before = await history("t");
    const refused = (program.writes as string[]).map(async (what) => outcome(here.call("write", { run: "t", what })));
    expect(await Promise.all(refused)).toEqual(program.writes.map(() => "BUSY"));
    expect(await history("t")).toEqual(before);
    holder.go();
    expect(await outcome(holder)).toBe("1 ask paid order end");
    expect([payments("t"), payments("outside")]).toEqual([{ order: 1 }, {}]);
  });

  it("a call is stopped from anywhere, and a later one continues", async () => {
    const { here, first, payments, saver } = setUp(kind, where);
    const one = first.call("run", { run: "t", input: "1" });
    await one.paying;
    const stop = here.call("stop", { run: "t", options: { by: "Ana", reason: "newer" } });
    await one.stopping;
    one.go();
    expect(await outcome(one)).toBe(stopped("stop"));
    expect((await stop.ended).result).toMatchObject({ outcome: "stopped" });
    expect((await saver.status("t"))!.next).toEqual(["pay"]);
    expect(await outcome(here.call("run", { run: "t" }))).toBe("1 ask paid order end");
    expect(payments("t")).toEqual({ order: 1 });
  });

  it("recover and close wait for the call, which saves to its end", async () => {
    const { here, first, payments, history } = setUp(kind, where);
    for (const what of ["recover", "close"]) {
      const call = first.call("run", { run: what, input: "1", durability: "async" });
      await call.paying;
      const waits = (what === "recover" ? here : first).call(what, { run: what });
      call.go();
      expect(await outcome(call)).toBe("1 ask paid order end");
      const { result } = await waits.ended;
      // The call may have ended before `recover` has looked.
      if (what === "recover") expect(result[0]?.outcome ?? "elsewhere").toBe("elsewhere");
      expect(payments(what)).toEqual({ order: 1 });
    }
    if (where === "two processes") expect((await history("close"))[0]!.log.at(-1)).toBe("end");
  });

  it.runIf(where === "one process")("a call in a call goes on in its scope, or in one of its own thread", async () => {
    const { saver } = setUp(kind, where);
    const app = sequence(Log, { ends: says("ends") }).compile({ checkpointer: saver });
    const run = (id: string, work: () => unknown) =>
      saver.exclusive(id, async (signal) => {
        const log = [String(await work())];
        return (await app.invoke({ log }, { ...thread(id), signal })).log;
      });
    const inner = () => saver.exclusive("t", () => run("other", () => run("t", () => "in")));
    expect(await run("t", inner)).toEqual(["in", "ends", "in,ends,ends", "ends"]);
    expect(await run("other", () => "free")).toEqual(["in,ends", "ends", "free", "ends"]);
  });
});

describe.each(sharedKinds)("a holder on %s", (kind) => {
  it.each([
    ["enqueue", "1 ask 2 ask paid 2 end"],
    ["interrupt", "1 ask 2 ask paid 2 end"],
    ["rollback", "2 ask paid 2 end"],
  ])("that is killed is followed at once, whenBusy %s", async (whenBusy, words) => {
    const { here, first, payments } = setUp(kind);
    const one = first.call("run", { run: "t", input: "1", order: "1" });
    await one.paying;
    // The lease lasts 30 s.
    const options = { whenBusy, maxWaitMs: 20_000 };
    const two = here.call("run", { run: "t", input: "2", order: "2", options });
    two.go();
    // The run is busy when the second call arrives.
    if (whenBusy === "rollback") await one.stopping;
    (first as There).program.kill();
    expect(await outcome(two)).toBe(words);
    expect(payments("t")).toEqual({ 1: 1, 2: 1 });
  });

  it.skipIf(windows)("that sleeps for longer than its lease can store nothing more", async () => {
    const { here, first, payments } = setUp(kind);
    const given = { run: "t", pays: "plain" };
    const one = first.call("run", { ...given, input: "1", order: "1", options: { ttlMs: 2_000 } });
    await one.paying;
    const sleeper = (first as There).program;
    sleeper.kill("SIGSTOP");
    const two = here.call("run", { ...given, input: "2", order: "2", options: { whenBusy: "enqueue" } });
    await two.paying;
    sleeper.kill("SIGCONT");
    expect(await one.stopping).toMatchObject({ code: "CONFLICT" });
    one.go();
    expect(await one.ended).toMatchObject({ error: { code: "CONFLICT" } });
    two.go();
    expect(await outcome(two)).toBe("1 ask 2 ask paid 2 end");
    expect(payments("t")).toEqual({ 1: 1, 2: 1 });
  });
});
