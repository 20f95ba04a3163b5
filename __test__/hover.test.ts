// Tests what an editor shows for a name of the package: each public class, method and function has an `@example`, and
// each example compiles under strict.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url)).replaceAll("\\", "/");
const langgraph = `${root}integration/langgraph/node_modules/@langchain/langgraph-checkpoint/dist/index.d.ts`;

/** Declares the variables that the examples of a file use. The exports of the file's entry point are imported. */
const preambles: Record<string, string> = {
  "index.d.ts": `
    import { WorkflowCheckpointStore } from "forkpoint/agentium";
    declare const store: Store;`,
  "copy.d.ts": "",
  "inspect.d.ts": "",
  "inspect-values.d.ts": `
    import { createReadStream } from "node:fs";
    declare const run: string;`,
  "errors.d.ts": `
    declare const store: Store;
    declare const error: unknown;`,
  "agentos.d.ts": `
    declare const lease: import("forkpoint").Lease;
    declare const store: CheckpointStore;
    declare const checkpoint: Checkpoint;
    declare const graphId: string;
    declare const builder: { compile(options: { checkpointStore: ICheckpointStore }): unknown };`,
  "agentos-recovery.d.ts": `
    declare const graph: RecoverableGraph;
    declare const store: CheckpointStore;
    declare const answers: Map<string, { approved: boolean }>;`,
  "langgraph-recovery.d.ts": `
    declare const graph: RecoverableThreads;
    declare const saver: ForkpointSaver;
    declare const answers: Map<string, unknown>;`,
  "leases.d.ts": `
    declare const store: CheckpointStore;
    declare const checkpoint: Checkpoint;
    declare const lease: Lease;`,
  "recovery.d.ts": `
    declare const graph: RecoverableGraph;
    declare const store: CheckpointStore;`,
  "agentium.d.ts": `
    declare const workflow: Workflow<{ n: number }>;
    declare const listener: () => void;
    declare const drain: DrainController;
    declare const error: unknown;`,
  "agentium-events.d.ts": `
    declare const workflow: Workflow<{ n: number }>;
    declare const eventBus: EventBus;
    declare const listener: () => void;`,
  "agentium-stores.d.ts": `
    declare const lease: import("forkpoint").Lease;
    type State = { n: number };
    declare const store: ForkpointWorkflowStore<State>;
    declare const checkpoint: WorkflowCheckpoint<State>;
    declare const name: string;
    declare const initialState: State;
    declare const steps: Array<StepDef<State>>;`,
  "agentium-storage.d.ts": `
    type State = { n: number };
    declare const store: StorageBackedCheckpointStore<State>;
    declare const checkpoint: WorkflowCheckpoint<State>;
    declare const driver: StorageDriver;`,
  "helix.d.ts": "",
  "helix-store.d.ts": `
    declare const lease: import("forkpoint").Lease;
    declare const store: SessionStore<{ topic: string }>;
    declare const state: AgentState<{ topic: string }>;
    declare const checkpointId: string;
    declare const runId: string;
    declare const listener: () => void;`,
  "tinyagents.d.ts": `
    declare const lease: import("forkpoint").Lease;
    declare const checkpointer: Checkpointer<{ topic: string }>;
    declare const config: CheckpointConfig;`,
  "tinyagents-graph.d.ts": `
    import { END, START } from "forkpoint/tinyagents";
    declare const graph: Graph<{ n: number }>;
    declare const checkpointId: string;`,
  "tinyagents-nodes.d.ts": "declare const state: { urls: string[] };",
  "testing.d.ts": `
    import { CheckpointStore } from "forkpoint";
    declare const error: unknown;`,
  "langgraph.d.ts": `
    import type * as base from "@langchain/langgraph-checkpoint";
    declare const lease: import("forkpoint").Lease;
    declare const saver: ForkpointSaver;
    declare const postgresSaver: base.BaseCheckpointSaver;
    declare const config: Parameters<ForkpointSaver["getTuple"]>[0];
    declare const checkpoint: base.Checkpoint;
    declare const metadata: base.CheckpointMetadata;
    declare const builder: { compile(options: { checkpointer: base.BaseCheckpointSaver }): { name: string } };`,
};

