// The `ts` blocks of the README and the guides, as programs that compile and run.
import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));

/** A `ts` block of a document. */
export interface Snippet {
  name: string;
  code: string;
  /** The path of the block's files, without an extension. */
  file: string;
  /** The path under which other blocks import this one. A first line such as `// keyring.mts` sets it. */
  alias: string | undefined;
}

/** The README and the guides. */
export const documents = [
  "README.md",
  ...readdirSync(join(root, "docs"))
    .filter((file) => file.endsWith(".md"))
    .map((file) => `docs/${file}`),
];

/** Returns the blocks of a document. Their files go into `folder`, from which they find what they import. */
export function snippetsOf(document: string, folder: string): Snippet[] {
  const text = readFileSync(join(root, document), "utf8");
  return [...text.matchAll(/^( *)```ts\n([^]*?)^\1```/gm)].map(([, , code], index) => {
    const name = `${document} block ${index + 1}`;
    const alias = /^\/\/ ([\w-]+)\.mts\n/.exec(code!)?.[1];
    const file = join(folder, name.replaceAll(/\W+/g, "-"));
    return { name, code: code!, file, alias: alias && join(folder, alias) };
  });
}

/** Writes each block as TypeScript and as JavaScript. */
export function writeSnippets(snippets: readonly Snippet[]): void {
  const compilerOptions = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
  for (const { code, file, alias } of snippets) {
    for (const path of alias === undefined ? [file] : [file, alias]) {
      writeFileSync(`${path}.mts`, code);
      writeFileSync(`${path}.mjs`, ts.transpileModule(code, { compilerOptions }).outputText);
    }
  }
}

/** Compiles the written blocks under strict, and returns the compiler's problems. */
export function problemsOf(snippets: readonly Snippet[]): string[] {
  const flags = "--strict --noEmit --skipLibCheck --ignoreConfig --pretty false --module nodenext --target es2022";
  const options = [...flags.split(" "), "--lib", "es2022,esnext.disposable", "--types", "node"];
  const files = snippets.map(({ file }) => `${file}.mts`);
  const typeRoots = ["--typeRoots", join(root, "node_modules/@types")];
  const compiler = [join(root, "node_modules/tsc/bin/tsc"), ...options, ...typeRoots, ...files];
  const { status, stdout, stderr } = spawnSync(process.execPath, compiler, { encoding: "utf8" });
  return status === 0 ? [] : [stdout, stderr];
}

/** Runs a written block in a folder, for up to `timeout` ms. `prelude` defines what the block only declares. */
export function runSnippet({ file }: Snippet, cwd: string, prelude = "", timeout = 55_000): SpawnSyncReturns<string> {
  const script = `${prelude}\nawait import(${JSON.stringify(pathToFileURL(`${file}.mjs`).href)});`;
  // Clear the test runner's NODE_OPTIONS for the child.
  const env = { ...process.env, NODE_OPTIONS: "" };
  // A program that does not end fails, instead of holding up the tests. Nothing else can end the call.
  const options = { cwd, encoding: "utf8", env, timeout, killSignal: "SIGKILL" } as const;
  return spawnSync(process.execPath, ["--input-type=module", "--eval", script], options);
}

/** Returns the lines that a block says it prints. */
export function printedBy({ code }: Snippet): string[] {
  return [...code.matchAll(/\/\/ prints (.*)$/gm)].map(([, line]) => line!);
}
