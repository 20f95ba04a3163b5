// Tests the commands that change a database: fork, prune, rm, vacuum. They ask before they remove something.
// @module-tag slow
import { randomBytes } from "node:crypto";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CheckpointStore, openStore } from "forkpoint";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkpoint, folder, windows } from "../helpers.js";
import { answer, bytesOf, cli, filled, inTerminal, json, refused, start, withRun } from "./run.js";

const linux = process.platform === "linux";

/** The number of checkpoints of a run. */
async function countOf(path: string, run: string): Promise<number> {
  const { runs } = await json(["ls", "--db", path, "--all", "--match", run]);
  return runs.find((each: { run: string }) => each.run === run)?.checkpoints ?? 0;
}

describe("fork", () => {
  test("makes a new run whose first checkpoint has another state, and leaves the source alone", async () => {
    const path = await withRun("source", 3);
    const before = await json(["get", "source", "--db", path]);
    const settings = ["--set", "scratch.n=0.9", "--set", '["scratch"]["new key"]=[1]'];
    const fork = await json(["fork", "source", "--db", path, ...settings]);
    expect(fork).toEqual({
      space: "agentos",
      run: expect.any(String),
      ns: null,
      id: expect.any(String),
      from: { space: "agentos", run: "source", ns: null, id: "source 2" },
      dryRun: false,
    });
    expect(fork.run).not.toBe("source");
    const made = await json(["get", fork.run, "--db", path]);
    expect(made.checkpoint).toMatchObject({ id: fork.id, parent: { run: "source", id: "source 2" } });
    expect(made.state.scratch).toEqual({ ...before.state.scratch, n: 0.9, "new key": [1] });
    expect(await json(["get", "source", "--db", path])).toEqual(before);
    expect((await json(["show", "source", "--db", path])).forks).toMatchObject([{ run: fork.run }]);
  });

  test("takes any checkpoint, and a name", async () => {
    const path = await withRun("source", 3);
    const one = await json(["fork", "source", "source 0", "--as", "mine", "--db", path]);
    expect(one).toMatchObject({ run: "mine", from: { id: "source 0" } });
    const other = await json(["fork", "source", "--step", "1", "--db", path]);
    expect(other.from.id).toBe("source 1");
    const again = await refused(["fork", "source", "--as", "mine", "--db", path], 5);
    expect(again.code).toBe("CONFLICT");
  });

  test("merges a patch from the arguments, a file or stdin", async () => {
    const path = await withRun("source", 3);
    const patch = JSON.stringify({ scratch: { n: null, added: { deep: true } } });
    const file = join(folder(), "patch.json");
    writeFileSync(file, patch);
    for (const [how, input] of [
      [patch, undefined],
      [`@${file}`, undefined],
      ["-", patch],
    ] as const) {
      const { run } = await json(
        ["fork", "source", "--patch", how, "--db", path],
        input === undefined ? {} : { input },
      );
      const { state } = await json(["get", run, "--db", path]);
      expect(state.scratch).toEqual({ notes: ["note 0", "note 1"], added: { deep: true } });
    }
    await refused(["fork", "source", "--patch", "@no such file", "--db", path], 3);
    expect(await refused(["fork", "source", "--patch", "@", "--db", path], 3)).toMatchObject({ code: "NOT_FOUND" });
  });

  test("--dry-run checks and writes nothing", async () => {
    const path = await withRun("source", 3);
    const before = bytesOf(path);
    const fork = await json(["fork", "source", "--set", "scratch.n=1", "--dry-run", "--as", "dry", "--db", path]);
    expect(fork).toMatchObject({ dryRun: true, run: "dry" });
    expect(fork).not.toHaveProperty("id");
    // Without --as, the new run gets its id when it is made.
    const unnamed = await json(["fork", "source", "--set", "scratch.n=1", "--dry-run", "--db", path]);
    expect(unnamed).not.toHaveProperty("run");
    expect(await countOf(path, "dry")).toBe(0);
    expect(bytesOf(path)).toBe(before);
    await refused(["fork", "source", "--set", "scratch.no.such.key=1", "--dry-run", "--db", path], 3);
  });

  test("tells what it has made, and names the call that resumes it", async () => {
    const path = await filled();
    for (const [args, call] of [
      [["w", "w2", "--space", "agentium"], 'workflow.runWithCheckpoints({ runId: "again", resume: true })'],
      [["run-1"], 'recover(graph, store, { runs: ["again"] })'],
    ] as const) {
      const { code, stdout, stderr } = await cli(["fork", ...args, "--as", "again", "--db", path]);
      expect({ args, code }).toEqual({ args, code: 0 });
      expect(stdout).toMatch(/^✓ forked checkpoint \w+ of [\w-]+ to .+ of again\n$/);
      expect(stderr).toContain(call);
      await answer(["rm", "again", "--yes", "--db", path]);
    }
  });

  test("says that a key is new, and lists the keys", async () => {
    const path = await withRun("one", 2);
    const note = "m is a new key of scratch, which has n, notes\n";
    const { stderr } = await cli(["fork", "one", "--set", "scratch.m=1", "--db", path]);
    expect(stderr).toContain(note);
    expect((await cli(["fork", "one", "--set", "scratch.n=1", "--db", path])).stderr).not.toContain("new key");
    expect((await cli(["fork", "one", "--set", "scratch.notes[1]=1", "--db", path])).stderr).not.toContain("new key");
    expect((await cli(["fork", "one", "--json", "--set", "scratch.m=1", "--db", path])).stderr).toBe(note);
  });

  test.each([
    ["scratch.n=hello", `Text needs quotes: --set 'scratch.n="hello"'`],
    ["scratch.n=it's", `Text needs quotes: --set 'scratch.n="it'\\''s"'`],
    ["scratch.n=2026-01-01", `Text needs quotes: --set 'scratch.n="2026-01-01"'`],
    ["scratch.n=", `Text needs quotes: --set 'scratch.n=""'`],
    ["scratch.n=[1,", "invalid JSON"],
    ['scratch.n="hello', "invalid JSON"],
  ])("text without quotes: %s", async (setting, message) => {
    const error = await refused(["fork", "one", "--set", setting, "--db", await withRun("one", 1)], 2);
    expect(error.message).toContain(message);
  });
});

