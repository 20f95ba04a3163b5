// `PostgresSaver` of @langchain/langgraph-checkpoint-postgres. The target is a database with a schema: "postgres://…?schema=s{n}".
import { readFileSync } from "node:fs";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { place } from "./schema.mjs";

export const name = "PostgresSaver";
export const { version } = JSON.parse(
  readFileSync(
    new URL("../node_modules/@langchain/langgraph-checkpoint-postgres/package.json", import.meta.url),
    "utf8",
  ),
);

export async function open({ target }) {
  const { url, schema } = place(target);
  const saver = PostgresSaver.fromConnString(url, { schema });
  await saver.setup();
  return saver;
}
export const close = (saver) => saver.end();
export { bytes, wipe } from "./schema.mjs";
