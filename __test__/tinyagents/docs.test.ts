// Tests the documents: every `ts` block that imports forkpoint/tinyagents compiles under strict, runs unchanged in an
// empty folder, and prints what it says.
import { type SpawnSyncReturns, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Checkpointer } from "forkpoint/tinyagents";
import ts from "typescript";
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from "vitest";
import { folder } from "../helpers.js";

const root = fileURLToPath(new URL("../..", import.meta.url));
// The folder is inside the package, so that the snippets find the package by its name.
const place = mkdtempSync(fileURLToPath(new URL("./.snippets-", import.meta.url)));

interface Snippet {
  name: string;
  code: string;
  /** The file without its extension. */
  file: string;
}

const documents = ["README.md", ...readdirSync(join(root, "docs")).map((file) => `docs/${file}`)];
function snippets(document: string): Snippet[] {
  const text = readFileSync(join(root, document), "utf8");
  return [...text.matchAll(/^( *)```ts\n([^]*?)^\1```/gm)].map(([, , code], index) => {
    const name = `${document} block ${index + 1}`;
    return { name, code: code!, file: join(place, name.replaceAll(/\W+/g, "-")) };
  });
}

const found = documents.flatMap(snippets).filter(({ code }) => code.includes('from "forkpoint/tinyagents"'));

function run({ file }: Snippet, cwd: string): SpawnSyncReturns<string> {
  // Clear the test runner's NODE_OPTIONS for the child.
  const env = { ...process.env, NODE_OPTIONS: "" };
  const script = `await import(${JSON.stringify(pathToFileURL(`${file}.mjs`).href)});`;
  return spawnSync(process.execPath, ["--input-type=module", "--eval", script], { cwd, encoding: "utf8", env });
}

beforeAll(() => {
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  for (const { code, file } of found) {
    writeFileSync(`${file}.mts`, code);
    writeFileSync(`${file}.mjs`, ts.transpileModule(code, { compilerOptions }).outputText);
  }
});

afterAll(() => rmSync(place, { recursive: true, force: true }));

it("the guide has examples, and all of its code is tested", () => {
  const ours = ({ name }: Snippet) => name.startsWith("docs/tinyagents.md");
  expect(found.filter(ours).length).toBeGreaterThanOrEqual(6);
  expect(snippets("docs/tinyagents.md").length).toBe(found.filter(ours).length);
});

it("they compile under strict", { timeout: 120_000 }, () => {
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    module: ts.ModuleKind.NodeNext,
    target: ts.ScriptTarget.ES2022,
    lib: ["lib.es2022.d.ts", "lib.esnext.disposable.d.ts"],
    types: ["node"],
    typeRoots: [join(root, "node_modules/@types")],
    skipLibCheck: true,
  };
  const files = found.map(({ file }) => `${file}.mts`);
  const problems = ts.getPreEmitDiagnostics(ts.createProgram(files, options)).map((problem) => {
    const text = ts.flattenDiagnosticMessageText(problem.messageText, "\n");
    return `${problem.file?.fileName.split("/").at(-1)}: ${text}`;
  });
  expect(problems).toEqual([]);
});

it.each(found)("runs, and prints what it says: $name", (snippet) => {
  const cwd = folder();
  const { status, stdout, stderr } = run(snippet, cwd);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  for (const [, line] of snippet.code.matchAll(/\/\/ prints (.*)$/gm)) expect(stdout.split("\n")).toContain(line);
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
    const { status, stdout } = run(first, cwd);
    expect({ status, stdout }).toEqual({ status: 0, stdout: output });
  }
});
