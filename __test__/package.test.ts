// Tests the packed package as npm users get it. It is installed in an empty folder with scripts disabled, then
// imported, required, type-checked under strict, and used. The test runs twice. The first time, the package contains
// the addon, as when it is packed here. The second time, the addon is in its own package, as when it is published.
// @module-tag slow
import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { install, layOut, npm, pack, packWithAddon } from "./packages.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const folders: string[] = [];

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "forkpoint-package-"));
  folders.push(made);
  return made;
}

function node(args: string[], cwd: string): string {
  const { stdout, stderr, status } = spawnSync(process.execPath, args, { cwd, encoding: "utf8" });
  // A warning of Node would be wrong too.
  expect({ stderr, status, failed: status === 0 ? "" : stdout }).toEqual({ stderr: "", status: 0, failed: "" });
  return stdout;
}

const use = `
  const checkpoint = {
    id: "checkpoint-1", graphId: "graph-1", runId: "run-1", nodeId: "node-1", timestamp: 1,
    state: { input: "hello", scratch: {}, artifacts: {}, diagnostics: {} },
    nodeResults: {}, visitedNodes: [], pendingEdges: [],
  };
  const store = new CheckpointStore("agent.db");
  await store.save(checkpoint);
  await store.close();
  const again = new CheckpointStore("agent.db");
  const { state } = await again.latest("run-1");
  console.log(state.input);
`;

// integration/runtimes/types.test.ts has every entry.
const typed = `
import { CheckpointStore, openStore, type Checkpoint, type ICheckpointStore, type Store } from "forkpoint";
import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { CheckpointStore as Same, resumePlan } from "forkpoint/agentos";

const shared: Store = await openStore("typed.db", { durability: "normal" });
const store: ICheckpointStore = new CheckpointStore(shared);
const same: Same = new CheckpointStore("memory:");
const found: Checkpoint | null = await store.get("x");
if (found !== null) console.log(resumePlan(found).replay, same);
const workflow = new Workflow<{ n: number }>({
  name: "w",
  initialState: { n: 0 },
  checkpointStore: new WorkflowCheckpointStore(shared),
  steps: [{ name: "s", run: async ({ n }) => ({ n: n + 1 }) }],
});
console.log((await workflow.runWithCheckpoints()).state.n);
// @ts-expect-error an option that is none
await openStore("typed.db", { durabilty: "full" });
`;

function tryOut(tarballs: string[]): void {
  const project = folder();
  install(project, tarballs, { type: "module" });

  writeFileSync(join(project, "import.mjs"), `import { CheckpointStore } from "forkpoint";${use}`);
  expect(node(["import.mjs"], project)).toBe("hello\n");
  const required = `const { CheckpointStore } = require("forkpoint"); const same = require("forkpoint/agentos");
    if (same.CheckpointStore !== CheckpointStore) throw new Error("two copies");
    (async () => {${use}})();`;
  writeFileSync(join(project, "require.cjs"), required);
  expect(node(["require.cjs"], project)).toBe("hello\n");

  const example = join(project, "node_modules/forkpoint/examples/agentium/counter.mjs");
  expect(node([example], project)).toContain("replay: count 3");

  writeFileSync(join(project, "typed.mts"), typed);
  const compiler = {
    module: "nodenext",
    target: "es2022",
    strict: true,
    noEmit: true,
    types: [],
    skipLibCheck: false,
    lib: ["es2022", "esnext.disposable", "dom"],
  };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions: compiler, files: ["typed.mts"] }));
  // TypeScript 5, and TypeScript 7.
  for (const version of ["typescript", "tsc"])
    node([join(root, "node_modules", version, "bin/tsc"), "-p", project], project);
}

let packed: string[];

beforeAll(() => {
  packed = packWithAddon(folder());
}, 180_000);

afterAll(() => {
  for (const made of folders) rmSync(made, { recursive: true, force: true });
});

describe("the package", () => {
  it("holds what it needs and nothing else, and has no install script", () => {
    const [{ files }] = JSON.parse(npm(["pack", "--json", "--dry-run", "--ignore-scripts", root], root));
    const names = files
      .map((file: { path: string }) => file.path)
      .filter((path: string) => !/^dist\/([\w-]+\/)*[\w-]+\.m?js$/.test(path))
      .filter((path: string) => !/^docs\/[\w-]+\.md$|^examples\/(README\.md|\w+\/[\w-]+\.(mjs|jsx|html))$/.test(path));
    const addon = readdirSync(root).find((file) => file.endsWith(".node"));
    const types =
      "agentium agentos ai claude-agent-sdk effects helix index inspect inspector langgraph mastra mcp openai-agents otel " +
      "shared studio testing tinyagents";
    expect(names.toSorted()).toEqual(
      [
        addon,
        "CHANGELOG.md",
        "LICENSE",
        "README.md",
        "dist/cli/LICENSES.txt",
        "dist/studio/LICENSES.txt",
        ...types.split(" ").map((name) => `dist/types/${name}.d.ts`),
        "dist/types/langgraph.d.mts",
        "dist/types/mastra.d.mts",
        "index.d.ts",
        "package.json",
      ].toSorted(),
    );
    const { scripts, dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
    expect(dependencies).toBeUndefined();
    expect(Object.keys(scripts).filter((name) => /install|prepare|prepublish|postpack/.test(name))).toEqual([]);
  });

  it("works when installed in an empty folder with scripts disabled", { timeout: 120_000 }, () => {
    tryOut(packed);
  });

  it("works as a release lays it out: the addon in a package of its own", { timeout: 120_000 }, () => {
    const output = folder();
    const tarballs = folder();
    const laidOut = layOut(output);
    expect(laidOut).toHaveLength(2);
    const main = JSON.parse(readFileSync(join(output, "forkpoint/package.json"), "utf8"));
    const addon = laidOut.find((name) => name !== "forkpoint");
    expect(main.optionalDependencies).toEqual({ [`forkpoint-${addon}`]: main.version });
    expect([main.scripts, main.devDependencies]).toEqual([undefined, undefined]);
    expect(existsSync(join(output, `forkpoint/forkpoint.${addon}.node`))).toBe(false);
    tryOut(laidOut.map((name) => pack(join(output, name), tarballs)));
  });

  it("writes the paths of every platform's addon, as file tracers need them", async () => {
    const { platforms } = (await import(new URL("../scripts/platforms.mjs", import.meta.url).href)) as {
      platforms: Record<string, object>;
    };
    const code = readFileSync(join(root, "dist/bridge/start.js"), "utf8");
    const written = [...code.matchAll(/path\.join\(__dirname, "(.*)"\)/g)].map(([, path]) => path);
    const wanted = Object.keys(platforms).flatMap((platform) => {
      const file = `forkpoint.${platform}.node`;
      return [`../../${file}`, `../../../forkpoint-${platform}/${file}`];
    });
    expect(written).toEqual(wanted);
  });

  it("says what is missing and what to do where it has no addon", () => {
    const project = folder();
    mkdirSync(join(project, "dist"));
    cpSync(join(root, "dist"), join(project, "dist"), { recursive: true });
    writeFileSync(join(project, "package.json"), JSON.stringify({ name: "copy" }));
    const script = `await import("./dist/index.js").catch((error) => console.log(error.code, error.message))`;
    const said = node(["--input-type=module", "--eval", script], project);
    expect(said).toContain(`UNSUPPORTED forkpoint has no addon for ${process.platform}-${process.arch}. Tried:`);
    expect(said).toContain("npm run build");
  });
});
