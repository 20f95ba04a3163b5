// Damages rows with SQL. check() says what is damaged, a read of it rejects with CORRUPT, all else is read as before, and
// a damaged run goes on.
import { createHash } from "node:crypto";
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { CheckpointStore, openStore } from "forkpoint";
import { SessionStore } from "forkpoint/helix";
import { ForkpointSaver } from "forkpoint/langgraph";
import { Checkpointer } from "forkpoint/tinyagents";
import { describe, expect, it, onTestFinished } from "vitest";
import { checkpoint, failure, ids, open } from "../../__test__/helpers.js";
import { makeDatabase, query } from "./databases.js";

/**
 * A state of a few KB. A state that differs little is stored as a delta. Each step adds text that all later steps have too, so
 * each payload needs every byte of those before it. The text is not compressed, and is always the same.
 */
const hash = (of: string) => createHash("sha256").update(of).digest("hex");
const words = Array.from({ length: 300 }, (_, n) => hash(`${n}`).slice(0, 12));
const added = (n: number) => [0, 1, 2, 3].map((part) => hash(`step ${n}, part ${part}`)).join("");
const step = (n: number) => {
  const scratch = { n, text: [...words, ...Array.from({ length: n + 1 }, (_, before) => added(before))].join(" ") };
  return checkpoint({
    id: `c${n}`,
    runId: "run",
    graphId: "graph",
    timestamp: n,
    state: { ...checkpoint().state, scratch },
  });
};

const texts = (count: number) => Array.from({ length: count }, (_, n) => ({ role: "user", content: `message ${n}` }));

/** A database with a run of four checkpoints, another run, a thread with pending writes, and two sessions. */
async function filled(): Promise<string> {
  const url = makeDatabase();
  const store = await openStore(url);
  const graphs = new CheckpointStore(store);
  for (let n = 0; n < 4; n++) await graphs.save(step(n));
  await graphs.save(checkpoint({ id: "alone", runId: "another run", graphId: "another graph" }));
  const threads = new Checkpointer<object>(store);
  for (const checkpointId of ["first", "second"]) {
    await threads.put({ threadId: "t", checkpointId, state: {} });
    for (const idx of [0, 1, 2])
      await threads.putWrites({ threadId: "t", checkpointId }, [
        { node: "n", taskId: `task of ${checkpointId}`, idx, channel: "c", payload: idx },
      ]);
  }
  const sessions = new SessionStore(store);
  for (const sessionId of ["session", "other"]) {
    await sessions.createSession(sessionId, { agentType: "agent" });
    await sessions.appendMessages(sessionId, texts(3));
    await sessions.saveCheckpoint({
      id: `${sessionId}/1`,
      sessionId,
      stepCount: 1,
      timestamp: 1,
      state: { status: "running", stepCount: 1, customState: {} },
    });
  }
  await store.close();
  const deltas = await query(url, "SELECT base FROM forkpoint.payload WHERE base IS NOT NULL");
  expect(deltas).toHaveLength(3);
  return url;
}

/** What each read answers: JSON, or the code of its error. Nothing is in memory. */
async function read(url: string): Promise<Record<string, string>> {
  const store = await openStore(url);
  const graphs = new CheckpointStore(store);
  const threads = new Checkpointer<object>(store);
  const sessions = new SessionStore(store);
  const reads: Record<string, () => Promise<unknown>> = {
    "the newest of the run": () => graphs.latest("run"),
    "the list of the run": () => graphs.listByRun("run"),
    "the list of the graph": () => graphs.list("graph"),
    "the thread": () => threads.list("t"),
  };
  for (const id of ["c0", "c1", "c2", "c3", "alone"]) reads[id] = () => graphs.get(id);
  for (const checkpointId of ["first", "second"])
    reads[checkpointId] = () => threads.getTuple({ threadId: "t", checkpointId });
  for (const sessionId of ["session", "other"]) {
    reads[`messages of ${sessionId}`] = () => sessions.getMessages(sessionId);
    reads[`checkpoint of ${sessionId}`] = () => sessions.getCheckpoint(`${sessionId}/1`);
    reads[`state of ${sessionId}`] = () => sessions.loadState(sessionId);
  }
  const answers: Record<string, string> = {};
  for (const [name, ask] of Object.entries(reads))
    answers[name] = await ask().then(
      (found) => JSON.stringify(found),
      ({ code }) => code,
    );
  await store.close();
  return answers;
}

