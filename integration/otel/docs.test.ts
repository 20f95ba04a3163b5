// Tests the guide to observability: every `ts` block compiles under strict, runs unchanged in an empty folder, and prints
// what it says.
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { printedBy, problemsOf, runSnippet, snippetsOf, writeSnippets } from "../../__test__/snippets.js";

// The folder is inside this one, so that the snippets find OpenTelemetry and the package as in a user's project.
const folder = mkdtempSync(fileURLToPath(new URL("./.snippets-", import.meta.url)));
const elsewhere = mkdtempSync(join(tmpdir(), "forkpoint-docs-"));
const found = snippetsOf("docs/observability.md", folder);

beforeAll(() => writeSnippets(found));

afterAll(() => {
  for (const made of [folder, elsewhere]) rmSync(made, { recursive: true, force: true });
});

it("the guide has examples", () => {
  expect(found.length).toBeGreaterThanOrEqual(4);
});

it("they compile under strict", { timeout: 120_000 }, () => expect(problemsOf(found)).toEqual([]));

it.each(found)("runs, and prints what it says: $name", (snippet) => {
  const cwd = join(elsewhere, snippet.name.replaceAll(/\W+/g, "-"));
  mkdirSync(cwd);
  const { status, stdout, stderr } = runSnippet(snippet, cwd);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout.split("\n")).toEqual(expect.arrayContaining(printedBy(snippet)));
  expect(readdirSync(cwd)).toEqual(["agent.db"]);
  if (!snippet.code.includes("instrument()")) return;
  // The console exporters print spans and metrics.
  const [read, answer] = ["forkpoint.read", "answer"].map((name) => stdout.indexOf(`name: '${name}'`));
  expect(read).toBeGreaterThan(0);
  expect(answer).toBeGreaterThan(read!);
  expect(stdout).toContain("name: 'db.client.operation.duration'");
  const spanId = /name: 'answer',[^]*?\bid: '(\w+)'/.exec(stdout)![1];
  expect(/parentSpanContext: \{[^}]*spanId: '(\w+)'[^]*?name: 'forkpoint.read'/.exec(stdout)![1]).toBe(spanId);
});
