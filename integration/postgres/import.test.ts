// Import from LangGraph's PostgresSaver: what it wrote is copied, and its threads are resumed.
import { spawn } from "node:child_process";
import { createCipheriv, createDecipheriv, createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type CheckpointTuple, MemorySaver } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { ForkpointSaver, type SaverOptions } from "forkpoint/langgraph";
import pg from "pg";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import * as graphs from "../langgraph/fixtures/moving.mjs";
import { makeDatabase } from "./databases.js";

const { Command, chat, fan, nested } = graphs as Record<string, any>;
const thread = (thread_id: string, rest: object = {}) => ({ configurable: { thread_id, ...rest } });
const orphan = { checkpoint_ns: "", checkpoint_id: "1ef00000-0000-6000-8000-000000000000" };

/** The URL of the database with the threads. */
let database: string;
/** All checkpoints, as PostgresSaver reads them, with the writes in its order. */
let tuples: CheckpointTuple[];
let threads: Set<string>;
let writes: number;

/** Makes a pool that is closed when the running test ends. Its database may be dropped while a connection is being closed. */
function poolOf(connectionString = database, rest: object = {}) {
  const pool = new pg.Pool({ connectionString, ...rest });
  pool.on("error", () => {});
  onTestFinished(() => (pool.ended ? undefined : pool.end()));
  return pool;
}

/** Opens a PostgresSaver that is closed when the running test ends. */
const postgresSaver = (url = database, schema = "public") => new PostgresSaver(poolOf(url), undefined, { schema });

