/** `postgresSchema`: the SQL that creates the tables. */

import { postgresSql } from "../bridge/native.js";
import { readRecord, text } from "./options.js";

/** The names of the tables on a Postgres server. */
export interface PostgresSchemaOptions {
  /** The schema of the tables. Default: `"forkpoint"`. */
  schema?: string;
  /** The prefix of the tables' names. Default: empty. */
  prefix?: string;
}

/**
 * Returns the SQL statements that create the tables of a store on a Postgres server.
 *
 * A store creates its tables when it opens. Use this function if the store's role may not create tables: run the
 * statements with another role, and open the store with `migrate: "never"`.
 *
 * @example
 * ```ts
 * import { postgresSchema } from "forkpoint";
 *
 * console.log(postgresSchema({ schema: "agents" }));
 * ```
 *
 * @throws {ForkpointError} `INVALID_ARGUMENT` if a name is not valid.
 */
export function postgresSchema(options?: PostgresSchemaOptions): string {
  const { schema, prefix } = readRecord(options, "options", { schema: text, prefix: text });
  return postgresSql(schema, prefix);
}
