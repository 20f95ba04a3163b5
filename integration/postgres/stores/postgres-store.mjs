// `PostgresStore` of @langchain/langgraph-checkpoint-postgres. The target is a database with a schema: "postgres://…?schema=s{n}".
import { readFileSync } from "node:fs";
import { PostgresStore } from "@langchain/langgraph-checkpoint-postgres/store";
import { place } from "./schema.mjs";

export const name = "PostgresStore";
export const { version } = JSON.parse(
  readFileSync(
    new URL("../node_modules/@langchain/langgraph-checkpoint-postgres/package.json", import.meta.url),
    "utf8",
  ),
);

export async function open({ target }) {
  const { url, schema } = place(target);
  const store = PostgresStore.fromConnString(url, { schema });
  await store.setup();
  return store;
}
export const close = (store) => store.stop();
export { bytes, wipe } from "./schema.mjs";
