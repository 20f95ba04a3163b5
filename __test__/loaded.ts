import { spawnSync } from "node:child_process";
import { createRequire } from "node:module";
import { dirname, join, relative, sep } from "node:path";
import { expect } from "vitest";

/** Modules of Node that take long to load. A program that only saves and reads does not need them. */
const slow = /^NativeModule (?:child_process|crypto|http|https|net|readline|tls|worker_threads|zlib)$/;

/**
 * Runs a program in a process of its own. Returns the files of the package that it loads, and the slow modules of Node.
 * `before` runs first, and what it loads does not count.
 */
export function loadedBy(program: string, cwd: string, before = ""): { files: string[]; modules: string[] } {
  const script = `
    import { createRequire } from "node:module";
    const require = createRequire(process.cwd() + "/");
    // The loader of ES modules loads modules of Node with the first import.
    await import("data:text/javascript,");
    ${before}
    const had = new Set(process.moduleLoadList);
    ${program}
    const modules = process.moduleLoadList.filter((module) => !had.has(module));
    console.log(JSON.stringify({ files: Object.keys(require.cache), modules }));`;
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "--eval", script], {
    cwd,
    encoding: "utf8",
    // Clear the test runner's NODE_OPTIONS for the child.
    env: { ...process.env, NODE_OPTIONS: "" },
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  const { files, modules } = JSON.parse(stdout) as { files: string[]; modules: string[] };
  const dist = join(dirname(createRequire(join(cwd, "program.js")).resolve("forkpoint/package.json")), "dist");
  const ofPackage = files.filter((file) => file.startsWith(dist + sep));
  return {
    files: ofPackage.map((file) => relative(dist, file).replaceAll(sep, "/")),
    modules: modules.filter((module) => slow.test(module)),
  };
}
