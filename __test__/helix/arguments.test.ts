// What the calls of a session store refuse: with which error, and without a change of anything.
import type { SessionStore } from "forkpoint/helix";
import { describe, expect, it } from "vitest";
import { failure, kinds, rejection, wrongType } from "../helpers.js";
import { START, checkpoint, stateOf, texts, withSession } from "./helpers.js";

const weak = new WeakMap();
const half = "\ud83d";
const long = "a".repeat(4_097);
const notWhole = [-1, 1.5, Number.NaN, Number.NEGATIVE_INFINITY, 2 ** 53];
const notFinite = [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
const notObjects = [null, 7, "a", [], true];

/** A call with something wrong in it. Each wrong value rejects with its kind of error. */
interface Row {
  call(store: SessionStore, wrong: any): Promise<unknown>;
  type?: unknown[];
  range?: number[];
  /** What is of the right type, and cannot be stored. */
  invalid?: unknown[];
}

const each = (fields: string | string[], values: unknown[]) =>
  [fields].flat().flatMap((field) => values.map((value) => ({ [field]: value })));

const changed = (fields: object) => ({ ...checkpoint(2), ...fields });

const saves = (field: string, range: number[]): Row => ({
  call: (store, wrong) => store.saveCheckpoint({ ...checkpoint(2), [field]: wrong }),
  type: ["1", {}, 1n, true],
  range,
});

const throwing = Object.defineProperty({ role: "user" }, "content", {
  enumerable: true,
  get: () => {
    throw new Error("no content");
  },
});

const rows: Record<string, Row> = {
  "createSession()": {
    call: (store, wrong) => store.createSession("t", wrong),
    type: [...notObjects, ...each("agentType", [7, {}, true]), ...each("initialState", [7, "text", true])],
    invalid: [...each("agentType", [half, long]), { initialState: { weak } }, { agentType: "a", extra: weak }],
  },
  "saveState()": {
    call: (store, wrong) => store.saveState("s", wrong),
    type: [
      undefined,
      ...notObjects,
      ...[...each("status", [7, {}, true]), ...each("stepCount", ["1", {}, true, 1n])].map(stateOf),
      ...[...each("customState", [7, "a", true]), ...each("agentType", [7, {}])].map(stateOf),
    ],
    invalid: [
      ...[...each("status", [half, long]), { customState: { weak } }].map(stateOf),
      stateOf({ messages: [{ role: "user", content: weak }] }),
    ],
  },
  "saveState(), the number of steps": {
    call: (store, stepCount) => store.saveState("s", stateOf({ stepCount })),
    range: notWhole,
  },
  "updateStatus()": {
    call: (store, wrong) => store.updateStatus("s", wrong),
    type: [undefined, null, 7, {}, []],
    invalid: [half, long],
  },
  "compareAndSetStatus()": {
    call: (store, wrong) => store.compareAndSetStatus("s", ["active"], wrong),
    type: [undefined, null, 7, {}, []],
    invalid: [half, long],
  },
  "compareAndSetStatus(), what is expected": {
    call: (store, wrong) => store.compareAndSetStatus("s", wrong, "running"),
    type: [undefined, [undefined], [null], [7], [{}], [[]]],
  },
  "sessions()": {
    call: (store, wrong) => store.sessions(wrong),
    type: [7, ...each("limit", ["1"]), ...each("cursor", ["x", 1]), ...each("status", [7, [7]]), { agentType: null }],
  },
  "sessions(), another option": { call: (store, wrong) => store.sessions(wrong), type: [{ order: "asc" }] },
  "sessions(), the limit": {
    call: (store, limit) => store.sessions({ limit }),
    range: [0, -1, 1.5, Number.NaN, 100_001],
  },
  "appendMessages()": {
    call: (store, wrong) => store.appendMessages("s", wrong),
    type: [undefined, null, {}, "text", 7, new Set(texts(1)), Object.assign([], { length: 2 })],
  },
  "appendMessages(), one message": {
    call: (store, wrong) => store.appendMessages("s", [...texts(2), wrong]),
    type: [undefined, null, 7, "text", true],
    invalid: [{ role: "user", content: weak }, throwing],
  },
  "getMessages()": {
    call: (store, wrong) => store.getMessages("s", wrong),
    type: [
      null,
      7,
      [],
      ...each("offset", ["1", null]),
      ...each("limit", [1n, null]),
      ...each("includeThinking", [1, null]),
      { skip: 1 },
    ],
  },
  "getMessages(), the offset": { call: (store, offset) => store.getMessages("s", { offset }), range: notWhole },
  "getMessages(), the limit": { call: (store, limit) => store.getMessages("s", { limit }), range: notWhole },
  "truncateMessages()": {
    call: (store, wrong) => store.truncateMessages("s", wrong),
    type: [undefined, null, "1", 1n, {}],
    range: [...notWhole, Number.POSITIVE_INFINITY],
  },
  "saveCheckpoint()": {
    call: (store, wrong) => store.saveCheckpoint(wrong),
    type: [
      undefined,
      ...notObjects,
      ...each(["id", "sessionId", "stepCount", "timestamp", "state"], [undefined]).map(changed),
      ...each("state", notObjects).map(changed),
      checkpoint(2, { state: stateOf({ status: 7 }) }),
    ],
    invalid: [{ extra: weak }, { state: stateOf({ customState: { weak } }) }].map((bad) => checkpoint(2, bad)),
  },
  "saveCheckpoint() of a session": {
    call: (store, wrong) => store.saveCheckpoint("s", wrong),
    type: [undefined, ...notObjects],
  },
  "saveCheckpoint(), the number of steps": saves("stepCount", [...notWhole, Number.POSITIVE_INFINITY]),
  "saveCheckpoint(), the number of messages": saves("messageCount", notWhole),
  "saveCheckpoint(), the time": saves("timestamp", notFinite),
  "saveCheckpoint(), the place in the stream": saves("streamSequence", notFinite),
  "listCheckpoints()": {
    call: (store, wrong) => store.listCheckpoints("s", wrong),
    type: [
      null,
      7,
      [],
      ...each("limit", ["1", null]),
      ...each("offset", [null, 1n]),
      ...each("cursor", [7, "", "s/0", "NaN:s/0", `${START}:\ud83d`]),
      { cursor: `${START}:s/0`, offset: 0 },
      { order: "asc" },
      { Limit: 1 },
    ],
  },
  "listCheckpoints(), the offset": { call: (store, offset) => store.listCheckpoints("s", { offset }), range: notWhole },
  "listCheckpoints(), the limit": { call: (store, limit) => store.listCheckpoints("s", { limit }), range: notWhole },
  "rewindTo()": { call: (store, wrong) => store.rewindTo(wrong), type: [undefined, null, 7, {}] },
  "branchSession()": {
    call: (store, wrong) => store.branchSession("s/1", wrong),
    type: [undefined, null, 7, {}],
    invalid: ["", half, long],
  },
  "branchSession(), the checkpoint": {
    call: (store, wrong) => store.branchSession(wrong, "t"),
    type: [undefined, null, 7, {}],
  },
  "startRun()": {
    call: (store, wrong) => store.startRun("s", wrong),
    type: [...notObjects, ...each("runId", [7, null]), ...each("status", [7, {}])],
    invalid: [{ runId: half }, { extra: weak }],
  },
  "endRun()": {
    call: (store, wrong) => store.endRun("s", "r", wrong),
    type: [...notObjects, { status: 7 }],
    invalid: [{ extra: weak }],
  },
  "endRun(), the run": { call: (store, wrong) => store.endRun("s", wrong), type: [undefined, null, 7] },
  "addSubSession()": {
    call: (store, wrong) => store.addSubSession("s", wrong),
    type: [undefined, null, 7, [], ["a"], {}, { name: "a" }, { id: 7 }, { subSessionId: null, id: "a" }],
    invalid: [half, { id: "a", extra: weak }],
  },
};
for (const call of ["mergeCustomState", "stageChanges"] as const)
  rows[`${call}()`] = {
    call: (store, wrong) => store[call]("s", wrong),
    type: [
      undefined,
      ...notObjects,
      [["a", 1]],
      ...[1, null, {}].map((key) => ({ values: { a: 1 }, arrayReplacements: [key] })),
      { values: { a: 1 }, arrayReplacements: [], replacements: ["a"] },
    ],
    invalid: [{ a: weak }, { values: { a: weak }, arrayReplacements: [] }],
  };

async function everything(store: SessionStore) {
  const { checkpoints, records } = await store.stats();
  return [
    await Promise.all([
      store.loadState("s"),
      store.getMessages("s"),
      store.listCheckpoints("s"),
      store.getStaging("s"),
    ]),
    await Promise.all([store.listRuns("s"), store.listSubSessions("s"), store.sessions()]),
    { checkpoints, records },
  ];
}

describe.each(kinds)("refused over %s", (kind) => {
  it.each(Object.entries(rows))("%s", async (_, { call, type = [], range = [], invalid = [] }) => {
    const store = await withSession(kind);
    await store.saveCheckpoint(checkpoint(1));
    await store.startRun("s", { runId: "r" });
    const before = await everything(store);
    for (const wrong of type) await wrongType(call(store, wrong));
    for (const wrong of range) {
      const error = await rejection(call(store, wrong));
      expect(error, String(wrong)).toBeInstanceOf(RangeError);
      expect(error.code).toBe("INVALID_ARGUMENT");
    }
    for (const wrong of invalid) await failure(call(store, wrong), "INVALID_ARGUMENT");
    expect(await everything(store)).toEqual(before);
  });

  it("the misspelt part of changes is named", async () => {
    const store = await withSession(kind);
    const misnamed = { values: { a: 1 }, arrayReplacements: [], replacements: ["a"] };
    for (const call of ["mergeCustomState", "stageChanges"] as const)
      expect((await wrongType(store[call]("s", misnamed as never))).message).toContain('"replacements"');
  });

  it("ids that cannot be are found nowhere", async () => {
    const store = await withSession(kind);
    for (const id of ["", half, long]) {
      await failure(store.branchSession(id, "new"), "NOT_FOUND");
      await failure(store.rewindTo(id), "NOT_FOUND");
    }
  });
});
