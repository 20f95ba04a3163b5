// Import from LangGraph's PostgresSaver: what it wrote is copied.
import "./setup.js";
import { createHash, randomBytes } from "node:crypto";
import { type CheckpointTuple, MemorySaver } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import type { ForkpointSaver } from "forkpoint/langgraph";
import pg from "pg";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import * as graphs from "../langgraph/fixtures/moving.mjs";
import { all, rejection, saver as target, thread } from "../langgraph/helpers.js";
import { salted } from "../langgraph/other-savers.js";
import { makeDatabase, poolOf } from "./databases.js";

const { Command, chat, fillAll, orphanOf, writeEarly } = graphs as Record<string, any>;
const orphan = orphanOf("orphan");

/** The URL of the database with the threads. */
let database: string;
/** All checkpoints, as PostgresSaver reads them, with the writes in its order. */
let tuples: CheckpointTuple[];
let threads: Set<string>;
let writes: number;

/** Opens a PostgresSaver that is closed when the running test ends. */
const postgresSaver = (url = database, schema = "public") => new PostgresSaver(poolOf(url), undefined, { schema });

/** Makes a thread that waits, one that was answered, branches, a failed step, a subgraph, a long one, and early writes. */
async function fill(old: PostgresSaver): Promise<void> {
  await old.setup();
  await fillAll(old);
  await writeEarly(old, "orphan");
  for (let turn = 0; turn < 40; turn++) {
    await chat(old).updateState(thread("long"), { notes: [`turn ${turn}`], picture: randomBytes(80_000) }, "say");
  }
  // Values that are null and undefined, and names that mean something elsewhere.
  const odd = {
    ...empty("odd"),
    channel_values: { "a\n'": null, __start__: { x: 1 } },
    channel_versions: { "a\n'": 3, __start__: "4", none: 5 },
  };
  await old.put(
    thread("odd", { checkpoint_ns: "" }),
    odd as never,
    { source: "input", step: -1, parents: {} },
    odd.channel_versions,
  );
}

function empty(id: string) {
  return { v: 4, id, ts: "", channel_values: {}, channel_versions: {}, versions_seen: {} };
}