function openSaver(url: string): ForkpointSaver {
  const saver = new ForkpointSaver(url);
  onTestFinished(() => saver.close());
  return saver;
}

async function check(url: string) {
  await using store = await openStore(url);
  return await store.check();
}

interface Damage {
  sql: string;
  /** What rejects with CORRUPT. */
  corrupt: string[];
  /** What does not find the row. */
  missing?: string[];
  /** What a finding must name, by the id of its checkpoint or in its message. */
  named: string[];
}

async function expectFound(url: string, before: Record<string, string>, { corrupt, missing = [], named }: Damage) {
  const after = await read(url);
  for (const [name, answer] of Object.entries(before)) {
    if (corrupt.includes(name)) expect.soft(after[name], name).toBe("CORRUPT");
    else if (missing.includes(name)) expect.soft(after[name], name).not.toBe(answer);
    else expect.soft(after[name], name).toBe(answer);
  }
  const { ok, findings } = await check(url);
  expect.soft(ok).toBe(false);
  const about = findings.map(({ message, ref }) => `${ref?.id} ${message}`);
  for (const name of named)
    expect
      .soft(
        about.filter((text) => text.includes(name)),
        name,
      )
      .not.toEqual([]);
  for (const { severity, remedy } of findings)
    if (severity === "error") expect.soft(remedy.toLowerCase()).toContain("restore");
}

/** Flips a bit in the middle of some bytes. */
const flipped = (column: string) =>
  `${column} = set_byte(${column}, octet_length(${column}) / 2, get_byte(${column}, octet_length(${column}) / 2) # 1)`;
const numberOf = (id: string) => `(SELECT seq FROM forkpoint.checkpoint WHERE id = '${id}')`;
const branchOf = (session: string) =>
  `(SELECT branch FROM forkpoint.log JOIN forkpoint.lineage l USING (lin) WHERE l.name = '${session}')`;

/** The reads that need the payload of c2, and the checkpoints of which it is a part. */
const ofPayload = { corrupt: ["c2", "c3", "the newest of the run"], named: ["c2", "c3"] };
/** The reads that need the row of c1. */
const ofHeader = { corrupt: ["c1", "the list of the run", "the list of the graph"], named: ["c1"] };
/** The reads that need a pending write of the first checkpoint of the thread. */
const ofWrite = { corrupt: ["first"], named: ["first"] };
/** The reads that need the messages of a session. */
const ofLog = { corrupt: ["messages of session", "checkpoint of session"] };

const header = (set: string): Damage => ({
  sql: `UPDATE forkpoint.checkpoint SET ${set} WHERE id = 'c1'`,
  ...ofHeader,
});
const write = (set: string): Damage => ({
  sql: `UPDATE forkpoint.write SET ${set} WHERE num = (SELECT min(num) FROM forkpoint.write WHERE task = 'task of first')`,
  ...ofWrite,
});
const record = (set: string): Damage => ({
  sql: `UPDATE forkpoint.record SET ${set} WHERE pos = 1 AND branch = ${branchOf("session")}`,
  ...ofLog,
  named: ["the record at 1 of branch"],
});

