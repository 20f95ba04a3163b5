// Tests the guides' code for Postgres: it compiles under strict, runs on a server, and prints what the page says.
import { mkdirSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { testPages } from "../../__test__/pages.js";
import { makeDatabase } from "./databases.js";

const postgresSaver = "node_modules/@langchain/langgraph-checkpoint-postgres";

/** PostgresSaver is installed beside this file. */
function addPostgresSaver(cwd: string): void {
  mkdirSync(dirname(join(cwd, postgresSaver)), { recursive: true });
  symlinkSync(fileURLToPath(new URL(postgresSaver, import.meta.url)), join(cwd, postgresSaver), "junction");
}

// LangGraph and the package are installed there.
testPages("postgres", new URL("../langgraph/", import.meta.url), {
  prepare: { "docs/migrate-postgres-saver.md": addPostgresSaver, "docs/langgraph-leave.md": addPostgresSaver },
  env: () => ({ DATABASE_URL: makeDatabase() }),
});

testPages("pglite", new URL(".", import.meta.url));