describe("rm", () => {
  test("removes a run, or some of its checkpoints", async () => {
    const path = await filled();
    // All that it is told, or none.
    await refused(["rm", "run-1", "--checkpoint", "g7", "--checkpoint", "no such", "-y", "--db", path], 3);
    expect(await json(["rm", "run-1", "--checkpoint", "g7", "--checkpoint", "g10", "-y", "--db", path])).toEqual({
      dryRun: false,
      removed: 2,
    });
    expect(await countOf(path, "run-1")).toBe(8);
    await refused(["get", "run-1", "g7", "--db", path], 3);
    expect(await json(["rm", "run-1", "--yes", "--db", path])).toEqual({ dryRun: false, removed: 8 });
    await refused(["show", "run-1", "--db", path], 3);
    expect(await countOf(path, "run-2")).toBe(10);
  });

  test("--dry-run says how many, and writes nothing", async () => {
    const path = await filled();
    const before = bytesOf(path);
    expect(await json(["rm", "run-1", "--dry-run", "--db", path])).toEqual({ dryRun: true, removed: 10 });
    expect(await json(["rm", "run-1", "--checkpoint", "g7", "--dry-run", "--db", path])).toEqual({
      dryRun: true,
      removed: 1,
    });
    expect(bytesOf(path)).toBe(before);
    const thread = await json(["rm", "t0", "--space", "tinyagents", "--dry-run", "--db", path]);
    expect(await json(["rm", "t0", "--space", "tinyagents", "-y", "--db", path])).toEqual({ ...thread, dryRun: false });
  });
});

