// Imports of large threads, which are stored in several transactions, and of very many threads.
// @module-tag slow
import "./setup.js";
import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { type ForkpointSaver } from "forkpoint/langgraph";
import { beforeAll, describe, expect, it } from "vitest";
import { Program } from "../../__test__/faults/faults.js";
import { all, open, place, rejection, saver, thread, until } from "../langgraph/helpers.js";
import * as graphs from "../langgraph/fixtures/moving.mjs";
import { makeDatabase, poolOf, query } from "./databases.js";

const { chat } = graphs as Record<string, any>;
const say = (to: unknown, picture: Uint8Array, note: string) =>
  chat(to).updateState(thread("large"), { notes: [note], picture }, "say");

/** Two units: an import stores at most 16 MiB in one transaction. */
const CHECKPOINTS = 10;
const picture = () => randomBytes(2_000_000);

/** A database with a thread of 20 MB. */
let database: string;

beforeAll(async () => {
  database = makeDatabase();
  const old = PostgresSaver.fromConnString(database);
  await old.setup();
  for (let n = 0; n < CHECKPOINTS; n++) await say(old, picture(), `note ${n}`);
  await old.end();
}, 120_000);

/** Opens a PostgresSaver that calls `before` before each query. */
function watched(before: (count: number) => unknown, url = database): PostgresSaver {
  const pool = poolOf(url);
  let count = 0;
  pool.on("connect", (client: { query: unknown }) => {
    const run = (client.query as Function).bind(client) as (...args: unknown[]) => Promise<unknown>;
    client.query = async (...args: unknown[]) => {
      count += 1;
      await before(count);
      return run(...args);
    };
  });
  return new PostgresSaver(pool);
}

const importFrom = (old: PostgresSaver, target: ForkpointSaver, signal?: AbortSignal) =>
  target.importPostgresSaver(old as never, signal === undefined ? {} : { signal });

async function notesOf(target: ForkpointSaver): Promise<string[]> {
  return (await chat(target).getState(thread("large"))).values.notes;
}

let counted: Promise<number> | undefined;

/** How many queries an import makes, wherever it stores what it reads. */
function queriesOfImport(): Promise<number> {
  return (counted ??= (async () => {
    let queries = 0;
    const old = watched((count) => void (queries = count));
    expect(await importFrom(old, saver("memory"))).toMatchObject({ threads: 1 });
    return queries;
  })());
}

const notes = (count: number) => Array.from({ length: count }, (_, n) => `note ${n}`);

it("a large thread is imported, and so is what is new", { timeout: 240_000 }, async () => {
  const url = makeDatabase();
  const old = watched(() => {}, url);
  await old.setup();
  const targets = [saver("sqlite"), saver("postgres")];
  // What is new takes several transactions too.
  for (const [from, to] of [
    [0, 9],
    [9, 18],
  ] as const) {
    for (let n = from; n < to; n++) await say(old, picture(), `note ${n}`);
    for (const target of targets) {
      expect(await importFrom(old, target)).toMatchObject({ threads: 1, checkpoints: to });
      expect(await notesOf(target)).toEqual(notes(to));
    }
  }
  for (const target of targets) {
    expect(await all(target.list(thread("large")))).toHaveLength(18);
    expect(await target.check()).toMatchObject({ ok: true });
  }
});

