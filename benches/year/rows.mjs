// Fills the tables of a Postgres schema with rows that SQL makes. They have the sizes of rows of LangGraph's short threads: a
// real save of them would take a day for ten million.
import { performance } from "node:perf_hooks";
import { postgresSchema } from "../../dist/index.js";
import { LENGTH } from "../everyday/filling.mjs";

/** Runs that save at the same time: the rows of a run are so far apart. */
const TOGETHER = 64;
/** A year of a million runs a day: this is the pause between two checkpoints, in ms. */
const PACE = 86_400_000 / 1_000_000 / LENGTH;
/** One run of so many waits for a human. */
const WAITING = 1_000;
/** Sorting in this much memory builds an index without many files. */
export const MEMORY = "1GB";

const TABLES = ["lineage", "checkpoint", "payload"];

/** The number of checkpoints that is next to `checkpoints` and has only complete runs. */
export const rounded = (checkpoints) => Math.round(checkpoints / TOGETHER / LENGTH) * TOGETHER * LENGTH;

/** The thread with this number of the made rows, from 0 on. */
export const madeThread = (run) => `SELECT substr(convert_from(name, 'UTF8'), 4) AS thread FROM forkpoint.lineage
  WHERE lin = (SELECT min(lin) FROM forkpoint.lineage WHERE contract = 4 AND status <> 0) + ${run}`;

/** Makes the tables of Forkpoint in a new database. */
export async function makeTables(query) {
  await query(postgresSchema());
}

/**
 * Adds the rows of `checkpoints` checkpoints in runs of three to what the tables have. Resolves to the seconds that the rows, the
 * indexes and `VACUUM ANALYZE` took. The indexes are dropped first and built afterwards, as when a dump is restored. `query` has to
 * keep its connection.
 */
export async function addRows(query, checkpoints, progress) {
  const indexes = await query(
    `SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition FROM pg_index
     WHERE indrelid = ANY ($1::text[]::regclass[]) AND NOT indisprimary ORDER BY indexrelid`,
    [TABLES.map((table) => `forkpoint.${table}`)],
  );
  for (const { name } of indexes) await query(`DROP INDEX ${name}`);
  const [{ seq, lin }] = await query(
    "SELECT (SELECT max(seq) FROM forkpoint.checkpoint) AS seq, (SELECT max(lin) FROM forkpoint.lineage) AS lin",
  );
  const rows = await seconds(async () => {
    for (const [table, insert] of Object.entries(inserts(Number(seq ?? 0), Number(lin ?? 0), checkpoints))) {
      progress(`rows of ${table}`);
      await query(insert);
    }
  });
  const last = [Number(seq ?? 0) + checkpoints, Number(lin ?? 0) + checkpoints / LENGTH];
  await query("SELECT setval('forkpoint.save_order', $1), setval('forkpoint.lineage_order', $2)", last);
  await query(`SET maintenance_work_mem = '${MEMORY}'`);
  const built = {};
  for (const { name, definition } of indexes) {
    progress(`index ${name}`);
    built[name.replace("forkpoint.", "")] = await seconds(() => query(definition));
  }
  await query("RESET maintenance_work_mem");
  progress("VACUUM ANALYZE");
  const vacuum = await seconds(() => query("VACUUM ANALYZE"));
  await query("CHECKPOINT");
  return { rows, built, vacuum };
}

/**
 * The statements that insert rows behind the numbers `seq` and `lin`. `n` counts the checkpoints from 0 on, `run` their runs, and
 * `step` their places in a run. Rows with another `salt` have other names.
 */
export function inserts(seq, lin, checkpoints, salt = 0) {
  const block = TOGETHER * LENGTH;
  const made = `SELECT n, n / ${block} * ${TOGETHER} + n % ${TOGETHER} AS run, n % ${block} / ${TOGETHER} AS step
    FROM generate_series(0::bigint, ${checkpoints - 1}) AS n`;
  // A UUID of version 6 begins with its time, in units of 100 ns since 1582.
  const ms = `(${Date.now()} - (${checkpoints} - n) * ${PACE})`;
  const uuid = (
    ago,
  ) => `(SELECT substr(t, 1, 8) || '-' || substr(t, 9, 4) || '-6' || substr(t, 13, 3) || '-800' || step - ${ago}
      || '-' || substr(md5((n - ${ago * TOGETHER})::text), 1, 12)
    FROM (SELECT lpad(to_hex(((${ms} - ${ago * TOGETHER * PACE} + 12219292800000) * 10000)::bigint), 15, '0') AS t) AS hex)`;
  const thread = `'36:' || md5('run ${salt} ' || run)::uuid`;
  return {
    lineage: `INSERT INTO forkpoint.lineage (lin, contract, name, grp, age_offset, status)
      SELECT ${lin + 1} + run, 4, name, name, 0, CASE WHEN run % ${WAITING} = 0 THEN 1 ELSE 4 END
      FROM generate_series(0::bigint, ${checkpoints / LENGTH - 1}) AS run, LATERAL (SELECT convert_to(${thread}, 'UTF8') AS name) AS of`,
    checkpoint: `INSERT INTO forkpoint.checkpoint
        (seq, lin, call, saved_at, sum, contract, flags, id, parent, grp, label, sort_key, meta)
      SELECT ${seq + 1} + n, ${lin + 1} + run, hashint8extended(n, 1), ${ms}::bigint, hashint8extended(n, 2), 4,
        CASE WHEN step = ${LENGTH - 1} THEN 16 ELSE 12 END, convert_to(thread || '0:' || uuid, 'UTF8'),
        CASE WHEN step > 0 THEN convert_to(thread || '0:' || ${uuid(1)}, 'UTF8') END, convert_to(thread, 'UTF8'), '',
        convert_to(uuid, 'UTF8'), convert_to('json', 'UTF8') || '\\x00'
          || convert_to('{"source":"loop","step":' || step || ',"parents":{},"user":"user-' || run % 200 || '"}', 'UTF8')
      FROM (${made}) AS made, LATERAL (SELECT ${thread} AS thread, ${uuid(0)} AS uuid) AS named`,
    payload: `INSERT INTO forkpoint.payload (seq, call, depth, budget, size, body)
      SELECT ${seq + 1} + n, hashint8extended(n, 1), 0, 512, 2 * octet_length(body), body
      FROM (${made}) AS made, LATERAL (SELECT substr(convert_to(repeat(md5(n::text), 16), 'UTF8'), 1, 300 + 100 * step::int) AS body) AS of`,
  };
}

export async function seconds(work) {
  const start = performance.now();
  await work();
  return (performance.now() - start) / 1_000;
}
