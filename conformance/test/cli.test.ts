// The command line, as a process.
import { spawnSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { type Report, contracts, groups } from "../dist/index.js";
import { contract, folder, id, other, store } from "./stores.js";

const main = fileURLToPath(new URL("../dist/cli.js", import.meta.url));

function cli(...args: string[]) {
  const { stdout, stderr, status } = spawnSync(process.execPath, [main, ...args], { encoding: "utf8" });
  return { stdout, stderr, status };
}

const only = ["--only", id, "--only", other];

it("measures a store", () => {
  const { stdout, stderr, status } = cli(contract, store(), ...only);
  expect({ stdout, status }).toEqual({ stdout: "", status: 0 });
  expect(stderr).toBe("reference: MUST 2 of 2; SHOULD 0 of 0; OURS 0 of 0\n");
  const bad = cli(contract, store("", id), ...only);
  expect(bad.status).toBe(1);
  expect(bad.stderr).toMatch(new RegExp(`^failed: MUST ${id}: returns null .*\n  AssertionError: `));
});

it("fails what begins to pass, and passes what is declared", () => {
  const known = `export const expectFail = { "${id}": "a known bug" };`;
  expect(cli(contract, store(known, id), ...only).status).toBe(0);
  const { stderr, status } = cli(contract, store(known), ...only);
  expect(status).toBe(1);
  expect(stderr).toMatch(/^unexpected pass: MUST .*\n {2}a known bug\n/);
});

it("writes reports, and compares with an earlier one", () => {
  const at = folder();
  const [before, page] = [join(at, "before.json"), join(at, "page.md")];
  expect(cli(contract, store(), ...only, "--json", before, "--markdown", page, "--seed", "9").status).toBe(0);
  const report = JSON.parse(readFileSync(before, "utf8")) as Report;
  expect(report).toMatchObject({ contract, seed: 9, store: { name: "reference" } });
  expect(report.results.map((result) => [result.id, result.status])).toEqual([
    [id, "passed"],
    [other, "passed"],
  ]);
  expect(readFileSync(page, "utf8")).toContain(`# reference: ${contract}`);
  const printed = cli(contract, store(), "--json", ...only);
  expect(JSON.parse(printed.stdout)).toMatchObject({ contract });
  expect(cli(contract, store(), "--markdown", ...only).stdout).toContain("## isolation");
  const worse = cli(contract, store("", id), ...only, "--compare", before);
  expect(worse.status).toBe(1);
  expect(worse.stdout).toContain("| MUST | 2 of 2 | 1 of 2 |");
  expect(worse.stderr).toContain(`passed before: ${id}\n`);
  // A skip is no failure, but something has been lost.
  const skipping = store(`export const skip = { "${id}": "no more" };`);
  expect(cli(contract, skipping, ...only, "--compare", before).status).toBe(1);
  expect(cli(contract, skipping, ...only).status).toBe(0);
  const both = cli("compare", before, before);
  expect({ ...both, stdout: "" }).toEqual({ stdout: "", stderr: "", status: 0 });
  expect(both.stdout).toContain("| MUST | 2 of 2 | 2 of 2 |");
});

it("lists the expectations", () => {
  const all = cli("list").stdout.trim().split("\n");
  const known = Object.values(contracts).flatMap(({ definition }) => definition.expectations.map(({ id }) => id));
  expect(all.map((line) => line.split("\t")[0])).toEqual(known);
  for (const line of all) {
    const [, group, level, title, source] = line.split("\t");
    expect(groups).toContain(group);
    expect(["MUST", "SHOULD", "OURS"]).toContain(level);
    expect(title).toMatch(/^\S.*[^.]$/);
    expect(source).toMatch(/^(documented|framework|ours): \S/);
  }
  expect(cli("list", contract).stdout.trim().split("\n")).toHaveLength(
    contracts[contract].definition.expectations.length,
  );
});

it("does not fail for what only Forkpoint demands, unless that is wanted", () => {
  const known = contracts[contract].definition.expectations.find(
    (one) => one.level === "OURS" && one.group === "order",
  )!;
  const mutant = store("", known.id);
  const shown = cli(contract, mutant, "--only", known.id);
  expect(shown.status).toBe(0);
  expect(shown.stderr).toContain(`failed: OURS ${known.id}`);
  expect(cli(contract, mutant, "--only", known.id, "--level", "ours").status).toBe(1);
});

it("prints all to a slow reader", () => {
  const slow = `"${process.execPath}" "${main}" list | (sleep 1; wc -l)`;
  const { stdout } = spawnSync("sh", ["-c", slow], { encoding: "utf8" });
  const known = Object.values(contracts).flatMap(({ definition }) => definition.expectations.map((one) => one.id));
  expect(Number(stdout)).toBe(known.length);
});

it("says what is wrong with its arguments", () => {
  expect(cli("--help")).toMatchObject({ status: 0, stdout: expect.stringContaining("Usage:") });
  expect(cli()).toMatchObject({ status: 2, stdout: expect.stringContaining("Usage:") });
  const invalid = join(folder(), "invalid.json");
  writeFileSync(invalid, "{");
  const foreign = join(folder(), "foreign.json");
  writeFileSync(foreign, '{ "contract": "mastra" }');
  for (const [args, message] of [
    [["none", "x"], /^there is no contract none: the contracts are langgraph, /],
    [[contract], /needs the path of one module/],
    [[contract, "a", "b"], /needs the path of one module/],
    [[contract, store(), "--group", "none"], /there is no group none/],
    [[contract, store(), "--level", "none"], /--level must be must, should or ours, and is none/],
    [[contract, store(), "--only", "none"], /there is no expectation none/],
    [[contract, store(), "--seed", "x"], /--seed must be a whole number, and is x/],
    [[contract, store("export const open = 1;")], /exports no function open/],
    [[contract, store(), "--target", "/fixed"], /needs \{dir\} or \{n\}/],
    [[contract, store(), "--none"], /Unknown option '--none'/],
    [["compare"], /compare needs the files of reports/],
    [["compare", join(folder(), "none.json")], /ENOENT/],
    [["compare", invalid], /invalid\.json/],
    [[contract, store(), "--compare", foreign], /is a report of mastra, and not of langgraph-store/],
    [[contract, join(folder(), "none.mjs")], /Cannot find module/],
  ] as const) {
    const { stderr, stdout, status } = cli(...args);
    expect({ stdout, status }, args.join(" ")).toEqual({ stdout: "", status: 2 });
    expect(stderr).toMatch(message);
  }
});
