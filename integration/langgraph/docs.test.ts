// Tests the guides' code for LangGraph: it compiles under strict, runs in a new folder, and prints what the page says.
// @module-tag slow
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { testPages } from "../../__test__/pages.js";
import { isShort } from "./helpers.js";

const oldDatabase = fileURLToPath(new URL("fixtures/sqlite-saver.sqlite", import.meta.url));

testPages("langgraph", new URL(".", import.meta.url), {
  prepare: { "docs/migrate-sqlite-saver.md": (cwd) => copyFileSync(oldDatabase, join(cwd, "old.db")) },
  // What the other pages print depends on the store, not on LangGraph's version.
  runs: isShort ? ["README.md", "docs/langgraph.md"] : undefined,
});
