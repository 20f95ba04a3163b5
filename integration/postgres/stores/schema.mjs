// A schema of a database as the place of a store: "postgres://…?schema=s{n}".
import pg from "pg";

/** Returns the address of the database, and the schema. */
export function place(target) {
  const url = new URL(target);
  const schema = url.searchParams.get("schema") ?? "public";
  url.searchParams.delete("schema");
  return { url: url.href, schema };
}

/** Runs SQL on the target's database. */
async function query(target, sql) {
  const { url, schema } = place(target);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql(schema))).rows;
  } finally {
    await client.end();
  }
}

export const wipe = ({ target }) => query(target, (schema) => `DROP SCHEMA IF EXISTS "${schema}" CASCADE`);

/** Of the tables and their indexes. */
export async function bytes({ target }) {
  const sql = (schema) =>
    `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) AS bytes FROM pg_class c
     JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = '${schema}' AND c.relkind = 'r'`;
  return Number((await query(target, sql))[0].bytes);
}
