// Tests the guides' code for MCP servers: it compiles under strict, runs in a new folder, and prints what the page says.
import { testPages } from "../../__test__/pages.js";

testPages("mcp", new URL(".", import.meta.url), { env: () => ({ PORT: "0" }) });
