// Tests the script that runs two releases side by side, with this release twice.
import { execFile } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { folder } from "./helpers.js";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Runs the script with another release. */
function beside(other: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, FORKPOINT_PG: "" };
  return new Promise((done) => {
    execFile(process.execPath, [join(root, "scripts/side-by-side.mjs"), other], { env }, (error, stdout, stderr) => {
      done({ code: typeof error?.code === "number" ? error.code : error === null ? 0 : -1, stdout, stderr });
    });
  });
}

test("two releases of the same format pass", async () => {
  const { code, stdout, stderr } = await beside(root);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout.match(/this 200; this 200; other 200; other 200; \d+ checkpoints, no damage/g)).toHaveLength(4);
});

test("a release that loses a save fails", async () => {
  const other = folder();
  mkdirSync(join(other, "dist"));
  writeFileSync(join(other, "package.json"), JSON.stringify({ version: "0.0.1", type: "module" }));
  writeFileSync(
    join(other, "dist/index.js"),
    `import { CheckpointStore as Store } from ${JSON.stringify(pathToFileURL(join(root, "dist/index.js")).href)};
     export class CheckpointStore extends Store {
       save(checkpoint) { return checkpoint.id.endsWith("-107") ? Promise.resolve() : super.save(checkpoint); }
     }`,
  );
  const { code, stderr } = await beside(other);
  expect(code).toBe(1);
  expect(stderr).toContain("other 2-107");
});