describe.each(["sqlite", "postgres"] as const)("into %s", (kind) => {
  it("an import of a large thread that is stopped removes what it has stored", { timeout: 240_000 }, async () => {
    const queries = await queriesOfImport();
    const target = saver(kind);
    let parts = 0;
    for (let at = Math.floor(queries / 3); at < queries; at += Math.ceil(queries / 4)) {
      const controller = new AbortController();
      const old = watched(async (count) => {
        if (count !== at) return;
        parts += (await all(target.list(thread("large")))).length > 0 ? 1 : 0;
        controller.abort(new Error("enough"));
      });
      const error = await importFrom(old, target, controller.signal).catch((reason: unknown) => reason);
      expect((error as Error).message).toBe("enough");
      // The thread is complete if the import was stopped while it read the thread back.
      expect([0, CHECKPOINTS]).toContain((await all(target.list(thread("large")))).length);
      await target.deleteThread("large");
    }
    expect(parts).toBeGreaterThan(0);
    expect(
      await importFrom(
        watched(() => {}),
        target,
      ),
    ).toMatchObject({ threads: 1 });
    expect(await notesOf(target)).toEqual(notes(CHECKPOINTS));
  });

  it("a program that continues a large thread during the import loses nothing", { timeout: 240_000 }, async () => {
    const target = saver(kind);
    let mine: { configurable?: object } | undefined;
    const old = watched(async () => {
      if (mine !== undefined) return;
      const tip = await target.getTuple(thread("large"));
      if (tip === undefined) return;
      mine = await say(target, new Uint8Array(1), "mine");
    });
    const result = await importFrom(old, target);
    expect(mine).toBeDefined();
    expect(result).toMatchObject({ threads: 0, skippedThreads: [{ threadId: "large", why: "changed in both" }] });
    expect((await target.getTuple(mine!))!.checkpoint.channel_values["notes"]).toContain("mine");
    expect((await notesOf(target)).at(-1)).toBe("mine");
  });
});

it("lists 10,000 skipped threads, and counts all", { timeout: 240_000 }, async () => {
  const url = makeDatabase();
  const old = watched(() => {}, url);
  await old.setup();
  const checkpoint = { v: 4, id: "2", ts: "", channel_values: {}, channel_versions: {}, versions_seen: {} };
  await query(
    url,
    `INSERT INTO checkpoints (thread_id, checkpoint_ns, checkpoint_id, type, checkpoint, metadata)
     SELECT 't' || n, '', '2', 'json', '${JSON.stringify(checkpoint)}', '{"source":"input","step":-1}'
     FROM generate_series(1, 10003) AS n`,
  );
  const target = saver("memory");
  const put = (n: number) =>
    target.put(thread(`t${n}`), { ...checkpoint, id: "1" } as never, { source: "input", step: -1, parents: {} }, {});
  for (let n = 1; n <= 10_001; n++) await put(n);
  const result = await importFrom(old, target);
  expect(result).toMatchObject({ threads: 2, ofThreads: 10_003, skipped: 10_001 });
  expect(result.skippedThreads).toHaveLength(10_000);
  const error = await rejection(target.importPostgresSaver(old as never, { onConflict: "fail" }));
  expect(error).toMatchObject({ code: "CONFLICT" });
});

it.each(["sqlite", "postgres"] as const)(
  "an import into %s that is killed within a large thread is completed by the next one",
  { timeout: 240_000 },
  async (kind) => {
    const where = place(kind);
    const script = fileURLToPath(new URL("fixtures/import.mjs", import.meta.url));
    const packaged = new URL("../langgraph/node_modules/forkpoint/dist/contracts/langgraph/index.mjs", import.meta.url);
    const child = new Program([script, packaged.href, database, where], { deadlineMs: 240_000 });
    const looking = open(where);
    await until(async () => (await looking.getTuple(thread("large"))) !== undefined);
    child.kill();
    expect(await child.ended).toMatchObject({ code: null, signal: "SIGKILL" });
    const stored = await all(looking.list(thread("large")));
    expect(stored.length).toBeGreaterThan(0);
    expect(stored.length).toBeLessThan(CHECKPOINTS);
    expect(
      await importFrom(
        watched(() => {}),
        looking,
      ),
    ).toMatchObject({ threads: 1, skipped: 0 });
    expect(await notesOf(looking)).toEqual(notes(CHECKPOINTS));
    expect(await looking.check()).toMatchObject({ ok: true });
  },
);
