// The package in conformance/: installed in an empty folder, and run by each of four test runners.
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { install, pack } from "../../__test__/packages.js";
import { type Ended, executable, node, root, run, tool } from "./helpers.js";

const project = realpathSync(mkdtempSync(join(tmpdir(), "forkpoint-conformance-package-")));
afterAll(() => rmSync(project, { recursive: true, force: true }));

const right = "langgraph-store/get-missing";
const wrong = "langgraph-store/put-get";

/** A store that returns null for everything, and two expectations about it. */
const store = `export const open = () => ({ get: async () => null, put: async () => {} });`;
const registers = (imports: string) => `
  ${imports}
  import { langgraphStore } from "forkpoint-conformance";
  const module = new URL("./" + process.env.STORE, import.meta.url);
  await langgraphStore({ module }).register(runner, { only: ["${right}", "${wrong}"] });
`;

beforeAll(() => {
  install(project, [pack(join(root, "conformance"), project)], { type: "module" });
  const declared = `export const expectFail = { "${wrong}": "a known bug" };\nexport const skip = { "${right}": "not made for it" };`;
  for (const [name, code] of Object.entries({ "bad.mjs": "", "declared.mjs": declared }))
    writeFileSync(join(project, name), `${store}\n${code}`);
});

it("holds what it needs and nothing else, and needs nothing", () => {
  const installed = join(project, "node_modules/forkpoint-conformance");
  for (const file of ["dist/cli.js", "dist/index.js", "dist/index.d.ts", "README.md", "LICENSE"])
    expect(existsSync(join(installed, file)), file).toBe(true);
  for (const file of ["src", "mutants", "test", "results", "tsconfig.json"])
    expect(existsSync(join(installed, file)), file).toBe(false);
  const { dependencies, optionalDependencies, peerDependencies, scripts } = JSON.parse(
    readFileSync(join(installed, "package.json"), "utf8"),
  );
  expect([dependencies, optionalDependencies, peerDependencies, scripts]).toEqual([
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});

it("measures a store by its command", () => {
  const main = join(project, "node_modules/.bin/forkpoint-conformance");
  const bad = node([realpathSync(main), "langgraph-store", "./bad.mjs", "--only", right, "--only", wrong], project);
  expect([bad.status, bad.stderr]).toEqual([1, expect.stringMatching(`failed: MUST ${wrong}: `)]);
  expect(node([realpathSync(main), "langgraph-store", "./declared.mjs", "--only", wrong], project).status).toBe(0);
});

it("does what its README and its guide say", { timeout: 120_000 }, () => {
  // The README's store is one of LangGraph.
  symlinkSync(tool("@langchain"), join(project, "node_modules/@langchain"));
  const text = readFileSync(join(root, "conformance/README.md"), "utf8");
  const blocks = (language: string, page = text) =>
    [...page.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, "gm"))].map(([, code]) => code!);
  const [store, tests, report] = blocks("js");
  writeFileSync(join(project, "store.mjs"), store!);
  const command = /^npx forkpoint-conformance (.*)$/.exec(blocks("sh")[0]!.trim())![1]!.split(" ");
  const main = realpathSync(join(project, "node_modules/.bin/forkpoint-conformance"));
  const { status, stderr } = node([main, ...command], project);
  expect(status).toBe(1);
  for (const line of blocks("text")[0]!.trim().split("\n")) expect(stderr).toContain(line.replace(/…$/, ""));
  for (const option of blocks("text")[1]!.matchAll(/^--([\w-]+)/gm))
    expect(node([main, "--help"], project).stdout).toContain(option[0]);

  writeFileSync(join(project, "conformance.test.mjs"), tests!);
  const vitest = join(root, "node_modules/vitest/vitest.mjs");
  const ran = node([vitest, "run", "--root", project, "conformance.test.mjs"], project);
  expect(ran.stdout + ran.stderr).toMatch(/Tests .*\d+ passed/);
  const prepared = tests!.split("\n").filter((line) => !line.includes("register"));
  writeFileSync(join(project, "report.mjs"), [...prepared, report].join("\n"));
  expect(node(["report.mjs"], project).stdout).toMatch(/^passed langgraph\/[\w-]+ undefined$/m);

  const [guide] = blocks("js", readFileSync(join(root, "docs/conformance.md"), "utf8"));
  writeFileSync(join(project, "store.mjs"), guide!);
  const order = node(
    [main, "langgraph", "./store.mjs", "--target", "{dir}/agent.db", "--group", "order", "--markdown", "report.md"],
    project,
  );
  expect(order.stderr).toMatch(/^MemorySaver: MUST /m);
  expect(readFileSync(join(project, "report.md"), "utf8")).toContain("# MemorySaver: langgraph");
});

