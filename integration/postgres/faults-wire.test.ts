// A proxy cuts the connection at every message of the protocol, or passes nothing any more. After a cut, each call goes on
// by itself: nothing that was acknowledged is lost, nothing is stored twice, and no call hears of a conflict with itself.
import { setTimeout as sleep } from "node:timers/promises";
import { isForkpointError, openStore, type Store } from "forkpoint";
import { type ForkpointWorkflowStore, WorkflowCheckpointStore } from "forkpoint/agentium";
import { type EffectAttempt, effects } from "forkpoint/effects";
import { SessionStore } from "forkpoint/helix";
import { expect, it } from "vitest";
import { randomBelow, repeat, seed } from "../../__test__/faults/faults.js";
import { amount, behindProxy, long, type Message, onServer, type Server, type Verdict } from "./faults.js";

const file = "integration/postgres/faults-wire.test.ts";

/** There is a cut at every so many messages. */
const every = amount("FORKPOINT_FAULT_EVERY", long ? 1 : 60);

/** A call that takes longer never ends. This is no test of speed. */
const HANG_MS = 30_000;

interface Stores {
  store: Store;
  runs: ForkpointWorkflowStore<unknown>;
  sessions: SessionStore;
}

const session = "session";
const idOf = (n: number) => `run:step-${n + 1}`;
const message = (text: string) => ({ role: "user" as const, content: text });
const state = (n: number) => ({ n, text: `step ${n} `.repeat(200) });

/** Saves a checkpoint. A second save of the same checkpoint rejects with `CONFLICT`. */
const save = (n: number) => async (stores: Stores) => {
  const checkpoint = { id: idOf(n), runId: "run", stepIndex: n, stepName: "step", state: state(n), createdAt: n };
  await stores.runs.save(checkpoint, { expectedParent: n === 0 ? null : idOf(n - 1) });
};

const ids = async ({ runs }: Stores) => (await runs.list("run")).map(({ id, state: { n } }: any) => `${id} ${n}`);
const texts = async ({ sessions }: Stores) => (await sessions.getMessages(session)).messages.map((one) => one.content);

/** The calls of a run. Each of them would show by its answer or by its effect that it was made twice. */
const calls: Array<[name: string, call: (stores: Stores) => Promise<unknown>]> = [
  ...[0, 1, 2, 3, 4].map((n): (typeof calls)[number] => [`save ${n}`, save(n)]),
  ["list", ids],
  ["create a session", ({ sessions }) => sessions.createSession(session, { agentType: "a", initialState: {} })],
  ["append", ({ sessions }) => sessions.appendMessages(session, [message("a"), message("b")])],
  ["append again", ({ sessions }) => sessions.appendMessages(session, [message("c")])],
  ["increment", ({ sessions }) => sessions.incrementStepCount(session)],
  ["compare and set", ({ sessions }) => sessions.compareAndSetStatus(session, "active", "running")],
  ["messages", texts],
  ["remove", ({ runs }) => runs.delete(idOf(1))],
  ["prune", async ({ runs }) => void (await runs.prune({ keepLastN: 2 }))],
  ["list again", ids],
];

async function open(url: string, busyTimeoutMs: number): Promise<Stores> {
  const store = await openStore(url, { busyTimeoutMs });
  return { store, runs: new WorkflowCheckpointStore(store), sessions: new SessionStore(store) };
}

/** Rejects if the call never ends. */
async function ending<T>(name: string, call: Promise<T>): Promise<T> {
  const timer = new AbortController();
  const late = sleep(HANG_MS, undefined, { signal: timer.signal }).then(() => {
    throw new Error(`${name} does not end`);
  });
  try {
    return await Promise.race([call, late]);
  } finally {
    timer.abort();
    late.catch(() => {});
  }
}

