// Runs the program that shows that the package works on a platform, here on the machine's own.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

it("passes the program that every platform runs", () => {
  const program = fileURLToPath(new URL("fixtures/smoke.mjs", import.meta.url));
  const { stdout, stderr, status } = spawnSync(process.execPath, [program], { encoding: "utf8" });
  expect({ stderr, status }).toEqual({ stderr: "", status: 0 });
  expect(stdout.trim().split("\n")).toEqual([
    "ok: import and require",
    "ok: saves survive kill -9",
    "ok: a killed graph resumes",
    "ok: a fork takes another way",
    "ok: the demo runs",
    "ok: the command line lists and checks",
    `passed on ${process.platform}-${process.arch}, Node.js ${process.versions.node}`,
  ]);
});
