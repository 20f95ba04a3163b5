/** `postgresSchema`: the SQL that makes the tables. */

import type { PostgresSchemaOptions, postgresSchema as postgresSchemaContract } from "../../postgres.js";
import { postgresSql } from "../bridge/native.js";
import { readRecord, text } from "./options.js";

export const postgresSchema: typeof postgresSchemaContract = (options) => {
  const known = { schema: text, prefix: text };
  const { schema, prefix } = readRecord(options, "options", known) as PostgresSchemaOptions;
  return postgresSql(schema, prefix);
};