/** Makes all calls. Returns their answers. */
async function run(url: string, busyTimeoutMs: number): Promise<Array<[name: string, answer: unknown]>> {
  const stores = await ending("open", open(url, busyTimeoutMs));
  const answers: Array<[string, unknown]> = [];
  for (const [name, call] of calls) {
    const answer = ending(name, call(stores)).catch((error: any) => {
      throw new Error(`${name}: ${error.code} ${error.outcome ?? ""} ${error.message}`, { cause: error });
    });
    answers.push([name, await answer]);
  }
  await ending("close", stores.store.close());
  return answers;
}

/** What a store holds that was not behind the proxy. */
async function found(url: string): Promise<unknown> {
  const stores = await open(url, 10_000);
  const held = {
    ids: await ids(stores),
    texts: await texts(stores).catch(() => null),
    state: await stores.sessions.loadState(session).then((one) => one && [one.status, one.stepCount]),
    check: (await stores.store.check()).findings,
  };
  await stores.store.close();
  return held;
}

const held = { ids: ["run:step-4 3", "run:step-5 4"], texts: ["a", "b", "c"], state: ["running", 1], check: [] };

type From = Message["from"];

/** Messages that may be the last ones before a side waits. A cut after another one is a cut before the next one. */
const last: Record<From, string[]> = { client: ["start", "p", "Q", "S", "X"], server: ["R", "Z"] };

/** A proxy whose judge may be changed, in front of a database of its own. */
async function place(server: Server) {
  let judge: (message: Message) => Verdict = () => "pass";
  const { proxy, database, url, direct } = await behindProxy(server, { onMessage: (message) => judge(message) });
  const counted = { client: 0, server: 0 };
  return {
    counted,
    url,
    direct,
    /** Empties the database and counts messages from zero. */
    async begin(next: typeof judge) {
      proxy.cutAll();
      await server.query("DROP SCHEMA IF EXISTS forkpoint CASCADE", undefined, { database });
      Object.assign(counted, { client: 0, server: 0 });
      judge = (message) => {
        counted[message.from] += 1;
        return next(message);
      };
    },
    heal() {
      judge = () => "pass";
      proxy.cutAll();
    },
    /** Waits until no process of the server works for the engine any more. */
    async settled() {
      const sql = `SELECT count(*)::int AS count FROM pg_stat_activity
        WHERE datname = $1 AND application_name = 'forkpoint' AND state IS DISTINCT FROM 'idle'`;
      while ((await server.query(sql, [database]))[0].count > 0) await sleep(10);
    },
  };
}

/** The numbers of the messages at which something happens. */
function points(count: number, step: number, salt: number): number[] {
  const first = randomBelow(seed * 31 + salt)(step);
  return Array.from({ length: Math.ceil((count - first) / step) }, (_, at) => first + at * step);
}

/** Where a connection is cut: before a commit is sent, after it, or in place of the answer. */
const cuts = ["before", "after", "answer"] as const;

/** A judge that cuts the connection at the next commit of a transaction that writes. Then no other is made, unless `returns`. */
function cutsCommit(cut: (typeof cuts)[number], returns: boolean, onCut: () => void): (message: Message) => Verdict {
  const writing = new Set<number>();
  let committing: number | undefined;
  let done = false;
  const now = (verdict: Verdict) => {
    done = true;
    onCut();
    return verdict;
  };
  return ({ from, type, bytes, connection }) => {
    if (done) return type === "start" && !returns ? "cut" : "pass";
    const text = bytes.toString("latin1");
    if (from === "server")
      return type === "C" && connection === committing && text.includes("COMMIT") ? now("cut") : "pass";
    if (type !== "Q") return "pass";
    if (text.includes("READ COMMITTED")) writing.add(connection);
    if (!text.includes("COMMIT\0") || !writing.has(connection)) return "pass";
    if (cut !== "answer") return now(cut === "before" ? "cut" : "cut-after");
    committing = connection;
    return "pass";
  };
}

