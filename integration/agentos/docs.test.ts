// Tests the documents: every `ts` block of the README and the guides compiles under strict and runs unchanged in an
// empty folder.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
// The folder is inside this one, so that the snippets resolve the framework and the package as in a user's project.
const folder = mkdtempSync(fileURLToPath(new URL("./.snippets-", import.meta.url)));
const elsewhere = mkdtempSync(join(tmpdir(), "forkpoint-docs-"));

interface Snippet {
  name: string;
  code: string;
  file: string;
}

function snippets(): Snippet[] {
  const documents = ["README.md", ...readdirSync(join(root, "docs")).map((file) => `docs/${file}`)];
  return documents.flatMap((document) => {
    const text = readFileSync(join(root, document), "utf8");
    return [...text.matchAll(/^( *)```ts\n([^]*?)^\1```/gm)].map(([, , code], index) => {
      const name = `${document} block ${index + 1}`;
      return { name, code: code!, file: `${name.replaceAll(/\W+/g, "-")}.mts` };
    });
  });
}

// LangGraph's snippets run in integration/langgraph/docs.test.ts, where LangGraph is installed. Helix' snippets run in
// __test__/helix/docs.test.ts.
const found = snippets().filter(({ code }) => !/from "(@langchain\/|forkpoint\/(langgraph|helix)")/.test(code));

beforeAll(() => {
  for (const { code, file } of found) writeFileSync(join(folder, file), code);
});

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

  it("compiles under strict", { timeout: 120_000 }, () => {
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
    const program = ts.createProgram(
      found.map(({ file }) => join(folder, file)),
      options,
    );
    const problems = ts.getPreEmitDiagnostics(program).map((problem) => {
      const text = ts.flattenDiagnosticMessageText(problem.messageText, "\n");
      return `${problem.file?.fileName.split("/").at(-1)}: ${text}`;
    });
    expect(problems).toEqual([]);
  });

  it.each(found)("runs: $name", { timeout: 60_000 }, ({ code, file }) => {
    const script = join(folder, file.replace(/\.mts$/, ".mjs"));
    const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
    writeFileSync(script, ts.transpileModule(code, { compilerOptions }).outputText);
    const cwd = join(elsewhere, file);
    mkdirSync(cwd);
    const { status, stderr } = spawnSync(process.execPath, [script], { cwd, encoding: "utf8" });
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    // The snippet stores something: in a database, or in a folder of text files.
    const made = readdirSync(cwd).filter((name) => name.endsWith(".db") || name === "runs");
    expect(made).toEqual([code.includes("jsonl:runs") ? "runs" : "agent.db"]);
  });
});