/** An example of a declaration file. */
interface Example {
  /** The file and the line of the example's tag. */
  place: string;
  /** The declaration file. */
  file: string;
  code: string;
}

/** What an entry point of the package exports, with the exports of the other declaration files that it exports. */
interface Entry {
  /** The name in an import of the entry point. */
  specifier: string;
  /** The exported names. */
  names: string[];
  /** The classes, methods and functions that have no example: file, line and name. */
  missing: string[];
  examples: Example[];
}

const { name: packageName, exports: entryPoints } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));

/** The declaration files of the entry points. */
const entryFiles = new Set(Object.values<{ types?: string }>(entryPoints).map(({ types }) => types?.slice(2)));

/** Returns the entry points of package.json that have types. */
function entries(): Entry[] {
  return Object.entries<{ types?: string }>(entryPoints).flatMap(([path, { types }]) => {
    if (types === undefined) return [];
    const declarations = exportsOf(types.slice(2));
    return {
      specifier: `${packageName}${path.slice(1)}`,
      names: declarations.map((node) => node.name!.text),
      missing: missing(declarations),
      examples: declarations.flatMap(examplesOf),
    };
  });
}

type Declaration = ts.ClassDeclaration | ts.FunctionDeclaration | ts.InterfaceDeclaration | ts.TypeAliasDeclaration;

/** Returns the declarations that a declaration file exports, including those of the other files that it exports. */
function exportsOf(file: string): Declaration[] {
  const source = ts.createSourceFile(file, readFileSync(root + file, "utf8"), ts.ScriptTarget.Latest, true);
  return source.statements.flatMap((node) => {
    if (ts.isExportDeclaration(node)) {
      const from = /^"\.\/(.*)\.js"$/.exec(node.moduleSpecifier?.getText() ?? "");
      if (from === null) return [];
      const clause = node.exportClause;
      // What another entry point exports too has its examples there.
      if (clause !== undefined && entryFiles.has(`${from[1]}.d.ts`)) return [];
      const names = clause && ts.isNamedExports(clause) && new Set(clause.elements.map(({ name }) => name.text));
      return exportsOf(`${from[1]}.d.ts`).filter((each) => !names || names.has(each.name!.text));
    }
    const declares =
      ts.isClassDeclaration(node) ||
      ts.isFunctionDeclaration(node) ||
      ts.isInterfaceDeclaration(node) ||
      ts.isTypeAliasDeclaration(node);
    return declares && ts.getCombinedModifierFlags(node) & ts.ModifierFlags.Export ? [node] : [];
  });
}

const tagsOf = (node: ts.Node) => ts.getJSDocTags(node).filter(({ tagName }) => tagName.text === "example");

