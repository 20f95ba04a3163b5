// Tests what an editor shows for a name of the package: each public class, method and function has an `@example`, of its
// own or of the class or interface that it implements, and each example compiles under strict.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url)).replaceAll("\\", "/");
const langgraph = `${root}integration/langgraph/node_modules/@langchain/langgraph-checkpoint/dist/index.d.ts`;

/**
 * Declares the variables that examples use, by the declaration that they are in, or by its file. The exports of the file's
 * entry point are imported.
 */
const preambles: Record<string, string> = {
  "shared.d.ts": `
    declare const store: Store;
    declare const error: unknown;`,
  "shared.d.ts Store": `
    import { WorkflowCheckpointStore } from "forkpoint/agentium";
    declare const store: Store;`,
  "shared.d.ts ContractStore": `
    declare const store: CheckpointStore;
    declare const lease: Lease;`,
  "shared.d.ts RunStore": "declare const store: CheckpointStore;",
  "shared.d.ts RunRef": "declare const none: never;",
  "shared.d.ts EffectOptions": `
    declare const once: import("forkpoint/effects").Once;
    declare const run: import("forkpoint").RunRef;
    declare const charge: () => Promise<string>;
    declare const payments: { find(idempotencyKey: string): Promise<string | undefined> };`,
  "effects.d.ts": `
    import type { ForkpointSaver } from "forkpoint/langgraph";
    type State = { order: number };
    type LangGraphRunnableConfig = { configurable?: Record<string, unknown> };
    declare const saver: ForkpointSaver;
    declare const config: LangGraphRunnableConfig;
    declare function charge(order: number, idempotencyKey: string): Promise<string>;`,
  "effects.d.ts Once": `
    declare const once: Once;
    declare const config: { configurable?: Record<string, unknown> };
    declare const stripe: { charges: { create(charge: object, options: { idempotencyKey: string }): Promise<string> } };`,
  "shared.d.ts Lease": `
    declare const store: CheckpointStore;
    declare const checkpoint: Checkpoint;
    declare const lease: Lease;`,
  "shared.d.ts RecoverOptions": `
    declare const graph: RecoverableGraph;
    declare const store: CheckpointStore;`,
  "shared.d.ts DrainController": `
    declare const workflow: import("forkpoint/agentium").Workflow<{ n: number }>;
    declare const drain: DrainController;`,
  "shared.d.ts RunDrainedError": "declare const error: unknown;",
  ...Object.fromEntries(
    ["formatPath", "fromJsonForm", "parseJson", "parsePath", "safeJson", "safeText", "toJsonForm", "valueAt"].map(
      (name) => [`shared.d.ts ${name}`, "declare const run: string;"],
    ),
  ),
  "inspector.d.ts": `
    import { createReadStream } from "node:fs";
    declare const run: string;`,
  "agentos.d.ts": `
    declare const lease: import("forkpoint").Lease;
    declare const store: CheckpointStore;
    declare const checkpoint: Checkpoint;
    declare const graph: RecoverableGraph;
    declare const graphId: string;
    declare const answers: Map<string, { approved: boolean }>;
    declare const builder: { compile(options: { checkpointStore: ICheckpointStore; deps?: object }): EffectGraph };
    declare const deps: object;
    declare function charge(order: number, idempotencyKey: string): Promise<string>;`,
  "agentium.d.ts": `
    type State = { n: number };
    declare const lease: import("forkpoint").Lease;
    declare const workflow: Workflow<State>;
    declare const eventBus: EventBus;
    declare const listener: () => void;
    declare const store: ForkpointWorkflowStore<State>;
    declare const checkpoint: WorkflowCheckpoint<State>;
    declare const driver: StorageDriver;
    declare const name: string;
    declare const initialState: State;
    declare const steps: Array<StepDef<State>>;
    declare function charge(order: number, idempotencyKey: string): Promise<string>;`,
  "agentium.d.ts StorageBackedCheckpointStore": `
    type State = { n: number };
    declare const store: StorageBackedCheckpointStore<State>;
    declare const checkpoint: WorkflowCheckpoint<State>;
    declare const driver: StorageDriver;`,
  "helix.d.ts": `
    declare const lease: import("forkpoint").Lease;
    declare const store: SessionStore<{ topic: string }>;
    declare const state: AgentState<{ topic: string }>;
    declare const checkpointId: string;
    declare const runId: string;
    declare const listener: () => void;`,
  "ai.d.ts": `
    declare const lease: import("forkpoint").Lease;
    declare const chats: ForkpointChats;
    declare const id: string;
    declare const chatId: string;
    declare const approvalId: string;
    declare const streamId: string;
    declare const store: ForkpointResumableStreamStore;
    declare const chunk: Uint8Array;
    declare const signal: AbortSignal;
    declare function createResumableStreamContext(options: object): object;
    declare function write(cursor: string, chunk: Uint8Array): void;
    declare const messages: never[];
    declare const message: never;
    declare const sseStream: ReadableStream<string>;`,
  "claude-agent-sdk.d.ts": `
    declare const lease: import("forkpoint").Lease;
    declare const store: SessionStore;
    declare const key: SessionKey;
    declare const sessionId: string;
    declare const uuid: string;
    declare function query(of: { prompt: string; options: object }): AsyncIterable<{ type: string }>;`,
  "mastra.d.ts": `
    declare const lease: import("forkpoint").Lease;
    declare const store: ForkpointMastraStore;
    declare const libsql: MastraSource & MastraMemorySource;
    declare const order: object;
    declare const Mastra: new (config: object) => object;`,
  "mcp.d.ts ForkpointEventStore": `
    declare const lease: import("forkpoint").Lease;
    declare const store: ForkpointEventStore;
    declare const user: { id: string };
    declare const streamId: string;
    declare const lastEventId: string;
    declare const StreamableHTTPServerTransport: new (options: object) => object;
    declare function write(id: string, message: object): Promise<void>;`,
  "mcp.d.ts ForkpointTaskStore": `
    declare const lease: import("forkpoint").Lease;
    declare const store: ForkpointTaskStore;
    declare const taskId: string;
    declare const sessionId: string;
    declare const requestId: string;
    declare const request: object;`,
  "mcp.d.ts ForkpointTaskMessageQueue": `
    declare const lease: import("forkpoint").Lease;
    declare const queue: ForkpointTaskMessageQueue;
    declare const taskId: string;
    declare const message: object;`,
  "openai-agents.d.ts ForkpointSession": `
    declare const lease: import("forkpoint").Lease;
    declare const session: ForkpointSession;
    declare const callId: string;
    declare const replacement: never;
    declare const agent: object;
    declare function run(agent: object, input: string, options: { session: ForkpointSession }): Promise<unknown>;`,
  "openai-agents.d.ts ForkpointRunStates": `
    declare const lease: import("forkpoint").Lease;
    declare const states: ForkpointRunStates;
    declare const agent: object;
    declare const state: object;
    declare const result: { state: object };
    declare const RunState: { fromString(agent: object, text: string): Promise<object> };`,
  "tinyagents.d.ts": `
    declare const lease: import("forkpoint").Lease;
    declare const checkpointer: Checkpointer<{ topic: string }>;
    declare const config: CheckpointConfig;
    declare const graph: Graph<{ n: number }>;
    declare const checkpointId: string;
    declare const state: { urls: string[] };
    declare function charge(order: number, idempotencyKey: string): Promise<string>;`,
  "testing.d.ts": `
    import { CheckpointStore } from "forkpoint";
    declare const error: unknown;`,
  "langgraph.d.ts": `
    import type * as base from "@langchain/langgraph-checkpoint";
    declare const lease: import("forkpoint").Lease;
    declare const saver: ForkpointSaver;
    declare const graph: RecoverableThreads;
    declare const answers: Map<string, unknown>;
    declare const postgresSaver: base.BaseCheckpointSaver;
    declare const config: Parameters<ForkpointSaver["getTuple"]>[0];
    declare const checkpoint: base.Checkpoint;
    declare const metadata: base.CheckpointMetadata;
    declare const checkpointer: ForkpointSaver;
    declare const store: ForkpointStore;
    declare const cache: ForkpointCache;
    declare const builder: {
      compile(options: { checkpointer?: base.BaseCheckpointSaver; store?: base.BaseStore; cache?: base.BaseCache }): {
        name: string;
      };
    };`,
};