it("has types for strict programs", () => {
  writeFileSync(
    join(project, "typed.mts"),
    `import { type Report, type StoreModule, contracts, langgraph } from "forkpoint-conformance";
    export const open: StoreModule["open"] = ({ target }) => target.length;
    const report: Report = await langgraph({ module: new URL("store.mjs", import.meta.url) }).run({ groups: ["kill"], seed: 2 });
    console.log(report.results[0]?.status, Object.keys(contracts));
    // @ts-expect-error a group that is none
    await langgraph({ module: "store.mjs" }).run({ groups: ["none"] });`,
  );
  const compiler = {
    module: "nodenext",
    target: "es2023",
    strict: true,
    noEmit: true,
    types: ["node"],
    typeRoots: [join(root, "node_modules/@types")],
  };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions: compiler, files: ["typed.mts"] }));
  expect(node([join(root, "node_modules/tsc/bin/tsc"), "-p", project], project)).toMatchObject({ status: 0 });
});

/** The runners: the imports of the test file, and how it is run. */
const runners: Record<string, { imports: string; file: string; start: (file: string, env: object) => Ended }> = {
  "node:test": {
    imports: `import * as runner from "node:test";`,
    file: "node.mjs",
    start: (file, env) => node(["--test", "--test-reporter=spec", file], project, { ...env }),
  },
  vitest: {
    imports: `import * as runner from "vitest";`,
    file: "suite.test.mjs",
    start: (file, env) => {
      const vitest = join(root, "node_modules/vitest/vitest.mjs");
      return node([vitest, "run", "--root", project, "--reporter=verbose", file], project, { ...env });
    },
  },
  jest: {
    imports: `const runner = globalThis;`,
    file: "jest.test.mjs",
    start: (file, env) =>
      node(
        [
          "--experimental-vm-modules",
          "--no-warnings",
          tool("jest/bin/jest.js"),
          "--verbose",
          "--rootDir",
          project,
          "--testMatch",
          `**/${file}`,
          "--watchman=false",
        ],
        project,
        { ...env },
      ),
  },
  "bun:test": {
    imports: `import * as runner from "bun:test";`,
    file: "bun.test.mjs",
    start: (file, env) => run(executable("bun"), ["test", `./${file}`], project, { ...env }),
  },
};

it.each(Object.entries(runners))("is run by %s", { timeout: 120_000 }, (_, { imports, file, start }) => {
  writeFileSync(join(project, file), registers(imports));
  const ended = (name: string) => {
    const { status, stdout, stderr } = start(file, { STORE: name });
    return { status, said: stdout + stderr };
  };
  const bad = ended("bad.mjs");
  expect(bad.status, bad.said).not.toBe(0);
  expect(bad.said).toMatch(new RegExp(`MUST ${right}: `));
  expect(bad.said).toMatch(new RegExp(`MUST ${wrong}: `));
  const declared = ended("declared.mjs");
  expect(declared.status, declared.said).toBe(0);
  expect(declared.said).toContain("(not made for it)");
});
