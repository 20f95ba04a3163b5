// Tests the documents: every `ts` block of the README and the guides compiles under strict and runs unchanged in an
// empty folder.
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { documents, problemsOf, runSnippet, snippetsOf, writeSnippets } from "../../__test__/snippets.js";

// The folder is inside this one, so that the snippets resolve the framework and the package as in a user's project.
const folder = mkdtempSync(fileURLToPath(new URL("./.snippets-", import.meta.url)));
const elsewhere = mkdtempSync(join(tmpdir(), "forkpoint-docs-"));

// LangGraph's snippets run in integration/langgraph/docs.test.ts, where LangGraph is installed, and so do those of the
// guides to tests and to encryption. Those of the guide to Postgres run in integration/postgres/docs.test.ts, those of the
// guide to observability in integration/otel/docs.test.ts, and those of the guide to the studio, which serve until they are
// ended, in __test__/studio/docs.test.ts. Helix' and TinyAgents' snippets run in __test__/helix/docs.test.ts and
// __test__/tinyagents/docs.test.ts.
const elsewhereRun = /from "(@langchain\/|forkpoint\/(langgraph|helix|tinyagents)")/;
const others = new Set(
  ["testing", "encryption", "observability", "postgres", "studio"].map((name) => `docs/${name}.md`),
);
const found = documents
  .filter((document) => !others.has(document))
  .flatMap((document) => snippetsOf(document, folder))
  .filter(({ code }) => !elsewhereRun.test(code));

beforeAll(() => writeSnippets(found));

afterAll(() => {
  for (const made of [folder, elsewhere]) rmSync(made, { recursive: true, force: true });
});

describe("the documents' code", () => {
  it("is there", () => {
    expect(found.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["README.md block 1", "docs/agentos.md block 1", "docs/agentium.md block 1"]),
    );
  });

  it("begins with an example of at most 12 lines of code", () => {
    const lines = found[0]!.code
      .trim()
      .split("\n")
      .filter((line) => line.trim() !== "");
    expect(lines.length).toBeLessThanOrEqual(12);
  });

  it("compiles under strict", { timeout: 120_000 }, () => expect(problemsOf(found)).toEqual([]));

  it.each(found)("runs: $name", { timeout: 60_000 }, (snippet) => {
    const cwd = join(elsewhere, snippet.name.replaceAll(/\W+/g, "-"));
    mkdirSync(cwd);
    const { status, stderr } = runSnippet(snippet, cwd);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    // The snippet stores something: in a database, or in a folder of text files.
    const made = readdirSync(cwd).filter((name) => /^(agent\.db|runs)$/.test(name));
    expect(made).toEqual([snippet.code.includes("jsonl:runs") ? "runs" : "agent.db"]);
  });
});