describe("prune", () => {
  test("removes by each rule", async () => {
    const path = await filled();
    const keep = await json(["prune", "--keep-last", "4", "--space", "agentos", "--yes", "--db", path]);
    expect(keep).toEqual({ dryRun: false, removed: 18 - 1, bytes: expect.any(Number), lineages: 0 });
    expect(await countOf(path, "run-1")).toBe(4);
    expect(await countOf(path, "w")).toBe(5);
    const old = await json(["prune", "--older-than", "1h", "--yes", "--db", path]);
    expect(old).toMatchObject({ removed: 0, lineages: 0 });
    const size = await json(["prune", "--max-bytes", "1B", "--yes", "--db", path]);
    expect(size.removed).toBeGreaterThan(0);
    // The newest of a run stays.
    expect(await countOf(path, "run-1")).toBe(1);
    await json(["prune", "--older-than", "1ms", "--yes", "--db", path]);
    expect((await json(["stats", "--db", path])).spaces.agentos).toBeUndefined();
  });

  test("--dry-run says the same, and removes nothing", async () => {
    const path = await withRun("one", 10);
    const before = bytesOf(path);
    const dry = await json(["prune", "--keep-last", "3", "--dry-run", "--db", path]);
    expect(dry).toMatchObject({ dryRun: true, removed: 7, lineages: 0 });
    expect(bytesOf(path)).toBe(before);
    expect(await answer(["prune", "--keep-last", "3", "--dry-run", "--db", path])).toContain(
      "would remove 7 checkpoints",
    );
    expect(await countOf(path, "one")).toBe(10);
    expect(await json(["prune", "--keep-last", "3", "--yes", "--db", path])).toMatchObject({
      dryRun: false,
      removed: 7,
    });
  });
});

describe("prune --watch", () => {
  test("removes again and again, and tells it, until it is stopped", async () => {
    const path = await withRun("one", 10);
    const prune = start(["prune", "--keep-last", "3", "--watch", "--every", "50ms", "--yes", "--json", "--db", path]);
    const line = JSON.parse((await prune.lines(1))[0]!) as object;
    expect(line).toEqual({
      at: expect.any(Number),
      removed: 7,
      bytes: expect.any(Number),
      lineages: 0,
      ms: expect.any(Number),
    });
    const store = new CheckpointStore(path);
    onTestFinished(() => store.close());
    for (let n = 0; n < 5; n++) await store.save(checkpoint({ id: `later ${n}`, runId: "later", timestamp: n }));
    await expect.poll(async () => (await store.stats()).checkpoints, { timeout: 20_000 }).toBe(6);
    prune.child.kill("SIGINT");
    expect(await prune.ended).toMatchObject({ code: windows ? null : 0, stderr: "" });
    // A line for people.
    const again = start(["prune", "--keep-last", "2", "--watch", "--yes", "--db", path]);
    expect((await again.lines(1))[0]).toMatch(/^\S+ \S+ {2}\d checkpoints removed, \S+ \S+ freed in /);
    again.child.kill("SIGINT");
    expect(await again.ended).toMatchObject({ code: windows ? null : 0 });
  });

  test.each([
    [["--watch", "--dry-run"], "pass --watch or --dry-run, not both"],
    [["--every", "1m"], "pass --every together with --watch"],
    [["--share", "0%"], "from 1% to 100%"],
    [["--share", "101"], "from 1% to 100%"],
  ])("refuses %j", async (args, why) => {
    const path = await withRun("one", 1);
    const { code, stderr } = await cli(["prune", "--keep-last", "1", "--yes", ...args, "--db", path]);
    expect(code).toBe(2);
    expect(stderr).toContain(why);
  });
});

test("vacuum gives room back", async () => {
  const path = join(folder(), "agent.db");
  const store = await openStore(path);
  const graphs = new CheckpointStore(store);
  for (let n = 0; n < 20; n++) {
    const state = { ...checkpoint().state, scratch: { noise: randomBytes(100_000) } };
    await graphs.save(checkpoint({ id: `${n}`, runId: "one", timestamp: n, state }));
  }
  await store.prune({ keepLastN: 1 });
  await store.close();
  const { size } = statSync(path);
  expect(await json(["vacuum", "--dry-run", "--db", path])).toMatchObject({ dryRun: true, before: size });
  expect(statSync(path).size).toBe(size);
  const { before, after } = await json(["vacuum", "--yes", "--db", path]);
  expect(before).toBe(size);
  expect(after).toBeLessThan(before / 4);
  expect(statSync(path).size).toBe(after);
  expect(await countOf(path, "one")).toBe(1);
});

