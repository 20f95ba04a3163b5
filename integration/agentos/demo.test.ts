import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { folder } from "./harness.js";

const demo = (file: string) => fileURLToPath(new URL(`demo/${file}`, import.meta.url));

it("the demo proves its claims, leaves only its database and says no more than it should", () => {
  const temporary = folder();
  const env = { ...process.env, TMPDIR: temporary, TEMP: temporary, TMP: temporary };
  const { status, stdout, stderr } = spawnSync(process.execPath, [demo("main.mjs")], { env, encoding: "utf8" });
  expect(stderr).toBe("");
  // The command line also shows a status with such a sign.
  const claims = stdout.split("\n").filter((line) => /^ {2}[✓✗]/.test(line) && line !== "  ✓ finished");
  expect(claims.map((line) => line.replace(/process \d+/, "process #"))).toEqual([
    '  ✓ process # was killed with SIGKILL while "draft" was executing',
    "  ✓ a checkpoint of each of the 4 nodes that had completed is in the database",
    "  ✓ process # resumed it, though the graph is compiled anew and has another id",
    '  ✓ it finished: the risk is high, so by way of "review"',
    "  ✓ the fraud service was called once, and one case opened",
    '  ✓ the fork took the other way: "pay"',
    "  ✓ the fraud service was still called once, and no other case opened",
    "  ✓ the original run is untouched, byte for byte",
    "  ✓ the fork hangs on its checkpoint",
  ]);
  expect(status).toBe(0);
  const [left, ...others] = readdirSync(temporary);
  expect(others).toEqual([]);
  expect(readdirSync(join(temporary, left!))).toEqual(["agent.db"]);
  expect(stdout.trimEnd().endsWith(`npx forkpoint studio --db ${join(temporary, left!, "agent.db")}`)).toBe(true);
});