/** An example of a declaration file. */
interface Example {
  /** The file and the line of the example's tag. */
  place: string;
  /** The declaration file. */
  file: string;
  /** The name of the declaration. */
  name: string;
  code: string;
}

/** What an entry point of the package exports. */
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

/** Returns the entry points of package.json that have types. */
function entries(): Entry[] {
  const typed = Object.entries<{ types?: string }>(entryPoints).filter(([, { types }]) => types !== undefined);
  const files = typed.map(([, { types }]) => root + types!.slice(2));
  const program = ts.createProgram(files, compilerOptions());
  const checker = program.getTypeChecker();
  return typed.map(([path], at) => {
    const module = checker.getSymbolAtLocation(program.getSourceFile(files[at]!)!)!;
    const exported = checker.getExportsOfModule(module);
    const declarations = exported
      .map((symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol))
      .flatMap((symbol) => symbol.declarations ?? [])
      .filter(isDeclaration);
    return {
      specifier: `${packageName}${path.slice(1)}`,
      names: exported.map(({ name }) => name),
      missing: missing(declarations, checker),
      examples: declarations.flatMap(examplesOf),
    };
  });
}

type Declaration = ts.ClassDeclaration | ts.FunctionDeclaration | ts.InterfaceDeclaration | ts.TypeAliasDeclaration;

