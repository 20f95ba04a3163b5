// An entry whose framework is not installed says what to install, or needs nothing of it. Where an ES module imports the framework, the error is
// Node's, which names the package: it comes before any code of this package runs.
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, readdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { folder } from "./helpers.js";

const root = fileURLToPath(new URL("..", import.meta.url));
const { exports } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  exports: Record<string, unknown>;
};
const entries = Object.keys(exports).filter((entry) => !entry.endsWith(".json"));

/** Packages without which an entry cannot be loaded. */
const needed: Record<string, string> = {
  "./langgraph": "@langchain/langgraph-checkpoint",
  "./mastra": "@mastra/core",
  "./otel": "@opentelemetry/api",
};

/** Makes a folder with this package, and no other one. */
function alone(): string {
  const path = folder();
  const installed = join(path, "node_modules/forkpoint");
  mkdirSync(installed, { recursive: true });
  for (const name of ["package.json", "dist"]) cpSync(join(root, name), join(installed, name), { recursive: true });
  for (const name of readdirSync(root).filter((each) => each.endsWith(".node")))
    symlinkSync(join(root, name), join(installed, name));
  return path;
}

describe.each(["import", "require"])("%s", (how) => {
  it("loads every entry, or says what to install", () => {
    const program = `
      const load = async (name) => ${how === "require" ? "require(name)" : "import(name)"};
      const found = {};
      (async () => {
        for (const name of ${JSON.stringify(entries)}) {
          found[name] = await load("forkpoint" + name.slice(1)).then(() => null, ({ name, code, message, cause }) => [name, code, message, cause?.code ?? null]);
        }
        console.log(JSON.stringify(found));
      })();`;
    const type = how === "require" ? "commonjs" : "module";
    const { stdout, stderr } = spawnSync(process.execPath, [`--input-type=${type}`, "-e", program], {
      cwd: alone(),
      encoding: "utf8",
    });
    expect(stderr).toBe("");
    const found = JSON.parse(stdout) as Record<string, unknown>;
    for (const entry of entries) {
      const peer = needed[entry];
      const message = expect.stringContaining(`forkpoint${entry.slice(1)} needs the package ${peer}`) as string;
      const refused = ["ForkpointError", "UNSUPPORTED", message, expect.stringContaining("MODULE_NOT_FOUND")];
      if (how === "import" && peer !== undefined && entry !== "./otel") {
        const named = expect.stringMatching(`^Cannot find package '${peer}' imported from `) as string;
        expect(found[entry], entry).toEqual(["Error", "ERR_MODULE_NOT_FOUND", named, null]);
        continue;
      }
      expect(found[entry], entry).toEqual(peer === undefined ? null : refused);
      if (peer !== undefined) expect((found[entry] as string[])[2]).toContain(`\`npm install ${peer}\``);
    }
  });
});