const damages: Record<string, Damage> = {
  "a byte of a payload": {
    sql: `UPDATE forkpoint.payload SET ${flipped("body")} WHERE seq = ${numberOf("c2")}`,
    ...ofPayload,
  },
  "a byte of a keyframe": {
    sql: `UPDATE forkpoint.payload SET ${flipped("body")} WHERE seq = ${numberOf("alone")}`,
    corrupt: ["alone"],
    named: ["alone"],
  },
  "the end of a payload": {
    sql: `UPDATE forkpoint.payload SET body = substr(body, 1, octet_length(body) - 1) WHERE seq = ${numberOf("c2")}`,
    ...ofPayload,
  },
  "a payload of another checkpoint": {
    sql: `UPDATE forkpoint.payload SET call = call + 1 WHERE seq = ${numberOf("c2")}`,
    corrupt: ["c2"],
    named: ["c2"],
  },
  "the base of a payload": {
    sql: `UPDATE forkpoint.payload SET base = ${numberOf("c0")} WHERE seq = ${numberOf("c2")}`,
    ...ofPayload,
  },
  "a payload that was deleted": {
    sql: `DELETE FROM forkpoint.payload WHERE seq = ${numberOf("c2")}`,
    ...ofPayload,
  },
  "a parent": header("parent = 'c9'"),
  "a label": header(flipped("label")),
  "a sort key": header(flipped("sort_key")),
  "the metadata": header(flipped("meta")),
  "the time of a save": header("saved_at = saved_at + 1"),
  "the flags": header("flags = flags + 2"),
  "the number of a save": header("call = call + 1"),
  "the checksum of a header": header("sum = sum + 1"),
  "a group": {
    ...header("grp = 'another graph'"),
    corrupt: ["c1", "the list of the run"],
    missing: ["the list of the graph"],
  },
  "an id": {
    ...header("id = 'c9'"),
    corrupt: ["the list of the run", "the list of the graph"],
    missing: ["c1"],
    named: ["c9"],
  },
  "a header that was deleted": {
    sql: "DELETE FROM forkpoint.checkpoint WHERE id = 'c1'",
    corrupt: [],
    missing: ["c1", "the list of the run", "the list of the graph"],
    named: ["payload"],
  },
  "the lineage of a run that was deleted": {
    sql: "DELETE FROM forkpoint.lineage WHERE name = 'run'",
    corrupt: ["c0", "c1", "c2", "c3", "the list of the graph"],
    missing: ["the newest of the run", "the list of the run"],
    named: ["checkpoint row"],
  },
  "a pending write": write(flipped("body")),
  "the task of a pending write": write(flipped("task")),
  "how a pending write replaces": write("replaces = NOT replaces"),
  "the body of a record": record(flipped("body")),
  "the checksum of a record": record("sum = sum + 1"),
  // A check finds the damage of logs by comparing the tables.
  "the length of a log": {
    sql: `UPDATE forkpoint.log SET length = length - 1 WHERE branch = ${branchOf("session")}`,
    corrupt: ["messages of session"],
    named: ["log"],
  },
  "the checksum of a log": {
    sql: `UPDATE forkpoint.log SET sum = sum + 1 WHERE branch = ${branchOf("session")}`,
    corrupt: ["messages of session"],
    named: ["log"],
  },
  "a record that was deleted": {
    sql: `DELETE FROM forkpoint.record WHERE pos = 1 AND branch = ${branchOf("session")}`,
    ...ofLog,
    named: ["branch"],
  },
  "the last record, which was deleted": {
    sql: `DELETE FROM forkpoint.record WHERE pos = 2 AND branch = ${branchOf("session")}`,
    ...ofLog,
    named: ["branch"],
  },
  "a branch that was deleted": {
    sql: `DELETE FROM forkpoint.log_branch WHERE branch = ${branchOf("session")}`,
    ...ofLog,
    named: ["branch"],
  },
};

describe("damage of", () => {
  it.each(Object.entries(damages))("%s: check() finds it, and reads of it reject with CORRUPT", async (_, damage) => {
    const url = await filled();
    const before = await read(url);
    expect(Object.values(before)).not.toContain("CORRUPT");
    expect(await check(url)).toMatchObject({ ok: true, findings: [] });
    await query(url, damage.sql);
    await expectFound(url, before, damage);
  });

  it("one pending write: check() has one finding", async () => {
    const url = await filled();
    await query(url, damages["a pending write"]!.sql);
    expect((await check(url)).findings).toHaveLength(1);
  });

  it("a claim of pending writes: check() finds it, and a read gives no other answer", async () => {
    const url = makeDatabase();
    const thread = (id?: string) => ({ configurable: { thread_id: "t", checkpoint_ns: "", checkpoint_id: id } });
    const [first, second] = [emptyCheckpoint(), { ...emptyCheckpoint(), id: uuid6(1) }];
    const metadata = { source: "loop", step: 0, parents: {} } as const;
    const saver = openSaver(url);
    await saver.put(thread(), first, metadata, {});
    await saver.putWrites(thread(first.id), [["channel", "value"]], "task");
    // The second checkpoint was made from the write, and claims it.
    await saver.put(thread(first.id), second, metadata, {});
    const history = () => openSaver(url).getDeltaChannelHistory({ config: thread(second.id), channels: ["channel"] });
    expect(JSON.stringify(await history())).toContain("value");
    const changed = await query(
      url,
      `UPDATE forkpoint.write SET ${flipped("claimed")} WHERE claimed IS NOT NULL RETURNING num`,
    );
    expect(changed).toHaveLength(1);
    const answer = await history().then(JSON.stringify, ({ code }) => code);
    expect.soft(answer).toBe("CORRUPT");
    expect.soft((await check(url)).ok).toBe(false);
  });
});

