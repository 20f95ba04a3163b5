// Tests the guide to observability: every `ts` block compiles under strict, runs unchanged in an empty folder, and prints
// what it says.
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
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

/** Those with console exporters, which print spans and metrics. */
const exporting = found.filter(({ code }) => code.includes("instrument()"));

it("the guide has examples", () => {
  expect(found.length).toBeGreaterThanOrEqual(4);
  expect(exporting.length).toBeGreaterThan(0);
});

it("they compile under strict", { timeout: 120_000 }, () => expect(problemsOf(found)).toEqual([]));

/** Runs a snippet in an empty folder. Returns what it has printed. */
function run(snippet: (typeof found)[number]): string {
  const cwd = mkdtempSync(join(elsewhere, "run-"));
  const { status, stdout, stderr } = runSnippet(snippet, cwd);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(readdirSync(cwd)).toEqual(["agent.db"]);
  return stdout;
}

it.each(found)("runs, and prints what it says: $name", (snippet) => {
  expect(run(snippet).split("\n")).toEqual(expect.arrayContaining(printedBy(snippet)));
});

it.each(exporting)("prints spans and metrics: $name", (snippet) => {
  const stdout = run(snippet);
  const [read, answer] = ["forkpoint.read", "answer"].map((name) => stdout.indexOf(`name: '${name}'`));
  expect(read).toBeGreaterThan(0);
  expect(answer).toBeGreaterThan(read!);
  expect(stdout).toContain("name: 'db.client.operation.duration'");
  const spanId = /name: 'answer',[^]*?\bid: '(\w+)'/.exec(stdout)![1];
  expect(/parentSpanContext: \{[^}]*spanId: '(\w+)'[^]*?name: 'forkpoint.read'/.exec(stdout)![1]).toBe(spanId);
});
