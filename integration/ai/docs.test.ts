// Tests the guides' code for the AI SDK: it compiles under strict, runs in a new folder, and prints what the page says. A model that
// follows a few rules answers.
import { testPages } from "../../__test__/pages.js";

const standIn = new URL("fixtures/stand-in.mjs", import.meta.url).href;

testPages("ai", new URL(".", import.meta.url), {
  // The package is linked here, and finds the SDK beside the link.
  env: () => ({ NODE_OPTIONS: `--preserve-symlinks --import ${standIn}`, PORT: "0" }),
});
