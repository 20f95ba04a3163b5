import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import type { Form } from "./global-setup.js";

export const root = fileURLToPath(new URL("../..", import.meta.url));

/** The two forms in which the package is installed. */
export const forms: Form[] = ["the addon inside", "the addon beside"];

/** Returns the path of a file of a tool. */
export const tool = (path: string): string => fileURLToPath(new URL(`node_modules/${path}`, import.meta.url));

/** Makes a folder in a project that has the package installed, and writes files into it. */
export function folderIn(form: Form, files: Record<string, string> = {}): string {
  const folder = mkdtempSync(join(inject("installed")[form].project, "work-"));
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  return folder;
}

export interface Ended {
  status: number | null;
  stdout: string;
  stderr: string;
}

/** Runs a program until it ends. */
export function run(command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv = {}): Ended {
  const { status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    encoding: "utf8",
    // Clear the test runner's own settings for the child.
    env: { ...process.env, NODE_OPTIONS: "", VITEST: undefined, NODE_ENV: undefined, NO_COLOR: "1", ...env },
  });
  return { status, stdout, stderr };
}

export const node = (args: string[], cwd: string, env?: NodeJS.ProcessEnv): Ended =>
  run(process.execPath, args, cwd, env);

/** What a program did that printed this, and neither failed nor warned. */
export const printed = (stdout: string): Ended => ({ status: 0, stdout, stderr: "" });

/** The executables of the npm packages that contain one for this machine. */
export function executable(name: "bun" | "deno"): string {
  const x64 = process.platform === "linux" ? "linux-x64-baseline" : `${process.platform}-x64`;
  const bun = process.arch === "x64" ? x64 : `${process.platform}-aarch64`;
  const path = tool(
    name === "bun" ? `@oven/bun-${bun}/bin/bun` : `@deno/${process.platform}-${process.arch}-glibc/deno`,
  );
  if (!existsSync(path)) throw new Error(`there is no package with ${name} for this machine: ${path}`);
  return path;
}

/** The entry points of the package that are code. */
export const entryPoints: string[] = Object.keys(JSON.parse(readFileSync(join(root, "package.json"), "utf8")).exports)
  .filter((path) => !path.endsWith(".json"))
  .map((path) => `forkpoint${path.slice(1)}`);

/** Those that need no package that is missing here. Mastra is in a folder of its own: `integration/mastra`. */
export const loadable = entryPoints.filter((entry) => entry !== "forkpoint/mastra");

/** A program that uses two entry points of the package. It prints "stored hello, workflow 1". */
export const program = `
import { CheckpointStore } from "forkpoint";
import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";

async function main() {
  const checkpoint = {
    id: "checkpoint-1", graphId: "graph-1", runId: "run-1", nodeId: "node-1", timestamp: 1,
    state: { input: "hello", scratch: {}, artifacts: {}, diagnostics: {} },
    nodeResults: {}, visitedNodes: [], pendingEdges: [],
  };
  const store = new CheckpointStore("memory:");
  await store.save(checkpoint);
  const workflow = new Workflow({
    name: "w",
    initialState: { n: 0 },
    checkpointStore: new WorkflowCheckpointStore("memory:"),
    steps: [{ name: "s", run: async ({ n }) => ({ n: n + 1 }) }],
  });
  const { state } = await workflow.runWithCheckpoints();
  console.log("stored " + (await store.latest("run-1")).state.input + ", workflow " + state.n);
  await store.close();
}
main();
`;

export const output = "stored hello, workflow 1\n";

/** Returns the code block of docs/deploy.md whose first line is the name of a file. */
export function guide(file: string, page = "docs/deploy.md"): string {
  const text = readFileSync(join(root, page), "utf8");
  const block = [...text.matchAll(/^```\w+\n([^]*?)^```/gm)].find(
    ([, code]) => /^(?:\/\/|#) (.*)\n/.exec(code!)?.[1] === file,
  );
  if (block === undefined) throw new Error(`${page} has no block for ${file}`);
  return block[1]!;
}
