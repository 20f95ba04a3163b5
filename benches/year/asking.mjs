// Measures one size: fills a database, and asks it through the public API.
import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { performance } from "node:perf_hooks";
import { openStore } from "../../dist/index.js";
import { openInspector } from "../../dist/inspect/index.js";
import pg from "../../integration/postgres/node_modules/pg/lib/index.js";
import { fill, LENGTH, messagesOf } from "../everyday/filling.mjs";
import { putThread } from "../everyday/put-threads.mjs";
import { ForkpointSaver, uuid6 } from "../langgraph/packages.mjs";
import { clock, sized } from "../lib/measure.mjs";
import { place, putsTo } from "../lib/puts.mjs";
import { addRows, madeThread, makeTables, seconds } from "./rows.mjs";

/** The threads that the saver has really put, before the rows are made. */
const THREADS = sized(100, 20);
const ROUNDS = sized(31, 3);
const PAGE = 20;
/** The checkpoints that prune() removes. */
const REMOVED = sized(30_000, 3_000);

/** Real threads that wait for a human, and so many newer ones that a list by activity has to look further for them. */
const WAITING = 60;
const NEWEST = 1_000;

const threadId = (number) => `real-${number}`;

/** What is asked. Each gets the number of the round. */
const questions = {
  "`runs()`, the newest 20": async ({ inspector }) =>
    strictEqual((await inspector.runs({ limit: PAGE })).items.length, PAGE),
  '`runs({ status: "waiting" })`': async ({ inspector }) =>
    strictEqual((await inspector.runs({ status: "waiting", limit: PAGE })).items.length, PAGE),
  "`info()`": async ({ inspector }) => strictEqual((await inspector.info()).spaces.length, 1),
  "`stats()`": async ({ store, size }) => ok((await store.stats()).checkpoints > size / 2),
  "`getTuple()`, the latest of a thread": async ({ saver }, round) => {
    const found = await saver.getTuple(place(threadId(round)));
    deepStrictEqual(found.checkpoint.channel_values.messages, messagesOf(round));
  },
  "`list()` of a thread": async ({ saver }, round) => {
    let found = 0;
    for await (const _ of saver.list(place(threadId(round)))) found += 1;
    strictEqual(found, LENGTH);
  },
  "`put()`, the first step of a thread": (asked, round) => {
    asked.puts[round] = putsTo(asked.saver, uuid6, `new-${round}`);
    return asked.puts[round]({ messages: messagesOf(round, 1) }, ["messages"]);
  },
  "`put()`, the second step": async (asked, round) => {
    asked.configs[round] = await asked.puts[round]({ messages: messagesOf(round, 2) }, ["messages"]);
  },
  "`putWrites()`, a question to a human": ({ saver, configs }, round) =>
    saver.putWrites(configs[round], [["__interrupt__", { value: "Continue?" }]], "task"),
  "`deleteThread()`": async ({ saver, made }, round) => saver.deleteThread(made[round]),
};

/** Calls `work(url, query, named)` with a new database, and removes it. Both functions use one connection. `named` prepares. */
export async function inDatabase(server, work) {
  const database = "year";
  await server.query(`CREATE DATABASE ${database}`);
  const client = new pg.Client({ connectionString: server.url({ database }) });
  await client.connect();
  try {
    const query = async (sql, values) => (await client.query(sql, values)).rows;
    const named = async (name, text, values) => (await client.query({ name, text, values })).rows;
    return await work(server.url({ database, query: "?sslmode=disable" }), query, named);
  } finally {
    await client.end();
    await server.query(`DROP DATABASE ${database} WITH (FORCE)`);
  }
}

/** Resolves to the figures of a size: bytes by relation, seconds of the filling, microseconds of each question. */
export async function measure(url, query, size, progress) {
  await makeTables(query);
  const filling = new ForkpointSaver(url, { durability: "off" });
  for (let number = 0; number < THREADS; number++) await putThread(filling, threadId(number), number);
  await filling.close();
  const filled = await addRows(query, size, progress);
  const relations = Object.fromEntries(
    (await query(RELATIONS)).map(({ name, table, bytes }) => [name, { table, bytes: Number(bytes) }]),
  );
  progress("the newest threads");
  await putNewest(url);
  // The threads that are deleted are spread over all that were made.
  const made = [];
  for (let round = 0; round < ROUNDS; round++) {
    const run = Math.floor((size / LENGTH) * (0.5 + (0.5 * round) / ROUNDS));
    made.push((await query(madeThread(run)))[0].thread);
  }
  const store = await openStore(url);
  const inspector = await openInspector(store);
  const saver = new ForkpointSaver(store);
  const asked = { store, inspector, saver, made, size, puts: [], configs: [] };
  const times = {};
  for (const [what, ask] of Object.entries(questions)) {
    progress(what);
    const walls = [];
    // The first of each kind prepares its statement.
    for (let round = 0; round < ROUNDS; round++) walls.push((await clock(1, () => ask(asked, round))).wall);
    times[what] = walls.slice(1).toSorted((a, b) => a - b)[walls.length >> 1];
  }
  progress("prune");
  const pruned = await prune(store, query);
  await inspector.close();
  await store.close();
  progress("VACUUM");
  // A plain one leaves the indexes as they are if few pages have dead rows.
  const vacuum = await seconds(() => query("VACUUM (INDEX_CLEANUP ON)"));
  return { filled, relations, times, ...pruned, vacuum };
}

/**
 * Puts threads that are newer than the made ones. A list verifies the rows that it reads, so these have to be real. The threads
 * that wait are older than what a list by activity looks at first.
 */
async function putNewest(url) {
  const saver = new ForkpointSaver(url, { durability: "off" });
  await fill(WAITING, async (number) => {
    const config = await putThread(saver, `waits-${number}`, number);
    await saver.putWrites(config, [["__interrupt__", { value: "Continue?" }]], "task");
  });
  await fill(NEWEST, (number) => putThread(saver, `newest-${number}`, number));
  await saver.close();
}

/** Removes the oldest checkpoints. What comes after the last removal is a look at all others. */
async function prune(store, query) {
  const [{ time }] = await query(
    `SELECT max(saved_at) AS time FROM (SELECT saved_at FROM forkpoint.checkpoint WHERE flags <> 0 ORDER BY seq LIMIT ${REMOVED + 1}) AS old`,
  );
  const nothing = await seconds(async () => strictEqual((await store.prune({ olderThan: 1 })).removed, 0));
  const start = performance.now();
  let reached;
  const onProgress = ({ removed }) => {
    if (removed >= REMOVED) reached ??= performance.now() - start;
  };
  const { removed } = await store.prune({ olderThan: Number(time), onProgress });
  return { removed, removing: (reached ?? performance.now() - start) / 1_000, looking: nothing };
}

/** The bytes of each table, with its TOAST table, and of each index. */
const RELATIONS = `
  SELECT c.relname AS name, t.relname AS table, CASE WHEN c.oid = t.oid THEN pg_table_size(c.oid) ELSE pg_relation_size(c.oid) END AS bytes
  FROM pg_class AS t JOIN pg_class AS c ON c.oid = t.oid OR c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = t.oid)
  WHERE t.relnamespace = 'forkpoint'::regnamespace AND t.relkind = 'r' AND t.relname IN ('lineage', 'checkpoint', 'payload')
  ORDER BY t.relname, c.oid <> t.oid, c.relname`;