describe("a run with damage goes on:", () => {
  it.each([
    ["a damaged payload", `UPDATE forkpoint.payload SET ${flipped("body")}`],
    ["a payload that was deleted", "DELETE FROM forkpoint.payload"],
  ])("the checkpoint after %s is stored whole", async (_, sql) => {
    const url = await filled();
    await query(url, `${sql} WHERE seq = ${numberOf("c3")}`);
    const store = open(url);
    await store.save(step(4));
    await store.save(step(5));
    const bases = await query(
      url,
      `SELECT p.base = ${numberOf("c4")} AS "is c4" FROM forkpoint.payload p JOIN forkpoint.checkpoint c USING (seq)
       WHERE c.id IN ('c4', 'c5') ORDER BY p.seq`,
    );
    // Null: stored whole. The one after it is a delta again.
    expect(bases).toEqual([{ "is c4": null }, { "is c4": true }]);
    const reader = open(url);
    for (const n of [0, 1, 2, 4, 5]) expect((await reader.get(`c${n}`))!.state.scratch).toEqual(step(n).state.scratch);
    await failure(reader.get("c3"), "CORRUPT");
    expect((await reader.latest("run"))!.id).toBe("c5");
  });

  it("a damaged row of the newest checkpoint does not stop the next save, and is replaced by a save of the same id", async () => {
    const url = await filled();
    await query(url, `UPDATE forkpoint.checkpoint SET ${flipped("meta")} WHERE id = 'c3'`);
    const store = open(url);
    await store.save(step(4));
    expect((await store.get("c4"))!.state.scratch).toEqual(step(4).state.scratch);
    // The remedy that check() names.
    await store.save(step(3));
    expect((await store.get("c3"))!.state.scratch).toEqual(step(3).state.scratch);
    expect(await check(url)).toMatchObject({ ok: true, findings: [] });
  });

  it.each([
    ["row", `UPDATE forkpoint.checkpoint SET ${flipped("meta")} WHERE id = 'c1'`],
    ["payload", `UPDATE forkpoint.payload SET ${flipped("body")} WHERE seq = ${numberOf("c1")}`],
  ])("checkpoints around a damaged %s are saved, deleted, pruned and cleared", async (_, sql) => {
    const url = await filled();
    await query(url, sql);
    const store = open(url);
    await store.save(step(4));
    await store.delete("c0");
    await failure(store.get("c1"), "CORRUPT");
    expect(await store.prune({ keepLastN: 1 })).toMatchObject({ removed: 3 });
    expect((await store.latest("run"))!.state.scratch).toEqual(step(4).state.scratch);
    expect(ids(await store.listByRun("run"))).toEqual(["c4"]);
    await store.clear("run");
    expect(await store.listByRun("run")).toEqual([]);
    expect(await check(url)).toMatchObject({ ok: true, findings: [] });
  });

  it("a damaged checkpoint that is saved again, and one that is deleted, leave a whole store", async () => {
    const url = await filled();
    await query(url, `UPDATE forkpoint.payload SET ${flipped("body")} WHERE seq = ${numberOf("c2")}`);
    const store = open(url);
    await store.save(step(2));
    // It was a delta against the old c2.
    await failure(store.get("c3"), "CORRUPT");
    expect((await store.get("c2"))!.state.scratch).toEqual(step(2).state.scratch);
    await store.delete("c3");
    expect(await check(url)).toMatchObject({ ok: true, findings: [], checked: { checkpoints: 10 } });
  });

  it("a session whose messages are damaged keeps its checkpoints, and others get messages", async () => {
    const url = await filled();
    await query(url, damages["the body of a record"]!.sql);
    await using store = await openStore(url);
    const sessions = new SessionStore(store);
    await sessions.appendMessages("other", texts(1));
    expect((await sessions.getMessages("other")).total).toBe(4);
    expect((await sessions.listCheckpoints("session")).items).toHaveLength(1);
    await failure(sessions.getMessages("session"), "CORRUPT");
    await sessions.deleteSession("session");
    expect(await check(url)).toMatchObject({ ok: true, findings: [] });
  });
});
