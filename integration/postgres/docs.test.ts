// Tests the guide to Postgres: every `ts` block compiles under strict and runs unchanged on a server.
import { mkdtempSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { postgresSchema } from "forkpoint";
import { afterAll, beforeAll, expect, it } from "vitest";
import { problemsOf, runSnippet, snippetsOf, writeSnippets } from "../../__test__/snippets.js";
import { makeDatabase } from "./databases.js";

// The folder is where the package is installed, so that the snippets find it by its name.
const folder = mkdtempSync(fileURLToPath(new URL("../langgraph/.snippets-", import.meta.url)));
const found = snippetsOf("docs/postgres.md", folder);

beforeAll(() => writeSnippets(found));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("compiles under strict", { timeout: 120_000 }, () => expect(problemsOf(found)).toEqual([]));

it.each(found)("runs: $name", (snippet) => {
  process.env["DATABASE_URL"] = makeDatabase();
  const { status, stdout, stderr } = runSnippet(snippet, folder);
  expect({ status, stderr: stderr.replace(/^.*(NOT_DURABLE|--trace-warnings).*\n/gm, "") }).toEqual({
    status: 0,
    stderr: "",
  });
  expect(stdout.trimEnd()).toBe(snippet.code.includes("postgresSchema") ? postgresSchema().trimEnd() : "0 checkpoints");
});
