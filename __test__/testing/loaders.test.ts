// Tests that a program in TypeScript is started with a loader. Node itself reads no enum, so the program needs one.
// @module-tag slow
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { killAndResume } from "forkpoint/testing";
import { expect, it } from "vitest";
import { fixture, folder, rejection } from "../helpers.js";

const loader = pathToFileURL(fixture("typescript-loader.mjs")).href;
const testing = new URL("../../dist/testing/index.js", import.meta.url).href;

/** Makes a folder with a program, a package with a loader, and a runner that prints the program's output. */
function project(): string {
  const path = folder();
  writeFileSync(join(path, "program.mts"), "enum Answer { yes = 42 }\nconsole.log(Answer.yes as number);\n");
  writeFileSync(join(path, "program.mjs"), "console.log(process.execArgv.join(' '));\n");
  writeFileSync(join(path, "loader.mjs"), `import ${JSON.stringify(loader)};\n`);
  const module = join(path, "node_modules/loads-typescript");
  mkdirSync(module, { recursive: true });
  writeFileSync(join(module, "package.json"), '{ "type": "module", "exports": "./index.mjs" }');
  writeFileSync(join(module, "index.mjs"), `import ${JSON.stringify(loader)};\n`);
  writeFileSync(
    join(path, "runner.mjs"),
    `import { killAndResume } from ${JSON.stringify(testing)};
     const program = new URL(process.argv[2], import.meta.url);
     const { last } = await killAndResume(program, { kill: [] });
     console.log(last.lines.join());`,
  );
  return path;
}

function run(cwd: string, nodeArgs: string[], program: string, NODE_OPTIONS = "") {
  const { stdout, stderr } = spawnSync(process.execPath, [...nodeArgs, "runner.mjs", program], {
    cwd,
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS },
  });
  return stdout.trim() || stderr;
}

it.each([
  ["a package", ["--import", "loads-typescript"]],
  ["a package, in one argument", ["--import=loads-typescript"]],
  ["a file", ["--import", "./loader.mjs"]],
  ["a URL", ["--import", loader]],
])("a program in TypeScript gets the loader of the test: %s", (_, nodeArgs) => {
  expect(run(project(), nodeArgs, "program.mts")).toBe("42");
});

it("a program in TypeScript gets the loader in NODE_OPTIONS", () => {
  expect(run(project(), [], "program.mts", "--no-warnings --import=loads-typescript")).toBe("42");
});

it("a program in JavaScript gets no loader, and a program in TypeScript none that nobody named", () => {
  expect(run(project(), ["--import", loader, "--no-warnings"], "program.mjs")).not.toContain("--import");
  expect(run(project(), [], "program.mts")).toContain("SyntaxError");
});

it("nodeArgs name a loader that the program's folder has", async () => {
  const program = join(project(), "program.mts");
  const started = (nodeArgs: string[]) => killAndResume(program, { kill: [], nodeArgs });
  expect((await started(["--import", "loads-typescript"])).last.lines).toEqual(["42"]);
  expect((await started(["--no-warnings", "--import=loads-typescript"])).last.lines).toEqual(["42"]);
  expect((await rejection(started(["--import", "no-such-loader"]))).message).toContain("no-such-loader");
  expect((await rejection(started([]))).message).toContain("SyntaxError");
});
