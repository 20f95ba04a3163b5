// Tests the guides' code for deepagents: it compiles under strict, runs in a new folder, and prints what the page says.
import { testPages } from "../../__test__/pages.js";

testPages("deepagents", new URL(".", import.meta.url));