onServer("newest", (server, version) => {
  it("a cut at each message, before and after it, in both directions", { timeout: 3_600_000 }, async () => {
    const { url, direct, begin, counted } = await place(server());
    const types: Record<From, string[]> = { client: [], server: [] };
    await begin(({ from, type }) => void types[from].push(type));
    const answers = await run(url, 10_000);
    expect(await found(direct)).toEqual(held);
    const whole = { ...counted };
    const problems: string[] = [];
    let [runs, cuts] = [0, 0];
    for (const [salt, from] of (["client", "server"] as From[]).entries())
      for (const verdict of ["cut", "cut-after"] as const)
        for (const at of points(whole[from], every, salt * 7 + verdict.length)) {
          if (verdict === "cut-after" && !last[from].includes(types[from][at]!)) continue;
          let cut: string | undefined;
          await begin((one) => {
            if (cut !== undefined || one.from !== from || counted[from] <= at) return "pass";
            cut = one.type;
            return verdict;
          });
          const where = () => `${verdict} at message ${at} (${cut}) from the ${from}`;
          try {
            expect(await run(url, 10_000), where()).toEqual(answers);
            expect(await found(direct), where()).toEqual(held);
          } catch (error: any) {
            problems.push(`${where()}: ${error.message}`);
            if (/does not end/.test(error.message)) break;
          }
          runs += 1;
          if (cut !== undefined) cuts += 1;
        }
    console.log({ version, messages: whole, runs, cuts, problems });
    expect(problems, repeat(file, "FORKPOINT_FAULT_EVERY")).toEqual([]);
    expect(cuts).toBeGreaterThan(runs / 2);
  });

  const commits = ["claim", "result"].flatMap((write) => cuts.map((cut) => [write, cut] as const));

  it.each(commits)("the commit of the %s of an effect is cut: %s", async (write, cut) => {
    const { url, direct, begin, heal } = await place(server());
    for (const returns of [true, false]) {
      let judge: ((message: Message) => Verdict) | undefined;
      await begin((message) => judge?.(message));
      await using store = await openStore(url, { busyTimeoutMs: returns ? 10_000 : 500 });
      const once = effects(store);
      const run = { space: "agentos", run: "run" };
      // Makes the connections, and what all effects of the run share.
      await once(run, "warm up", () => 0);
      let cutCommits = 0;
      const arm = () => (judge = cutsCommit(cut, returns, () => cutCommits++));
      const keys: string[] = [];
      const charge = ({ idempotencyKey }: EffectAttempt) => {
        keys.push(idempotencyKey);
        if (write === "result" && keys.length === 1) arm();
        return `receipt ${keys.length}`;
      };
      // Nobody waits for the end of such a claim.
      const pay = () => once(run, "pay", charge, { ttlMs: 2 ** 31 - 1 });
      if (write === "claim") arm();
      const first = ending("once", pay());
      if (returns) expect(await first).toBe("receipt 1");
      else {
        const error = await first.catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true, outcome: "unknown" });
        heal();
      }
      expect(cutCommits).toBe(1);
      const result = await ending("once again", pay());
      // The function runs again only if its result was not stored.
      const runs = !returns && write === "result" && cut !== "answer" ? [1, 2] : [1];
      expect(runs).toContain(keys.length);
      expect(result).toBe(`receipt ${keys.length}`);
      expect(new Set(keys).size).toBe(1);
      await using other = await openStore(direct);
      expect(await effects(other)(run, "pay", charge)).toBe(result);
      const listed = (await effects(other).list(run)).filter(({ key }) => key === "pay");
      expect(listed).toMatchObject([{ state: "done", idempotencyKey: keys[0] }]);
      expect(runs).toContain(keys.length);
      expect((await other.check()).findings).toEqual([]);
    }
  });

  it.each([
    ["one connection", false],
    ["the network", true],
  ])("%s stalls at a message", { timeout: 3_600_000 }, async (what, all) => {
    const { url, direct, begin, counted, heal, settled } = await place(server());
    const told: Record<string, number> = {};
    await begin(() => "pass");
    await survives(url, direct, heal, settled, told);
    const whole = { ...counted };
    const problems: string[] = [];
    let [runs, stalls] = [0, 0];
    for (const [salt, from] of (["client", "server"] as From[]).entries())
      for (const at of points(whole[from], every * 2, salt)) {
        let stalled: number | undefined;
        await begin((one) => {
          if (stalled === undefined && one.from === from && counted[from] > at) stalled = one.connection;
          return stalled !== undefined && (all || (one.connection === stalled && one.from === from)) ? "stall" : "pass";
        });
        runs += 1;
        try {
          await survives(url, direct, heal, settled, told);
        } catch (error: any) {
          problems.push(`a stall at message ${at} from the ${from}: ${error.message}`);
          if (/does not end/.test(error.message)) break;
        }
        if (stalled !== undefined) stalls += 1;
      }
    console.log({ version, what, runs, stalls, told, problems });
    expect(problems, repeat(file, "FORKPOINT_FAULT_EVERY")).toEqual([]);
    expect(stalls).toBeGreaterThan(runs / 2);
  });
});