/** Makes a thread that waits, one that was answered, branches, a failed step, a subgraph, a long one, and early writes. */
async function fill(old: PostgresSaver): Promise<void> {
  await old.setup();
  for (const id of ["waiting", "answered", "branches", "a:b", "%_'é\n"]) {
    await chat(old).invoke({ messages: [], topic: id }, thread(id));
  }
  await chat(old).invoke(new Command({ resume: "yes" }), thread("answered"));
  const app = chat(old);
  for await (const { config, next } of app.getStateHistory(thread("branches"))) {
    if (next[0] !== "ask") continue;
    for (const topic of ["cats", "birds"]) await app.updateState(config, { topic, notes: [topic] });
    break;
  }
  await fan(old, () => true)
    .invoke({ notes: [] }, thread("failed"))
    .catch(() => {});
  await nested(old).invoke({ notes: [] }, thread("nested"));
  for (let turn = 0; turn < 40; turn++) {
    await app.updateState(thread("long"), { notes: [`turn ${turn}`], picture: randomBytes(80_000) }, "say");
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
  await old.putWrites(
    thread("orphan", orphan),
    [
      ["notes", ["early"]],
      ["picture", new Uint8Array([1, 2, 3])],
    ],
    "task",
  );
}

function empty(id: string) {
  return { v: 4, id, ts: "", channel_values: {}, channel_versions: {}, versions_seen: {} };
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
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

function place(kind: string): string {
  if (kind === "memory") return "memory:";
  if (kind === "postgres") return makeDatabase();
  const folder = mkdtempSync(join(tmpdir(), "forkpoint-import-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "agent.db");
}

function open(target = "memory:", options?: SaverOptions): ForkpointSaver {
  const saver = new ForkpointSaver(target, options);
  onTestFinished(() => saver.close());
  return saver;
}

async function rejection(promise: Promise<unknown>): Promise<Error & { code?: unknown }> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Error);
  return error as Error;
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

describe.each(["memory", "sqlite", "postgres"])("into %s", (kind) => {
  it("copies every checkpoint, its metadata and its writes in their order, bytes included", async () => {
    const [old, saver] = [postgresSaver(), open(place(kind))];
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
  });

  it("goes on: a person's answer, a failed branch, a subgraph, a branch, an early write", async () => {
    const saver = open(place(kind));
    await saver.importPostgresSaver(postgresSaver());
    for (const id of ["waiting", "a:b", "%_'é\n"]) {
      const { messages, picture } = await chat(saver).invoke(new Command({ resume: "yes" }), thread(id));
      expect(messages.map(({ content }: { content: string }) => content)).toEqual([`${id}? yes`, "said 1"]);
      expect(Buffer.from(picture)).toEqual(Buffer.from([0, 1, 254, 255]));
    }
    let ran = 0;
    const failed = await fan(saver, () => ++ran > 1).invoke(null, thread("failed"));
    expect([ran, failed.notes]).toEqual([1, ["planned", "worked 0", "worked 1", "worked 2"]]);
    const inner = await nested(saver).invoke(new Command({ resume: "inside" }), thread("nested"));
    expect(inner.notes).toEqual(["first", "inside", "last"]);
    await saver.put(
      thread("orphan"),
      empty(orphan.checkpoint_id) as never,
      { source: "loop", step: 0, parents: {} },
      {},
    );
    expect((await saver.getTuple(thread("orphan", orphan)))!.pendingWrites).toEqual([
      ["task", "notes", ["early"]],
      ["task", "picture", new Uint8Array([1, 2, 3])],
    ]);
  });

  it("stops when it is told to, and gives its connection back", async () => {
    const pool = poolOf();
    const saver = open(place(kind));
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

it("an import that is killed is completed by the next one", { timeout: 120_000 }, async () => {
  const target = place("sqlite");
  const script = fileURLToPath(new URL("fixtures/import.mjs", import.meta.url));
  const packaged = new URL("../langgraph/node_modules/forkpoint/dist/contracts/langgraph/index.mjs", import.meta.url)
    .href;
  let killed = 0;
  for (let wait = 1; wait <= 7; wait += 2) {
    const child = spawn(process.execPath, [script, packaged, database, target], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, NODE_OPTIONS: "" },
    });
    let lines = 0;
    child.stdout.on("data", (data: Buffer) => {
      lines += data.toString().split("\n").length - 1;
      if (lines >= wait) child.kill("SIGKILL");
    });
    const [, signal] = await once(child, "close");
    if (signal === "SIGKILL") killed += 1;
    // Each thread is there completely or not at all.
    const half = open(target);
    for (const { threadId } of (await half.listThreads()).threads) {
      const stored = tuples.filter(({ config }) => config.configurable!["thread_id"] === threadId);
      expect(await all(half.list(thread(threadId)))).toHaveLength(stored.length);
    }
    await half.close();
  }
  expect(killed).toBeGreaterThan(0);
  const saver = open(target);
  expect(await saver.importPostgresSaver(postgresSaver())).toMatchObject({ checkpoints: tuples.length, writes });
  expect(await read(saver)).toEqual(tuples.map(shown));
});

it("reads a snapshot: what is written meanwhile is not imported", async () => {
  const [old, saver] = [postgresSaver(), open()];
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
  const pool = poolOf();
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
  await open().importPostgresSaver(new PostgresSaver(pool));
  // The pictures of the long thread: each is read twice, because a thread of several pages is read again to compare it.
  expect(sum).toBeGreaterThan(40 * 80_000);
  expect(largest).toBeLessThan(3 << 20);
});

it("a connection that is lost is told, and the next import goes on", async () => {
  const pool = poolOf(database, { application_name: "doomed" });
  const other = new pg.Client({ connectionString: database });
  await other.connect();
  onTestFinished(() => other.end());
  const saver = open();
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
  const plain = new MemorySaver().serde;
  const key = randomBytes(32);
  const serde = {
    async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
      const [type, bytes] = await plain.dumpsTyped(value);
      // PostgresSaver stores metadata as JSON.
      if (Object.hasOwn(Object(value), "source")) return [type, bytes];
      const iv = randomBytes(12);
      const cipher = createCipheriv("aes-256-gcm", key, iv);
      const text = Buffer.concat([cipher.update(bytes), cipher.final()]);
      return [`sealed ${type}`, new Uint8Array(Buffer.concat([iv, cipher.getAuthTag(), text]))];
    },
    async loadsTyped(type: string, data: Uint8Array | string) {
      if (!type.startsWith("sealed ")) return plain.loadsTyped(type, data);
      const bytes = Buffer.from(data as Uint8Array);
      const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12));
      decipher.setAuthTag(bytes.subarray(12, 28));
      const text = Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]);
      return plain.loadsTyped(type.slice("sealed ".length), new Uint8Array(text));
    },
  };
  const old = new PostgresSaver(poolOf(makeDatabase()), serde, { schema: "of_mine" });
  await old.setup();
  await chat(old).invoke({ messages: [], topic: "sealed" }, thread("sealed"));
  const before = (await all(old.list({}))).map(shown);
  const saver = open("memory:", { serde });
  const whole = await saver.importPostgresSaver(old);
  expect(whole).toMatchObject({ threads: 1, checkpoints: before.length });
  expect((await all(saver.list({}))).map(shown)).toEqual(before);
  expect(await saver.importPostgresSaver(old)).toEqual(whole);
  expect((await chat(saver).invoke(new Command({ resume: "yes" }), thread("sealed"))).messages).toHaveLength(2);
});

it("what is no PostgresSaver is refused with what it is", async () => {
  const saver = open();
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
