// Tests the warnings: each is a warning of the process, and is published on the channel `forkpoint:warning`.
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { checkpoint, fixture, folder, open } from "./helpers.js";

function run(args: string[], nodeArgs: string[] = []) {
  const program = fixture("warning-channel.mjs");
  const env = { ...process.env, NODE_OPTIONS: "" };
  const { stdout, stderr } = spawnSync(process.execPath, [...nodeArgs, program, ...args], { encoding: "utf8", env });
  const lines = stdout.trimEnd().split("\n");
  return { said: lines.map((line) => JSON.parse(line) as [string, unknown]), stderr };
}

it("a function that is left out is published and emitted, with the same message", () => {
  const code = "FORKPOINT_LEFT_OUT";
  const message = expect.stringMatching(/^state\.scratch\.run is a function/);
  const { said, stderr } = run(["left-out"]);
  expect(said).toEqual([
    ["forkpoint:warning", { code, message, target: null }],
    ["ForkpointWarning", { code, message }],
  ]);
  expect(stderr).toContain("[FORKPOINT_LEFT_OUT] ForkpointWarning: state.scratch.run");
});

it("Node's own text is switched off by --disable-warning, and the channel is not", () => {
  const { said, stderr } = run(["left-out"], ["--disable-warning=ForkpointWarning"]);
  expect(stderr).toBe("");
  expect(said.map(([from]) => from)).toContain("forkpoint:warning");
});

it("commits that a power failure took are reported with their own code and their folder", async () => {
  const path = join(folder(), "runs");
  const store = open(`jsonl:${path}`, { durability: "normal" });
  for (let n = 1; n <= 3; n++) await store.save(checkpoint({ id: `${n}`, timestamp: n }));
  await store.close();
  // The file system lost the last byte of the last commit.
  const file = join(path, "agentos/run-1.jsonl");
  writeFileSync(file, readFileSync(file).subarray(0, -1));

  const { said } = run(["lost", path]);
  const code = "FORKPOINT_COMMITS_LOST";
  const message = expect.stringContaining("the last 1 commit was lost");
  expect(said).toHaveLength(3);
  expect(said).toEqual(
    expect.arrayContaining([
      ["forkpoint:warning", { code, message, target: expect.stringContaining(path) }],
      ["ForkpointWarning", { code, message }],
      ["read", 2],
    ]),
  );
});

it("docs/errors.md has a row for each code, and the type has each code", () => {
  const root = new URL("..", import.meta.url);
  const text = (file: string) => readFileSync(new URL(file, root), "utf8");
  const codesIn = (source: string, pattern: RegExp) =>
    [...new Set([...source.matchAll(pattern)].map(([, code]) => code!))].toSorted();
  const engine = readdirSync(new URL("engine/src", root), { recursive: true, encoding: "utf8" });
  const rust = engine.filter((file) => file.endsWith(".rs")).map((file) => text(`engine/src/${file}`));
  const typed = codesIn(text("ts/bridge/warnings.ts"), /^ +\| "(FORKPOINT_\w+)"/gm);
  const emitted = codesIn(rust.join("\n"), /"(FORKPOINT_[A-Z_]+)"/g);
  expect(emitted.length).toBeGreaterThan(4);
  expect(typed).toEqual(expect.arrayContaining(emitted));
  expect(codesIn(text("docs/errors.md"), /^\| `(FORKPOINT_\w+)` \|/gm)).toEqual(typed);
});