/**
 * Saves and appends until a call fails. Then the network is healed: an effect of the failed call may be there only if the
 * error says that the outcome is unknown. Then the same store must go on.
 */
async function survives(
  url: string,
  direct: string,
  heal: () => void,
  settled: () => Promise<void>,
  told: Record<string, number>,
): Promise<void> {
  const patience = 400;
  const failing = async <T>(name: string, call: () => Promise<T>): Promise<T | { unknown: boolean }> => {
    try {
      return await ending(name, call());
    } catch (error: any) {
      if (!isForkpointError(error)) throw error;
      const told1 = `${error.code}${"outcome" in error ? ` ${error.outcome}` : ""}`;
      told[told1] = (told[told1] ?? 0) + 1;
      if (!["UNAVAILABLE", "BUSY"].includes(error.code) || !error.retryable)
        throw new Error(`${name} rejects with ${error.code}, retryable: ${error.retryable}: ${error.message}`, {
          cause: error,
        });
      heal();
      await settled();
      return { unknown: "outcome" in error && error.outcome === "unknown" };
    }
  };
  let stores = await failing("open", () => open(url, patience));
  if ("unknown" in stores) stores = await open(url, patience);
  const ready = stores;
  for (let n = 0; n < 5; n++) {
    const one = { id: idOf(n), runId: "run", stepIndex: n, stepName: "step", state: state(n), createdAt: n };
    const saved = await failing(`save ${n}`, () => ready.runs.save(one));
    if (saved === undefined) continue;
    const there = (await found(direct)) as typeof held;
    if (there.ids.includes(`${one.id} ${n}`) && !saved.unknown)
      throw new Error(`save ${n} is stored, and its error does not say that the outcome is unknown`);
    await ready.runs.save(one);
  }
  const log = async (name: string, is: (there: typeof held) => boolean, call: () => Promise<void>) => {
    const done = await failing(name, call);
    if (done === undefined) return;
    const there = is((await found(direct)) as typeof held);
    if (there && !done.unknown)
      throw new Error(`${name} is done, and its error does not say that the outcome is unknown`);
    if (!there) await call();
  };
  const { sessions } = ready;
  await log(
    "create a session",
    (there) => there.state !== null,
    () => sessions.createSession(session, { agentType: "a", initialState: {} }),
  );
  await log(
    "append",
    (there) => there.texts?.length > 0,
    () => sessions.appendMessages(session, [message("a"), message("b"), message("c")]),
  );
  heal();
  await settled();
  const wanted = {
    ids: [0, 1, 2, 3, 4].map((n) => `${idOf(n)} ${n}`),
    texts: held.texts,
    state: ["active", 0],
    check: [],
  };
  expect(await found(direct)).toEqual(wanted);
  await ending("close", ready.store.close());
}
