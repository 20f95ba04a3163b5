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

it("its timeline has a row for every step of both runs, and its columns are aligned", () => {
  const { stdout } = spawnSync(process.execPath, [demo("main.mjs")], { encoding: "utf8" });
  const row = /^ +(\d) {2}(\w+) +(\S+) +([\d:]{8}\.\d{3}) +(\d*) +([0-9a-f]{8}.*)$/gm;
  const rows = [...stdout.matchAll(row)].map(([line, ...cells]) => ({ line, cells }));
  const steps = (wanted: boolean) =>
    rows.filter(({ cells }) => cells[5]!.endsWith(" (fork)") === wanted).map(({ cells }) => `${cells[0]} ${cells[1]}`);
  const original = ["1 load", "2 score", "3 file", "4 policy", "5 draft", "6 route", "7 review", "8 report"];
  expect(steps(false)).toEqual(original);
  expect(steps(true)).toEqual(["3 file", "4 policy", "5 draft", "6 route", "7 pay", "8 report"]);

  const saved = rows.filter(({ cells }) => cells[2] !== "(resumed)");
  expect(saved.map(({ cells }) => cells[1])).toEqual(["load", "score", "file", "policy", "file"]);
  for (const { cells } of saved) {
    expect(cells[2]).toMatch(/^[0-9a-f]{8}$/);
    expect(Number(cells[4])).toBeGreaterThan(100);
  }
  for (const column of [2, 3, 5]) {
    expect(new Set(rows.map(({ line, cells }) => line.lastIndexOf(cells[column]!))).size).toBe(1);
  }
});

it("a claim that is not true fails the process", () => {
  const code = `import { claim } from ${JSON.stringify(new URL("demo/show.mjs", import.meta.url).href)};
    claim("two is two", 2 === 2);
    claim("two is three", 2 === 3);`;
  const { status, stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" });
  expect(stdout).toBe("  ✓ two is two\n  ✗ NOT TRUE: two is three\n");
  expect(status).toBe(1);
});
