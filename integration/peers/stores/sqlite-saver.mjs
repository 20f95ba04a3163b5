// `SqliteSaver` of @langchain/langgraph-checkpoint-sqlite.
import { readFileSync } from "node:fs";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";

export const name = "SqliteSaver";
export const { version } = JSON.parse(
  readFileSync(new URL("../node_modules/@langchain/langgraph-checkpoint-sqlite/package.json", import.meta.url), "utf8"),
);
export const open = ({ target }) => SqliteSaver.fromConnString(target);
export const close = (saver) => saver.db.close();