function placeOf(node: ts.Node): string {
  const source = node.getSourceFile();
  return `${source.fileName}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
}

/** Returns the names that must have an example but have none. The declarations of an overloaded name share one. */
function missing(declarations: Declaration[]): string[] {
  const named = new Map<string, ts.Node[]>();
  const add = (name: string, node: ts.Node) => named.set(name, [...(named.get(name) ?? []), node]);
  for (const node of declarations) {
    const name = node.name!.text;
    if (ts.isClassDeclaration(node) || ts.isFunctionDeclaration(node)) add(name, node);
    if (!ts.isClassDeclaration(node)) continue;
    const hidden = ts.ModifierFlags.Private | ts.ModifierFlags.Protected;
    for (const member of node.members.filter(ts.isMethodDeclaration)) {
      if (!(ts.getCombinedModifierFlags(member) & hidden)) add(`${name}.${member.name.getText()}`, member);
    }
  }
  return [...named]
    .filter(([, nodes]) => nodes.every((node) => tagsOf(node).length === 0))
    .map(([name, nodes]) => `${placeOf(nodes[0]!)} ${name}`);
}

/** Returns the examples of a declaration and of its members. */
function examplesOf(node: Declaration): Example[] {
  const members = ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node) ? [...node.members] : [];
  return [node, ...members].flatMap(tagsOf).map((tag) => {
    // The code is the rest of the tag's line, or a fenced block.
    const text = tag.getText().replaceAll(/^ *\*(\/| ?)/gm, "");
    const code = /^@example\s*```ts\n([^]*?)^```/m.exec(text)?.[1] ?? text.replace("@example", "").trim();
    return { place: placeOf(tag), file: tag.getSourceFile().fileName, code };
  });
}

/**
 * Puts an example into a function of its own, below the preamble of its file, so that the example can declare a variable
 * of the preamble again. A function cannot contain an import declaration, so `import()` replaces it.
 */
function moduleOf({ file, code }: Example, { specifier, names }: Entry): string {
  const body = code.replaceAll(/^import \{(.*)\} from (".*");$/gm, "const {$1} = await import($2);");
  const imports = `import { ${names.join(", ")} } from "${specifier}";`;
  return `${imports}\n${preambles[file] ?? ""}\nexport async function example(): Promise<void> {\n${body}\n}\n`;
}

/** The options of `__test__/tsconfig.json`. They also resolve the package's name to its declaration files. */
function compilerOptions(): ts.CompilerOptions {
  const { config } = ts.readConfigFile(`${root}__test__/tsconfig.json`, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, `${root}__test__`);
  return {
    ...options,
    // An example may declare variables that it does not use, and a module imports all names, types included.
    noUnusedLocals: false,
    noUnusedParameters: false,
    verbatimModuleSyntax: false,
    skipLibCheck: true,
  };
}

/** Compiles modules that exist only in memory, all in one program. Returns the errors, each with its module's name. */
function compile(modules: Map<string, string>): string[] {
  const options = compilerOptions();
  // No name may contain ".d.", because the compiler would take the file for a declaration file and not check it.
  const files = [...modules.keys()].map((place) => `${root}__test__/${place.replaceAll(/\W/g, "-")}.ts`);
  // Use LangGraph's own declarations where it is installed, and otherwise those that the package is built with.
  if (existsSync(langgraph)) options.paths = { ...options.paths, "@langchain/langgraph-checkpoint": [langgraph] };
  else files.push(`${root}ts/peers.d.ts`);
  const host = ts.createCompilerHost(options);
  const codes = new Map([...modules.values()].map((code, at) => [files[at]!, code]));
  const { getSourceFile } = host;
  host.getSourceFile = (path, version, ...others) => {
    const code = codes.get(path);
    return code === undefined ? getSourceFile(path, version, ...others) : ts.createSourceFile(path, code, version);
  };
  const names = new Map([...modules.keys()].map((place, at) => [files[at]!, place]));
  return ts.getPreEmitDiagnostics(ts.createProgram(files, options, host)).map(({ file, messageText }) => {
    const text = ts.flattenDiagnosticMessageText(messageText, "\n");
    return `${names.get(file?.fileName ?? "") ?? file?.fileName}: ${text}`;
  });
}

describe("the doc comments that an editor shows", () => {
  const found = entries();

  it("are found in every declaration file", () => {
    const files = new Set(found.flatMap(({ examples }) => examples.map(({ file }) => file)));
    expect([...files].toSorted()).toEqual(readdirSync(root).filter((file) => file.endsWith(".d.ts")));
  });

  it("have an example for each public class, method and function", () => {
    // `forkpoint` also exports what `forkpoint/agentos` exports.
    expect([...new Set(found.flatMap((entry) => entry.missing))]).toEqual([]);
  });

  it("have examples that compile under strict", { timeout: 120_000 }, () => {
    const modules = found.flatMap((entry) =>
      entry.examples.map((example) => [example.place, moduleOf(example, entry)] as const),
    );
    // The last module proves that the compiler checks types.
    const wrong: [string, string] = ["wrong on purpose", 'export const wrong: number = "text";'];
    expect(compile(new Map([...modules, wrong]))).toEqual([
      "wrong on purpose: Type 'string' is not assignable to type 'number'.",
    ]);
  });
});
