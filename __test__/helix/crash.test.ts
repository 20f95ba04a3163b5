// Kills real processes, and lets several processes write at once. An acknowledged call must be stored, and no call may
// be stored in part.
// @module-tag slow
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { SessionStore } from "forkpoint/helix";
import { describe, expect, it } from "vitest";
// @ts-expect-error the fixture is plain JavaScript, and has no types
import { begin, script } from "../fixtures/session-script.mjs";
import { randomBelow, seed } from "../faults/faults.js";
import { type Ended, closing, folder, run, together } from "../helpers.js";

function open(file: string): SessionStore {
  return closing(new SessionStore(file));
}

const start = (...given: Array<string | number>) => run("session.mjs", given.map(String));

function killed({ signal, errors }: Ended): void {
  expect({ signal, errors }).toEqual({ signal: "SIGKILL", errors: "" });
}

function finished({ code, errors }: Ended): void {
  expect({ code, errors }).toEqual({ code: 0, errors: "" });
}

async function whole(store: SessionStore): Promise<void> {
  const { ok, findings } = await store.check();
  expect({ ok, findings }).toEqual({ ok: true, findings: [] });
}

/** Everything that the store returns about its sessions, without random ids and times. */
async function seen(store: SessionStore): Promise<object> {
  const sessions: Record<string, object> = {};
  for (const { sessionId } of (await store.sessions()).sessions) {
    const { status, stepCount, customState, sessionId: named } = (await store.loadState(sessionId))!;
    // `saveState` of the script saves a state without a field `sessionId`.
    expect([sessionId, undefined]).toContain(named);
    const { messages, total } = await store.getMessages(sessionId);
    expect({ total, count: await store.getMessageCount(sessionId) }).toEqual({ total: messages.length, count: total });
    const checkpoints: Record<string, object> = {};
    for (const { id } of (await store.listCheckpoints(sessionId)).items) {
      const { state, streamSequence, messageCount } = (await store.getCheckpoint(id))!;
      expect({ messageCount, of: state.sessionId }).toEqual({ messageCount: state.messages.length, of: sessionId });
      checkpoints[id.startsWith("cpv1-") ? "the copy" : id] = {
        status: state.status,
        stepCount: state.stepCount,
        customState: state.customState,
        messages: state.messages,
        streamSequence,
      };
    }
    sessions[sessionId] = {
      status,
      stepCount,
      customState,
      messages,
      staging: await store.getStaging(sessionId),
      runs: (await store.listRuns(sessionId)).map((one) => ({
        runId: one.runId,
        turn: one.turn,
        status: one.status,
      })),
      subSessions: await store.listSubSessions(sessionId),
      checkpoints,
    };
  }
  return { sessions };
}

/** The effects of the first calls of the script. */
function effects(calls: number): object {
  const model = begin();
  for (const { effect } of script.slice(0, calls)) effect(model);
  return model;
}

const calls: number[] = script.map((_: unknown, at: number) => at);
const nameOf = (at: number): string => script[at].name;

describe("a process that is killed", () => {
  it("during a call leaves the whole call or nothing of it", async () => {
    const below = randomBelow(seed);
    const kill = async (at: number) => {
      const file = join(folder(), "sessions.db");
      const waitMs = below(8_000) / 1_000;
      killed(await start("during", file, at, waitMs));
      const store = open(file);
      const message = `seed ${seed}, killed ${waitMs} ms after "${nameOf(at)}" began`;
      expect([effects(at), effects(at + 1)], message).toContainEqual(await seen(store));
      await whole(store);
    };
    for (let at = 0; at < calls.length; at += 4) await Promise.all(calls.slice(at, at + 4).map(kill));
  });
});

interface Sent {
  writer: string;
  n: number;
  part: number;
}

/** Expects that the messages of each call stand together and in order, each call once. Returns the calls, in order. */
function callsOf(messages: Array<{ content?: unknown }>, size: number): Array<{ writer: string; n: number }> {
  const sent = messages.map(({ content }) => content as Sent);
  const found = [];
  for (let at = 0; at < sent.length; at += size) {
    const { writer, n } = sent[at]!;
    expect(sent.slice(at, at + size)).toEqual(Array.from({ length: size }, (_, part) => ({ writer, n, part })));
    found.push({ writer, n });
  }
  expect(new Set(found.map(({ writer, n }) => `${writer} ${n}`)).size).toBe(found.length);
  return found;
}

describe("several processes at once", () => {
  it("append: all messages are there, and those of a call together and in order", async () => {
    const file = join(folder(), "sessions.db");
    const store = open(file);
    await store.createSession("shared", { agentType: "writer" });
    await together(
      "session.mjs",
      ["a", "b"].map((writer) => ["append", file, "shared", writer, "300"]),
    );
    const found = callsOf((await store.getMessages("shared")).messages, 2);
    for (const name of ["a", "b"]) {
      const numbers = found.filter(({ writer }) => writer === name).map(({ n }) => n);
      expect(numbers).toEqual(Array.from({ length: 300 }, (_, n) => n));
    }
    expect(await store.getMessageCount("shared")).toBe(1_200);
    await whole(store);
  });
});

describe("an agent that recovers as the guide says", () => {
  interface Result {
    status: string;
    customState: object;
    messages: unknown[];
    steps: number[];
    chunks: string;
  }

  async function result(home: string): Promise<Result> {
    const store = open(join(home, "sessions.db"));
    const { status, customState } = (await store.loadState("order"))!;
    const { messages } = await store.getMessages("order");
    const { items } = await store.listCheckpoints("order");
    await whole(store);
    const chunks = readFileSync(join(home, "stream.jsonl"), "utf8");
    return { status, customState, messages, steps: items.map(({ stepCount }) => stepCount), chunks };
  }

  it("comes to the same result, whichever call it was killed before", { timeout: 400_000 }, async () => {
    const unharmed = folder();
    const first = await run("clerk.mjs", [unharmed]);
    finished(first);
    const expected = await result(unharmed);
    expect(expected).toMatchObject({ status: "completed", customState: { cart: { tea: 4, cups: 12 } } });
    expect(expected.steps).toEqual([3, 2, 1, 0]);
    const all = Array.from({ length: Number(first.lines[0]) }, (_, at) => at + 1);
    expect(all.length).toBeGreaterThan(30);
    const recover = async (call: number) => {
      const home = folder();
      killed(await run("clerk.mjs", [home, String(call)]));
      finished(await run("clerk.mjs", [home]));
      expect(await result(home), `killed before call ${call}`).toEqual(expected);
    };
    // Starting a process takes most of the time, so several run at once.
    for (let at = 0; at < all.length; at += 4) await Promise.all(all.slice(at, at + 4).map(recover));
  });

  it("comes to the same result when its recovery is killed too", async () => {
    const unharmed = folder();
    finished(await run("clerk.mjs", [unharmed]));
    const home = folder();
    killed(await run("clerk.mjs", [home, "25"]));
    for (let call = 1; call <= 6; call++) killed(await run("clerk.mjs", [home, String(call)]));
    finished(await run("clerk.mjs", [home]));
    expect(await result(home)).toEqual(await result(unharmed));
  });
});
