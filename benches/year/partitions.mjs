// Compares the tables as they are with the same rows in hash partitions by run. The statements are those that a save, a read and a
// removal need, made by hand for both, because the product has no partitions.
import { clock, sized } from "../lib/measure.mjs";
import { LENGTH } from "../everyday/filling.mjs";
import { addRows, inserts, makeTables, MEMORY, seconds } from "./rows.mjs";

export const PARTITIONS = 32;
const CHANGED = sized(99_840, 1_920);
/** The checkpoints of a statement. */
const BATCH = 480;
const LOOKUPS = sized(3_000, 100);

const KEY = "substr(sha256(id), 1, 16)";

/** The tables with partitions, in the schema `parts`. An id has no run, so a table of its own finds the run. */
const TABLES = `
  CREATE SCHEMA parts;
  CREATE TABLE parts.checkpoint (LIKE forkpoint.checkpoint) PARTITION BY HASH (lin);
  CREATE TABLE parts.payload (LIKE forkpoint.payload, lin bigint NOT NULL) PARTITION BY HASH (lin);
  CREATE TABLE parts.id (contract smallint NOT NULL, key bytea NOT NULL, seq bigint NOT NULL, lin bigint NOT NULL);
  ${Array.from({ length: PARTITIONS }, (_, at) =>
    ["checkpoint", "payload"]
      .map(
        (table) =>
          `CREATE TABLE parts.${table}_${at} PARTITION OF parts.${table} FOR VALUES WITH (MODULUS ${PARTITIONS}, REMAINDER ${at});`,
      )
      .join(""),
  ).join("\n")}
  ALTER TABLE parts.payload ALTER COLUMN body SET STORAGE EXTERNAL;`;

const INDEXES = `
  ALTER TABLE parts.checkpoint ADD PRIMARY KEY (seq, lin);
  ALTER TABLE parts.payload ADD PRIMARY KEY (seq, lin);
  ALTER TABLE parts.id ADD PRIMARY KEY (contract, key);
  CREATE INDEX ON parts.checkpoint (lin, substr(sort_key, 1, 1000), seq);
  CREATE INDEX ON parts.checkpoint (lin, substr(sha256(label), 1, 16), substr(sort_key, 1, 1000), seq) WHERE label <> '';
  CREATE INDEX ON parts.checkpoint (lin, substr(sha256(parent), 1, 16)) WHERE flags & 1 = 1;
  CREATE INDEX ON parts.payload (base) WHERE base IS NOT NULL;
  CREATE INDEX ON parts.checkpoint (contract, substr(sha256(grp), 1, 16), substr(sort_key, 1, 1000), seq) WHERE grp <> '';
  CREATE INDEX ON parts.checkpoint (contract, substr(sort_key, 1, 1000), seq);`;

const NEWEST = "ORDER BY substr(c.sort_key, 1, 1000) DESC, c.sort_key DESC, c.seq DESC LIMIT 1";

/** The statements of each side. `from` and `to` are numbers of rows in `more`, which is the same for both. */
const sides = {
  forkpoint: {
    insert: `WITH c AS (INSERT INTO forkpoint.checkpoint SELECT * FROM more.checkpoint WHERE seq BETWEEN $1 AND $2)
      INSERT INTO forkpoint.payload SELECT * FROM more.payload WHERE seq BETWEEN $1 AND $2`,
    run: `SELECT c.*, p.body FROM (SELECT * FROM forkpoint.checkpoint AS c WHERE c.lin = $1 ${NEWEST}) AS c
      JOIN forkpoint.payload AS p ON p.seq = c.seq`,
    id: `SELECT c.*, p.body FROM forkpoint.checkpoint AS c JOIN forkpoint.payload AS p ON p.seq = c.seq
      WHERE c.contract = 4 AND substr(sha256(c.id), 1, 16) = substr(sha256($1::bytea), 1, 16) AND c.id = $1`,
    oldest: "SELECT seq, lin FROM forkpoint.checkpoint WHERE seq > $1 ORDER BY seq LIMIT $2",
    remove: `WITH c AS (DELETE FROM forkpoint.checkpoint WHERE seq = ANY ($1) AND $2::bigint[] IS NOT NULL)
      DELETE FROM forkpoint.payload WHERE seq = ANY ($1)`,
  },
  parts: {
    insert: `WITH c AS (INSERT INTO parts.checkpoint SELECT * FROM more.checkpoint WHERE seq BETWEEN $1 AND $2),
        i AS (INSERT INTO parts.id SELECT contract, ${KEY}, seq, lin FROM more.checkpoint WHERE seq BETWEEN $1 AND $2)
      INSERT INTO parts.payload SELECT p.*, c.lin FROM more.payload AS p JOIN more.checkpoint AS c USING (seq) WHERE seq BETWEEN $1 AND $2`,
    run: `SELECT c.*, p.body FROM (SELECT * FROM parts.checkpoint AS c WHERE c.lin = $1 ${NEWEST}) AS c
      JOIN parts.payload AS p ON p.seq = c.seq AND p.lin = c.lin`,
    id: `SELECT c.*, p.body FROM parts.id AS i JOIN parts.checkpoint AS c ON c.lin = i.lin AND c.seq = i.seq
        JOIN parts.payload AS p ON p.seq = i.seq AND p.lin = i.lin
      WHERE i.contract = 4 AND i.key = substr(sha256($1::bytea), 1, 16) AND c.id = $1`,
    oldest: "SELECT seq, lin FROM parts.checkpoint WHERE seq > $1 ORDER BY seq LIMIT $2",
    remove: `WITH gone AS MATERIALIZED (SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS g(seq, lin)),
        c AS (DELETE FROM parts.checkpoint AS c USING gone WHERE c.seq = gone.seq AND c.lin = gone.lin RETURNING c.contract, c.id),
        i AS (DELETE FROM parts.id AS i USING c WHERE i.contract = c.contract AND i.key = substr(sha256(c.id), 1, 16))
      DELETE FROM parts.payload AS p USING gone WHERE p.seq = gone.seq AND p.lin = gone.lin`,
  },
};

