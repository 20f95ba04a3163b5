// Tests the documents: every `ts` block of the guides to LangGraph, to tests and to encryption, and those of the README
// about LangGraph, compiles under strict and runs unchanged in its own folder.
// @module-tag slow
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Snippet, printedBy, problemsOf, runSnippet, snippetsOf, writeSnippets } from "../../__test__/snippets.js";
import { all, open, temporary, thread } from "./helpers.js";

const oldDatabase = fileURLToPath(new URL("fixtures/sqlite-saver.sqlite", import.meta.url));
// The folder is here so that snippets find LangGraph and the package as in a user's project.
const folder = mkdtempSync(fileURLToPath(new URL("./.snippets-", import.meta.url)));
const { path: elsewhere, remove } = temporary();

const guide = snippetsOf("docs/langgraph.md", folder);
// The second block is the test of the first one. A test below runs it.
const [trip, tripTest, ...testing] = snippetsOf("docs/testing.md", folder) as [Snippet, Snippet, ...Snippet[]];
// The first block is a module that the others import.
const [keyring, ...encryption] = snippetsOf("docs/encryption.md", folder) as [Snippet, ...Snippet[]];
const found = [
  ...guide,
  trip,
  ...testing,
  ...encryption,
  ...snippetsOf("docs/leases.md", folder).filter(({ code }) => code.includes('"forkpoint/langgraph"')),
  ...snippetsOf("README.md", folder).filter(({ code }) => /"@langchain\/|"forkpoint\/langgraph"/.test(code)),
];

/** Makes a folder that holds only the files that a snippet may expect. */
function place(name: string): string {
  const cwd = join(elsewhere, name.replaceAll(/\W+/g, "-"));
  mkdirSync(cwd);
  copyFileSync(oldDatabase, join(cwd, "old.db"));
  return cwd;
}

beforeAll(() => writeSnippets([...found, tripTest, keyring]));

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
  remove();
});

describe("the guide's code", () => {
  it("is there", () => {
    expect(guide.length).toBeGreaterThanOrEqual(6);
  });

  it("compiles under strict", { timeout: 120_000 }, () =>
    expect(problemsOf([...found, tripTest, keyring])).toEqual([]),
  );

  it.each(found)("runs, and prints what it says: $name", { timeout: 60_000 }, (snippet) => {
    const cwd = place(snippet.name);
    const { status, stdout, stderr } = runSnippet(snippet, cwd);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(stdout.split("\n")).toEqual(expect.arrayContaining(printedBy(snippet)));
    expect(
      readdirSync(cwd)
        .filter((made) => made.endsWith(".db"))
        .toSorted(),
    ).toEqual(["agent.db", "old.db"]);
    expect(readFileSync(join(cwd, "old.db")).equals(readFileSync(oldDatabase))).toBe(true);
  });
});

it("its first program is killed where it says so, and goes on when it is started again", async () => {
  const first = guide[0]!;
  const cwd = place("killed");
  const child = spawn(process.execPath, [`${first.file}.mjs`], { cwd, stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  await once(child.stdout, "data");
  child.kill("SIGKILL");
  expect(await closed).toEqual([null, "SIGKILL"]);

  const { status, stdout } = runSnippet(first, cwd);
  expect(status).toBe(0);
  // A run from the start would count four notes.
  expect(stdout).toBe("writing\na summary of 2 notes\n");
  expect(await all(open(join(cwd, "agent.db")).list(thread("trip-1")))).toHaveLength(4);
});

it("what it does with threads, it does with threads that are there", async () => {
  const [first, threads] = [guide[0]!, guide.find(({ code }) => code.includes("copyThread"))!];
  const cwd = place("threads");
  for (let turn = 0; turn < 4; turn++) expect(runSnippet(first, cwd).status).toBe(0);
  const { status, stdout } = runSnippet(threads, cwd);
  expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/^26 checkpoints in .* in trip-1/) });
  const saver = open(join(cwd, "agent.db"));
  const counts = (await saver.listThreads()).threads.map(({ threadId, checkpoints }) => [threadId, checkpoints]);
  expect(counts).toEqual([
    ["trip-1, as it was", 16],
    ["trip-1", 10],
  ]);
});

it("what it imports goes on", async () => {
  const importing = guide.find(({ code }) => code.includes("importSqliteSaver"))!;
  const cwd = place("importing");
  expect(runSnippet(importing, cwd).status).toBe(0);
  const saver = open(join(cwd, "agent.db"));
  expect((await saver.getTuple(thread("waiting")))!.pendingWrites!.length).toBeGreaterThan(0);
});

describe("the guide to tests", () => {
  const runTest = () => {
    // Each kill starts a program, so a busy machine takes long.
    const { status, stdout } = runSnippet(tripTest, place(`trip ${randomUUID()}`), "", 150_000);
    return { status, stdout };
  };

  it("has a test that passes, and that fails if a call is repeated", { timeout: 300_000 }, () => {
    expect(runTest()).toEqual({ status: 0, stdout: expect.stringContaining("# pass 1") });
    // A program that begins anew in every process.
    const careless = readFileSync(join(folder, "trip.mjs"), "utf8").replace(
      "(await graph.getState(config)).metadata === undefined",
      "true",
    );
    writeFileSync(join(folder, "trip.mjs"), careless);
    expect(runTest()).toEqual({
      status: 1,
      stdout: expect.stringMatching(/Killed after call \d of put\(\), putWrites\(\)/),
    });
  });
});
