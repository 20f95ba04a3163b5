// Tests the guides' code for Postgres: it compiles under strict, runs on a server, and prints what the page says.
import { testPages } from "../../__test__/pages.js";
import { makeDatabase } from "./databases.js";

// LangGraph and the package are installed there.
testPages("postgres", new URL("../langgraph/", import.meta.url), { env: () => ({ DATABASE_URL: makeDatabase() }) });

testPages("pglite", new URL(".", import.meta.url));