/** Calls `work(statements, name)` for both sides, one after the other. Resolves to their figures. */
async function both(work) {
  const values = [];
  for (const [name, statements] of Object.entries(sides)) values.push(await work(statements, name));
  return values;
}

/** Resolves to a row for each figure: its name, one value for each side, and its unit. */
export async function comparePartitions(query, named, size, progress) {
  await makeTables(query);
  await addRows(query, size, progress);
  progress("the same rows in partitions");
  await query(TABLES);
  await query("INSERT INTO parts.checkpoint SELECT * FROM forkpoint.checkpoint ORDER BY seq");
  await query(
    "INSERT INTO parts.payload SELECT p.*, c.lin FROM forkpoint.payload AS p JOIN forkpoint.checkpoint AS c USING (seq) ORDER BY seq",
  );
  await query(`INSERT INTO parts.id SELECT contract, ${KEY}, seq, lin FROM forkpoint.checkpoint ORDER BY seq`);
  await query(`SET maintenance_work_mem = '${MEMORY}'`);
  progress("indexes of the partitions");
  await query(INDEXES);
  await query("RESET maintenance_work_mem");
  await query("CREATE SCHEMA more");
  for (const table of ["checkpoint", "payload"]) {
    await query(`CREATE TABLE more.${table} (LIKE forkpoint.${table}, PRIMARY KEY (seq))`);
    const insert = inserts(size, size / LENGTH, CHANGED, 1)[table];
    await query(insert.replace(`forkpoint.${table}`, `more.${table}`));
  }
  await query("VACUUM ANALYZE");
  await query("CHECKPOINT");
  // As on the connections of a store: a statement is planned once.
  await query("SET plan_cache_mode = force_generic_plan");
  const rows = [];
  const add = (what, unit, values) => rows.push({ what, unit, values });
  add("bytes of the tables", "bytes", await both((_, name) => bytesOf(query, name, "pg_table_size")));
  add("bytes of the indexes", "bytes", await both((_, name) => bytesOf(query, name, "pg_indexes_size")));
  const runs = await query(
    `SELECT lin, id FROM forkpoint.checkpoint WHERE seq IN (SELECT (random() * ${size})::bigint FROM generate_series(1, ${LOOKUPS}))`,
  );
  for (const [what, key, of] of [
    ["the newest checkpoint of a run", "run", "lin"],
    ["a checkpoint, by its id", "id", "id"],
  ]) {
    progress(what);
    const looked = await both(async (statements, name) => {
      const look = async (row) => {
        if ((await named(`${name} ${key}`, statements[key], [row[of]])).length !== 1)
          throw new Error(`not found: ${what}`);
      };
      for (const row of runs.slice(0, 20)) await look(row);
      const all = async () => {
        for (const row of runs) await look(row);
      };
      return (await clock(runs.length, all)).wall;
    });
    add(what, "time", looked);
  }
  progress("inserting");
  add(
    `insert ${CHANGED.toLocaleString("en")} checkpoints`,
    "time",
    await both(async (statements, name) => {
      await query("CHECKPOINT");
      const { wall } = await clock(1, async () => {
        for (let from = size + 1; from <= size + CHANGED; from += BATCH) {
          await named(`${name} insert`, statements.insert, [from, from + BATCH - 1]);
        }
      });
      return wall;
    }),
  );
  progress("removing");
  add(
    `delete the oldest ${CHANGED.toLocaleString("en")}`,
    "time",
    await both(async (statements, name) => {
      await query("CHECKPOINT");
      const { wall } = await clock(1, async () => {
        for (let after = 0, count = 0; count < CHANGED; count += BATCH) {
          const old = await named(`${name} oldest`, statements.oldest, [after, BATCH]);
          after = old.at(-1).seq;
          await named(`${name} remove`, statements.remove, [old.map(({ seq }) => seq), old.map(({ lin }) => lin)]);
        }
      });
      return wall;
    }),
  );
  progress("VACUUM");
  const longest = [];
  add(
    "`VACUUM` after it",
    "time",
    await both(async (_, name) => {
      const tables = await query(
        `SELECT oid::regclass::text AS table FROM pg_class WHERE relnamespace = '${name}'::regnamespace AND relkind = 'r'
       AND relname ~ '^(checkpoint|payload|id)' AND reltuples > 0`,
      );
      const walls = [];
      for (const { table } of tables) walls.push((await seconds(() => query(`VACUUM ${table}`))) * 1e6);
      longest.push(Math.max(...walls));
      return walls.reduce((sum, wall) => sum + wall);
    }),
  );
  add("the longest `VACUUM` of a table", "time", longest);
  return rows;
}

const bytesOf = async (query, schema, size) =>
  Number(
    (
      await query(
        `SELECT sum(${size}(oid)) AS bytes FROM pg_class WHERE relnamespace = '${schema}'::regnamespace AND relkind = 'r'
         AND relname ~ '^(checkpoint|payload|id)'`,
      )
    )[0].bytes,
  );