function isDeclaration(node: ts.Node): node is Declaration {
  return (
    ts.isClassDeclaration(node) ||
    ts.isFunctionDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node)
  );
}

const tagsOf = (node: ts.Node) => ts.getJSDocTags(node).filter(({ tagName }) => tagName.text === "example");

function placeOf(node: ts.Node): string {
  const source = node.getSourceFile();
  return `${basename(source.fileName)}:${source.getLineAndCharacterOfPosition(node.getStart()).line + 1}`;
}

/** Returns the names that must have an example but have none. The declarations of an overloaded name share one. */
function missing(declarations: Declaration[], checker: ts.TypeChecker): string[] {
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
    .filter(([, nodes]) => nodes.every((node) => !hasExample(node, checker)))
    .map(([name, nodes]) => `${placeOf(nodes[0]!)} ${name}`);
}

/** Returns true if an editor shows an example. A method without a comment has that of the method that it implements. */
function hasExample(node: ts.Node, checker: ts.TypeChecker): boolean {
  const symbol = checker.getSymbolAtLocation((node as ts.MethodDeclaration).name)!;
  return symbol.getJsDocTags(checker).some(({ name }) => name === "example");
}

/** Returns the examples of a declaration and of its members. */
function examplesOf(node: Declaration): Example[] {
  const members = ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node) ? [...node.members] : [];
  return [node, ...members].flatMap(tagsOf).map((tag) => {
    // The code is the rest of the tag's line, or a fenced block.
    const text = tag.getText().replaceAll(/^ *\*(\/| ?)/gm, "");
    const code = /^@example\s*```ts\n([^]*?)^```/m.exec(text)?.[1] ?? text.replace("@example", "").trim();
    return { place: placeOf(tag), file: basename(tag.getSourceFile().fileName), name: node.name!.text, code };
  });
}

/**
 * Puts an example into a function of its own, below the preamble of its file, so that the example can declare a variable
 * of the preamble again. A function cannot contain an import declaration, so `import()` replaces it.
 */
function moduleOf({ file, name, code }: Example, { specifier, names }: Entry): string {
  const body = code.replaceAll(/^import \{(.*)\} from (".*");$/gm, "const {$1} = await import($2);");
  const imports = `import { ${names.join(", ")} } from "${specifier}";`;
  return `${imports}\n${preambles[`${file} ${name}`] ?? preambles[file] ?? ""}\nexport async function example(): Promise<void> {\n${body}\n}\n`;
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
    expect([...files].toSorted()).toEqual(readdirSync(`${root}dist/types`).filter((file) => file.endsWith(".d.ts")));
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
