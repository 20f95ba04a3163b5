// Tests the guides' code for the Claude Agent SDK: it compiles under strict, runs in a new folder, and prints what the page says. A
// program in the place of `claude` answers.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { testPages } from "../../__test__/pages.js";

const configuration = mkdtempSync(join(tmpdir(), "forkpoint-test-"));
afterAll(() => rmSync(configuration, { recursive: true, force: true }));
const standIn = new URL("fixtures/stand-in.mjs", import.meta.url).href;

testPages("claude-agent-sdk", new URL(".", import.meta.url), {
  env() {
    const CLAUDE_CONFIG_DIR = mkdtempSync(join(configuration, "config-"));
    mkdirSync(CLAUDE_CONFIG_DIR, { recursive: true });
    // The package is linked here, and finds the SDK beside the link.
    const NODE_OPTIONS = `--preserve-symlinks --import ${standIn}`;
    return { CLAUDE_CONFIG_DIR, NODE_OPTIONS, ANTHROPIC_API_KEY: "x", AGENT_SPEAKS: "1" };
  },
});