/** Shows a tuple, with a hash in place of bytes. */
function shown(tuple: CheckpointTuple | undefined): string {
  return JSON.stringify(tuple, function (this: Record<string, unknown>, key: string, value: unknown) {
    const bytes = this[key];
    if (bytes instanceof Uint8Array) return `bytes ${createHash("sha256").update(bytes).digest("hex")}`;
    return isPlain(value) ? Object.fromEntries(Object.entries(value).toSorted()) : value;
  });
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns what the saver answers for each checkpoint of the old saver. */
function read(saver: ForkpointSaver): Promise<string[]> {
  return Promise.all(tuples.map(async ({ config }) => shown(await saver.getTuple(config))));
}

beforeAll(async () => {
  database = makeDatabase();
  const old = PostgresSaver.fromConnString(database);
  await fill(old);
  tuples = await all(old.list({}));
  await old.end();
  threads = new Set([...tuples.map(({ config }) => config.configurable!["thread_id"] as string), "orphan"]);
  writes = tuples.reduce((sum, { pendingWrites }) => sum + pendingWrites!.length, 2);
});

describe.each(["memory", "sqlite", "postgres"] as const)("into %s", (kind) => {
  it("copies every checkpoint, its metadata and its writes in their order, bytes included", async () => {
    const [old, saver] = [postgresSaver(), target(kind)];
    const result = await saver.importPostgresSaver(old);
    expect(result).toEqual({
      threads: threads.size,
      ofThreads: threads.size,
      checkpoints: tuples.length,
      writes,
      skipped: 0,
      skippedThreads: [],
    });
    expect(await read(saver)).toEqual(tuples.map(shown));
    expect(await all(saver.list({}))).toHaveLength(tuples.length);
    // The old saver may have writes without a checkpoint.
    expect((await saver.check()).findings.filter(({ severity }) => severity !== "note")).toEqual([]);
    // The old saver is as it was.
    expect((await all(old.list({}))).map(shown)).toEqual(tuples.map(shown));
    // Early writes wait for their checkpoint.
    await saver.put(
      thread("orphan"),
      empty(orphan.configurable.checkpoint_id) as never,
      { source: "loop", step: 0, parents: {} },
      {},
    );
    expect((await saver.getTuple(orphan))!.pendingWrites).toEqual([
      ["task", "notes", ["early"]],
      ["task", "picture", new Uint8Array([1, 2, 3])],
    ]);
  });

  it("stops when it is told to, and gives its connection back", async () => {
    const pool = poolOf(database);
    const saver = target(kind);
    const controller = new AbortController();
    const stopped = saver.importPostgresSaver(new PostgresSaver(pool), {
      signal: controller.signal,
      onProgress: ({ threads: done }) => void (done === 3 && controller.abort(new Error("enough"))),
    });
    expect((await rejection(stopped)).message).toBe("enough");
    // Further threads may be complete.
    expect((await saver.listThreads()).threads.length).toBeGreaterThanOrEqual(3);
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
    expect(await saver.importPostgresSaver(new PostgresSaver(pool))).toMatchObject({ threads: threads.size });
    expect([pool.totalCount, pool.idleCount]).toEqual([1, 1]);
  });
});

it("reads a snapshot: what is written meanwhile is not imported", async () => {
  const [old, saver] = [postgresSaver(), target("memory")];
  let late: Promise<unknown> | undefined;
  const result = await saver.importPostgresSaver(old, {
    onProgress: () =>
      (late ??= old.put(thread("zzz late"), empty("1") as never, { source: "input", step: -1, parents: {} }, {})),
  });
  await late;
  await old.deleteThread("zzz late");
  expect(result).toMatchObject({ threads: threads.size, checkpoints: tuples.length });
});

it("reads a few megabytes at a time", async () => {
  const pool = poolOf(database);
  let largest = 0;
  let sum = 0;
  pool.on("connect", (client: { query: unknown }) => {
    const query = (client.query as Function).bind(client) as (...args: unknown[]) => Promise<{ rows: object[] }>;
    client.query = async (...args: unknown[]) => {
      const result = await query(...args);
      const values = result.rows.flatMap((row) => Object.values(row) as unknown[]);
      const size = values.reduce((all: number, value) => all + (Buffer.isBuffer(value) ? value.length : 0), 0);
      largest = Math.max(largest, size);
      sum += size;
      return result;
    };
  });
  await target("memory").importPostgresSaver(new PostgresSaver(pool));
  // The pictures of the long thread: each is read twice, because a thread of several pages is read again to compare it.
  expect(sum).toBeGreaterThan(40 * 80_000);
  expect(largest).toBeLessThan(3 << 20);
});

it("a connection that is lost is told, and the next import goes on", async () => {
  const pool = poolOf(database, { application_name: "doomed" });
  const other = new pg.Client({ connectionString: database });
  await other.connect();
  onTestFinished(() => other.end());
  const saver = target("memory");
  let cut: Promise<unknown> | undefined;
  const lost = saver.importPostgresSaver(new PostgresSaver(pool), {
    onProgress: () =>
      (cut ??= other.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'doomed'")),
  });
  const error = await rejection(lost);
  expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
  expect(error.message).toMatch(/^cannot read the tables of the PostgresSaver: /);
  await cut;
  expect(await saver.importPostgresSaver(new PostgresSaver(pool))).toMatchObject({ threads: threads.size });
  expect(await read(saver)).toEqual(tuples.map(shown));
});

it("a schema and a serializer of one's own, which writes other bytes each time", async () => {
  const serde = salted();
  const old = new PostgresSaver(poolOf(makeDatabase()), serde, { schema: "of_mine" });
  await old.setup();
  await chat(old).invoke({ messages: [], topic: "salted" }, thread("salted"));
  const before = (await all(old.list({}))).map(shown);
  const saver = target("memory", { serde });
  const whole = await saver.importPostgresSaver(old);
  expect(whole).toMatchObject({ threads: 1, checkpoints: before.length });
  expect((await all(saver.list({}))).map(shown)).toEqual(before);
  expect(await saver.importPostgresSaver(old)).toEqual(whole);
  expect((await chat(saver).invoke(new Command({ resume: "yes" }), thread("salted"))).messages).toHaveLength(2);
});

it("what is no PostgresSaver is refused with what it is", async () => {
  const saver = target("memory");
  for (const wrong of [undefined, null, 7, "postgres://localhost/a", {}, { pool: {} }, new MemorySaver()]) {
    const error = await rejection(saver.importPostgresSaver(wrong as never));
    expect(error).toBeInstanceOf(TypeError);
    expect(error.message).toMatch(/^the saver to import must be a PostgresSaver/);
  }
  const none = await rejection(saver.importPostgresSaver(postgresSaver(makeDatabase())));
  expect(none).toMatchObject({ code: "UNSUPPORTED" });
  expect(none.message).toContain('the schema "public" does not have the tables');
  const away = await rejection(saver.importPostgresSaver(postgresSaver("postgres://nobody:secret@127.0.0.1:1/none")));
  expect(away).toMatchObject({ code: "UNAVAILABLE" });
  expect(away.message).not.toContain("secret");
  const wrong = await rejection(saver.importPostgresSaver(postgresSaver(), { onprogress: 1 } as never));
  expect(wrong.message).toMatch(/Did you mean "onProgress"/);
  expect((await saver.listThreads()).threads).toEqual([]);
});
