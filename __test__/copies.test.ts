// Two copies of the package in one process, such as two versions in one tree of dependencies.
import { cpSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { folder, run } from "./helpers.js";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Copies the built package, so that its addon is another file. */
function copy(): string {
  const to = join(folder(), "node_modules", "forkpoint");
  mkdirSync(to, { recursive: true });
  for (const name of ["package.json", "dist", ...readdirSync(root).filter((name) => name.endsWith(".node"))]) {
    cpSync(join(root, name), join(to, name), { recursive: true });
  }
  return to;
}

// The test needs the list of the process's descriptors.
describe.runIf(process.platform === "linux")("two copies of the package in one process", () => {
  test.each(["one after the other", "at once", "in a worker"])("never use one file: %s", async (how) => {
    const ended = await run("copies.mjs", [copy(), join(folder(), "agent.db"), how]);
    expect(ended).toMatchObject({ code: 0, errors: "" });
    expect(ended.lines).toEqual(["CONFLICT", "all there"]);
  });

  test("may use different files, and one file in turn", async () => {
    const ended = await run("copies.mjs", [copy(), join(folder(), "agent.db"), "in turn"]);
    expect(ended).toMatchObject({ code: 0, errors: "", lines: ["all there"] });
  });
});