describe("a dangerous command", () => {
  const dangerous: Array<[name: string, args: string[]]> = [
    ["rm", ["rm", "one"]],
    ["rm of a checkpoint", ["rm", "one", "--checkpoint", "one 0"]],
    ["prune", ["prune", "--keep-last", "1"]],
    ["vacuum", ["vacuum"]],
    ["backup --force", ["backup", "there.db", "--force"]],
    ["restore", ["restore", "there.db"]],
    ["import --replace", ["import", "there", "--replace"]],
    ["copy --replace", ["copy", "--to", "there.db", "--replace"]],
  ];

  async function prepared() {
    const path = await withRun("one", 3);
    const cwd = join(path, "..");
    await answer(["export", "--out", "there", "--db", path], { cwd });
    await answer(["backup", "there.db", "--db", path], { cwd });
    return { path, cwd, state: () => [bytesOf(path), bytesOf(join(cwd, "there.db"))] };
  }

  test.each(dangerous)("without a terminal needs --yes: %s", async (_, args) => {
    const { path, cwd, state } = await prepared();
    const before = state();
    const error = await refused([args[0]!, "--db", path, ...args.slice(1)], 4, { cwd });
    expect(error).toMatchObject({ code: "NOT_CONFIRMED", retryable: false });
    expect(error.message).toContain("--yes");
    expect(state()).toEqual(before);
    expect((await cli([args[0]!, "--db", path, ...args.slice(1), "--yes"], { cwd })).code).toBe(0);
  });

  test.runIf(linux).each(dangerous)("in a terminal says what it would do, and asks: %s", async (name, args) => {
    const { path, cwd, state } = await prepared();
    const before = state();
    const run = [args[0]!, "--db", path, ...args.slice(1)];
    const others = [
      ["\r", 4],
      ["\u001b", 4],
      ["\u0003", 130],
    ] as const;
    // All commands ask in the same way.
    for (const [keys, code] of [["n", 4] as const, ...(name === "rm" ? others : [])]) {
      const shown = await inTerminal(run, { cwd, keys });
      expect({ keys, code: shown.code, screen: shown.screen }).toMatchObject({ keys, code });
      expect(shown.screen).toMatch(/this (removes|rewrites|replaces) /);
      expect(state()).toEqual(before);
    }
    expect((await inTerminal(run, { cwd, keys: "y" })).code).toBe(0);
  });
});

describe("label", () => {
  test("sets, removes and prints labels, by which ls finds the run", async () => {
    const path = await withRun("source", 3);
    const ref = { space: "agentos", run: "source", ns: null };
    const labels = (...changes: string[]) => json(["label", "source", ...changes, "--db", path]);
    expect(await labels()).toEqual({ run: ref, labels: {} });
    expect(await labels("customer=acme", "note=a=b -")).toEqual({
      run: ref,
      labels: { customer: "acme", note: "a=b -" },
    });
    const found = async (...args: string[]) =>
      (await json(["ls", "--db", path, ...args])).runs.map(({ run }: { run: string }) => run);
    expect(await found("--label", "customer=acme", "--label", "note=a=b -")).toEqual(["source"]);
    expect(await found("--label", "customer=acme", "--label", "note=")).toEqual([]);
    expect(await answer(["show", "source", "--db", path])).toContain("labels customer=acme, note=a=b -");
    expect(await answer(["label", "sour", "customer-", "plan=\u001b", "--db", path])).toBe(
      "✓ source: note=a=b -, plan=\\u001b\n",
    );
    expect(await answer(["label", "source", "--db", path])).toBe("note=a=b -, plan=\\u001b\n");
    expect(await answer(["label", "source", "note-", "plan-", "--db", path])).toBe("✓ source: no labels\n");
    expect(await answer(["ls", "--db", path])).not.toContain("LABELS");
  });

  test("refuses what is no label, and a run that is not there", async () => {
    const path = await withRun("source", 1);
    for (const change of ["customer", "=acme", "-", ""])
      expect((await refused(["label", "source", change, "--db", path], 2)).message).toContain("expected a label");
    expect((await refused(["ls", "--label", "customer", "--db", path], 2)).message).toContain("expected a label");
    expect((await refused(["label", "source", `a=${"x".repeat(501)}`, "--db", path], 5)).message).toContain("500");
    expect((await refused(["label", "nowhere", "a=b", "--db", path], 3)).code).toBe("NOT_FOUND");
    expect(await json(["label", "source", "--db", path])).toMatchObject({ labels: {} });
  });
});
