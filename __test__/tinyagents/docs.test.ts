// Tests the documents: every `ts` block that imports forkpoint/tinyagents compiles under strict, runs unchanged in an
// empty folder, and prints what it says.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Checkpointer } from "forkpoint/tinyagents";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { folder } from "../helpers.js";
import { type Snippet, documents, printedBy, problemsOf, runSnippet, snippetsOf, writeSnippets } from "../snippets.js";

// The folder is inside the package, so that the snippets find the package by its name.
const place = mkdtempSync(fileURLToPath(new URL("./.snippets-", import.meta.url)));

const found = documents
  .flatMap((document) => snippetsOf(document, place))
  .filter(({ code }) => code.includes('from "forkpoint/tinyagents"'));

beforeAll(() => writeSnippets(found));

afterAll(() => rmSync(place, { recursive: true, force: true }));

it("the guide has examples, and all of its code is tested", () => {
  const ours = ({ name }: Snippet) => name.startsWith("docs/tinyagents.md");
  expect(found.filter(ours).length).toBeGreaterThanOrEqual(6);
  expect(snippetsOf("docs/tinyagents.md", place).length).toBe(found.filter(ours).length);
});

it("they compile under strict", { timeout: 120_000 }, () => expect(problemsOf(found)).toEqual([]));

it.each(found)("runs, and prints what it says: $name", (snippet) => {
  const cwd = folder();
  const { status, stdout, stderr } = runSnippet(snippet, cwd);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout.split("\n")).toEqual(expect.arrayContaining(printedBy(snippet)));
  expect(readdirSync(cwd).filter((made) => made.endsWith(".db"))).toEqual(["agent.db"]);
});

it("the first program of the guide is killed where it says so, and goes on when it is started again", async () => {
  const first = found.find(({ name }) => name === "docs/tinyagents.md block 1")!;
  const cwd = folder();
  const child = spawn(process.execPath, [`${first.file}.mjs`], { cwd, stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  const lines: string[] = [];
  const checkpointer = new Checkpointer(join(cwd, "agent.db"));
  onTestFinished(() => checkpointer.close());
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    if (line !== "reads moons") continue;
    // Wait until the result of the other task is recorded.
    await vi.waitFor(async () => expect(await checkpointer.getWrites({ threadId: "report-1" })).not.toEqual([]));
    child.kill("SIGKILL");
  }
  expect(await closed).toEqual([null, "SIGKILL"]);
  expect(lines).toEqual(["reads tides", "reads moons"]);

  for (const output of ["reads moons\ntides rise, moons set\n", "tides rise, moons set\n"]) {
    const { status, stdout } = runSnippet(first, cwd);
    expect({ status, stdout }).toEqual({ status: 0, stdout: output });
  }
});
