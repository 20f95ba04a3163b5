// Tests export, import, copy, backup and restore.
// @module-tag slow
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CheckpointStore, openStore } from "forkpoint";
import { SessionStore } from "forkpoint/helix";
import { describe, expect, onTestFinished, test } from "vitest";
import { contentOf } from "../contents.js";
import { checkpoint, damage, folder, windows } from "../helpers.js";
import { answer, bytesOf, cli, copies, filled, json, refused, withRun } from "./run.js";

/** What all frameworks read from a database. A copy by run may store a message once for each session that has it. */
async function contents(target: string) {
  const store = await openStore(target);
  try {
    const { stats, ...content } = await contentOf(store);
    return { ...content, stats: { ...stats, records: undefined } };
  } finally {
    await store.close();
  }
}

/** All values of an export, as its folder has them: jq reads them. */
function linesIn(path: string): Array<Record<string, unknown>> {
  const files = readdirSync(path, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".jsonl"));
  const lines = files.toSorted().flatMap((name) => readFileSync(join(path, name), "utf8").trimEnd().split("\n"));
  return lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Record<string, unknown>);
}

/** A database with a damaged payload of the run `broken`, which is between two others. */
const withDamage = copies(async (path) => {
  const mark = "marker in the state";
  const store = new CheckpointStore(path);
  for (const runId of ["whole-1", "broken", "whole-2"]) {
    for (let n = 0; n < 3; n++) {
      // The random bytes prevent compression, so that the marker can be found in the file.
      const scratch = { text: runId === "broken" && n === 1 ? `a ${mark}` : "x", noise: randomBytes(3_000) };
      const state = { ...checkpoint().state, scratch };
      await store.save(checkpoint({ id: `${runId} ${n}`, runId, timestamp: n, state }));
    }
  }
  await store.close();
  damage(path, mark);
});

describe("a damaged run", () => {
  test("stops an export, which leaves no folder, and a copy", async () => {
    const path = await withDamage();
    const cwd = folder();
    for (const args of [
      ["export", "--out", "runs"],
      ["export", "whole-1", "broken", "--out", "runs"],
      ["copy", "--to", "copy.db"],
    ]) {
      const { message } = await refused([...args, "--db", path], 5, { cwd });
      expect(message).toMatch(/broken 1.*damaged.*Add --skip-damaged to leave out damaged runs$/);
    }
    expect(readdirSync(cwd).filter((name) => !name.startsWith("copy.db"))).toEqual([]);
    // A folder that was there before stays.
    const whole = await json(["export", "whole-1", "--out", "runs", "--skip-damaged", "--db", path], { cwd });
    expect(whole).toMatchObject({ runs: 1, damaged: [] });
    await refused(["export", "--out", "runs", "--db", path], 5, { cwd });
    expect((await json(["ls", "--db", "runs"], { cwd })).runs).toHaveLength(1);
  });

  test.each([
    ["export", "--out", "jsonl:runs"],
    ["copy", "--to", "copy.db"],
  ])("is left out and named by %s %s with --skip-damaged", async (name, flag, target) => {
    const path = await withDamage();
    const cwd = folder();
    const args = [name, flag, target.replace("jsonl:", ""), "--skip-damaged", "--db", path];
    const { code, stdout } = await cli(args, { cwd });
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /2 runs with 6 checkpoints and 0 writes.*; verified\n✗ left out 1 damaged run:\n {2}broken \(agentos\): .*broken 1/,
    );
    const report = JSON.parse((await cli([...args, "--json"], { cwd })).stdout);
    // What the first one has copied is there.
    expect(report).toMatchObject({ runs: 0, skipped: 2, damaged: [{ space: "agentos", run: "broken", ns: null }] });
    const db = target.replace("jsonl:", "");
    const { runs } = await json(["ls", "--db", db], { cwd });
    expect(runs.map(({ run }: { run: string }) => run).toSorted()).toEqual(["whole-1", "whole-2"]);
    expect((await json(["verify", "--db", db], { cwd })).ok).toBe(true);
    expect(await json(["get", "whole-2", "--db", db], { cwd })).toMatchObject({ checkpoint: { id: "whole-2 2" } });
  });

  test("of a session is left out with its messages", async () => {
    const path = join(folder(), "agent.db");
    const sessions = new SessionStore(path);
    for (const id of ["whole", "broken"]) {
      await sessions.createSession(id, { agentType: "a" });
      const content = { marker: id === "broken" ? "a marker in the value" : "none" };
      await sessions.appendMessages(id, [{ role: "user", content }]);
    }
    await sessions.close();
    damage(path, "marker in the value");
    const cwd = folder();
    const { code, stdout } = await cli(["export", "--out", "runs", "--skip-damaged", "--json", "--db", path], { cwd });
    expect({ code, damaged: JSON.parse(stdout).damaged }).toMatchObject({ code: 1, damaged: [{ run: "broken" }] });
    expect((await json(["ls", "--db", "runs"], { cwd })).runs).toMatchObject([{ run: "whole" }]);
  });
});

describe("export", () => {
  test("writes a folder of JSON Lines, which is a store", async () => {
    const path = await filled();
    const cwd = folder();
    const report = await json(["export", "--out", "runs", "--db", path], { cwd });
    const checkpoints = linesIn(join(cwd, "runs")).filter((line) => "checkpoint" in line);
    expect(report).toEqual({
      runs: expect.any(Number),
      checkpoints: (await json(["stats", "--db", path])).checkpoints,
      effects: 0,
      writes: expect.any(Number),
      skipped: 0,
      verified: true,
      path: join(cwd, "runs"),
    });
    expect(checkpoints.length).toBeGreaterThanOrEqual(report.checkpoints);
    expect(JSON.stringify(checkpoints)).toContain("note 1 of a conversation that grows");
    if (!windows) expect(statSync(join(cwd, "runs")).mode & 0o077).toBe(0);
    expect((await json(["ls", "--all", "--db", "runs"], { cwd })).runs).toHaveLength(
      (await json(["ls", "--all", "--db", path])).runs.length,
    );
    // What is new is added.
    const again = await json(["export", "--out", "runs", "--db", path], { cwd });
    expect(again).toEqual({ ...report, runs: 0, checkpoints: 0, writes: 0, skipped: report.runs });
    expect(await answer(["export", "run-1", "--out", "one", "--db", path], { cwd })).toMatch(
      /^✓ wrote .*one: 1 run with 10 checkpoints and 0 writes; verified\n$/,
    );
    await refused(["export", "--out", join(cwd, "no such folder", "a"), "--db", path], 5);
    expect(readdirSync(cwd).toSorted()).toEqual(["one", "runs"]);
    await refused(["export", "--db", path], 2);
  });

  test("takes runs, a space and a time", async () => {
    const path = await filled();
    const cwd = folder();
    let number = 0;
    const of = async (...args: string[]) =>
      json(["export", "--db", path, "--out", join(cwd, `${number++}`), ...args]) as Promise<object>;
    expect(await of("run-1", "run-2")).toMatchObject({ runs: 2, checkpoints: 20 });
    expect(await of("--space", "agentium")).toMatchObject({ runs: 1, checkpoints: 5 });
    expect(await of("--since", "0s")).toMatchObject({ runs: 0, checkpoints: 0, writes: 0 });
    expect(await of("--since", "1d", "--space", "agentium")).toMatchObject({ runs: 1 });
    // Other runs may be there.
    number = 0;
    expect(await of("run-0")).toMatchObject({ runs: 1, checkpoints: 9 });
    expect((await json(["ls", "--db", join(cwd, "0")])).runs).toHaveLength(3);
  });

  test("refuses a folder with something else", async () => {
    const path = await filled();
    const cwd = folder();
    await json(["export", "run-1", "--out", "runs", "--db", path], { cwd });
    expect(await refused(["export", "--out", "runs", "--db", path], 5, { cwd })).toMatchObject({ code: "CONFLICT" });
    writeFileSync(join(cwd, "file"), "text");
    const { code } = await cli(["export", "--out", "file", "--db", path], { cwd });
    expect(code).not.toBe(0);
    expect(readFileSync(join(cwd, "file"), "utf8")).toBe("text");
  });
});

describe("import", () => {
  test("brings everything into a new database, and from any kind of store", async () => {
    const path = await filled();
    const cwd = folder();
    const { path: _, ...report } = await json(["export", "--out", "runs", "--db", path], { cwd });
    for (const from of ["runs", "jsonl:runs", path]) {
      const to = join(folder(), "new.db");
      expect(await json(["import", from, "--db", to], { cwd })).toEqual(report);
      const [before, after] = [await contents(path), await contents(to)];
      // Values that were text files are stored as JSON.
      for (const content of [before, after]) Object.assign(content.stats, { logicalBytes: undefined });
      expect(after).toEqual(before);
    }
  });

  test("refuses, skips or replaces what is there with another content", async () => {
    const path = await withRun("one", 3);
    const cwd = folder();
    await answer(["export", "--db", path, "--out", "one"], { cwd });
    const import_ = (...args: string[]) => ["import", join(cwd, "one"), "--db", path, ...args];
    // What is equal is no conflict, and nothing new.
    const none = { runs: 0, checkpoints: 0, effects: 0, writes: 0, skipped: 1, verified: true };
    expect(await json(import_())).toEqual(none);
    expect(await answer(import_())).toBe("✓ nothing new to import: 1 run is already there; verified\n");
    await withRun("one", 5, path);
    await withRun("two", 1, path);
    const error = await refused(import_(), 5);
    expect(error).toMatchObject({ code: "CONFLICT", message: expect.stringMatching(/"one".*--on-conflict skip/) });
    const skipped = await json(import_("--on-conflict", "skip"));
    expect(skipped).toEqual(none);
    expect((await json(["show", "one", "--db", path])).checkpoints).toHaveLength(5);
    expect(await json(import_("--replace", "--yes"))).toEqual({ ...none, runs: 1, checkpoints: 3, skipped: 0 });
    expect((await json(["show", "one", "--db", path])).checkpoints).toHaveLength(3);
    expect((await json(["show", "two", "--db", path])).checkpoints).toHaveLength(1);
    expect(await refused(["import", path, "--db", path], 2)).toMatchObject({ code: "USAGE" });
  });

  test("--dry-run verifies and writes nothing", async () => {
    const path = await filled();
    const cwd = folder();
    await json(["export", "run-1", "run-2", "--out", "runs", "--db", path], { cwd });
    const dry = await json(["import", "runs", "--dry-run", "--db", "new.db"], { cwd });
    expect(dry).toEqual({ runs: 2, checkpoints: 20, there: 0, dryRun: true });
    expect(existsSync(join(cwd, "new.db"))).toBe(false);
    const there = await withRun("run-1", 1);
    const before = bytesOf(there);
    expect(await json(["import", "runs", "--dry-run", "--db", there], { cwd })).toMatchObject({ runs: 2, there: 1 });
    expect(bytesOf(there)).toBe(before);
    expect(await answer(["import", "runs", "--dry-run", "--db", there], { cwd })).toBe(
      "would import 2 runs with 20 checkpoints; already there: 1 run\n",
    );
  });

  test("of a torn, changed or foreign folder writes no wrong run", async () => {
    const path = await withRun("one", 3);
    const broken: Record<string, (folder: string) => void> = {
      "without a file": (folder) => rmSync(join(folder, "agentos", "one.jsonl")),
      "cut in a line": (folder) =>
        change(join(folder, "agentos", "one.jsonl"), (text) => text.slice(0, text.length / 2)),
      "with a changed value": (folder) =>
        change(join(folder, "agentos", "one.jsonl"), (text) => text.replace("one 1", "one 9")),
      "without a line": (folder) =>
        change(join(folder, "agentos", "one.jsonl"), (text) => text.split("\n").toSpliced(1, 1).join("\n")),
      "of a later version": (folder) =>
        change(join(folder, "order.jsonl"), (text) => text.replace(/"version":\d+/, '"version":99')),
      "without its last commit": (folder) => change(join(folder, "order.jsonl"), withoutLastLine),
      "without its journal": (folder) => rmSync(join(folder, "order.jsonl")),
    };
    for (const [what, damage] of Object.entries(broken)) {
      const cwd = folder();
      await json(["export", "--out", "runs", "--db", path], { cwd });
      damage(join(cwd, "runs"));
      for (const args of [["--dry-run"], []]) {
        const { code, stdout, stderr } = await cli(["--json", "import", "runs", "--db", "new.db", ...args], { cwd });
        expect({ what, code, stdout, stderr }).toMatchObject({ what, code: 5, stdout: "" });
        expect(["CORRUPT", "UNSUPPORTED"], what).toContain(JSON.parse(stderr).error.code);
      }
      if (!existsSync(join(cwd, "new.db"))) continue;
      expect(await json(["doctor", "--db", "new.db"], { cwd })).toMatchObject({ ok: true, findings: [] });
    }
    const other = join(folder(), "export.jsonl");
    writeFileSync(other, '{"forkpoint":"export","version":1}\n'.repeat(50));
    expect((await cli(["import", other, "--db", join(folder(), "new.db")])).code).toBe(5);
  });
});

const withoutLastLine = (text: string) => text.slice(0, text.lastIndexOf("\n", text.length - 2) + 1);

function change(path: string, edit: (text: string) => string): void {
  const text = readFileSync(path, "utf8");
  expect(edit(text)).not.toBe(text);
  writeFileSync(path, edit(text));
}

describe("copy", () => {
  test("prints how many runs were copied, and how many were already there", async () => {
    const path = await withRun("one", 2);
    const cwd = folder();
    const copy = () => answer(["copy", "--to", "jsonl:runs", "--db", path], { cwd });
    const export_ = () => answer(["export", "--out", "out", "--db", path], { cwd });
    expect(await copy()).toBe("✓ copied 1 run with 2 checkpoints and 0 writes to jsonl:runs; verified\n");
    expect(await copy()).toBe("✓ nothing new to copy to jsonl:runs: 1 run is already there; verified\n");
    expect(await export_()).toBe(`✓ wrote ${join(cwd, "out")}: 1 run with 2 checkpoints and 0 writes; verified\n`);
    expect(await export_()).toBe(`✓ nothing new to export to ${join(cwd, "out")}: 1 run is already there; verified\n`);
    const store = new CheckpointStore(path);
    await store.save(checkpoint({ id: "later", runId: "one", timestamp: 9 }));
    expect(await copy()).toBe("✓ copied 1 checkpoint and 0 writes to jsonl:runs; 1 run is already there; verified\n");
    await store.save(checkpoint({ id: "other", runId: "two" }));
    await store.close();
    expect(await copy()).toBe(
      "✓ copied 1 run with 1 checkpoint and 0 writes to jsonl:runs; 1 run is already there; verified\n",
    );
    expect(await copy()).toBe("✓ nothing new to copy to jsonl:runs: 2 runs are already there; verified\n");
  });

  test("refuses a destination with something else, and itself", async () => {
    const [path, other] = [await withRun("one", 2), await withRun("two", 2)];
    const before = bytesOf(other);
    expect(await refused(["copy", "--to", other, "--db", path], 5)).toMatchObject({ code: "CONFLICT" });
    expect(bytesOf(other)).toBe(before);
    await refused(["copy", "--to", path, "--db", path], 2);
    await refused(["copy", "--to", path, "--db", path, "--replace", "--yes"], 2);
    await refused(["copy", "--to", `sqlite:${join(dirname(path), ".", "agent.db")}`, "--db", path], 2);
  });

  test("--replace replaces the runs of the source, and keeps others", async () => {
    const [path, other] = [await withRun("one", 2), await withRun("two", 2)];
    await withRun("one", 5, other);
    const report = await json(["copy", "--to", other, "--db", path, "--replace", "--yes"]);
    expect(report).toEqual({ runs: 1, checkpoints: 2, effects: 0, writes: 0, skipped: 0, verified: true });
    expect((await json(["show", "one", "--db", other])).checkpoints).toHaveLength(2);
    expect((await json(["show", "two", "--db", other])).checkpoints).toHaveLength(2);
  });
});

describe("backup", () => {
  test("makes a verified private copy, and leaves a file alone", async () => {
    const path = await filled();
    const cwd = folder();
    const report = await json(["backup", "copy.db", "--db", path], { cwd });
    const file = join(cwd, "copy.db");
    const { checkpoints } = await json(["stats", "--db", path]);
    expect(report).toEqual({ path: file, bytes: statSync(file).size, checkpoints, verified: true });
    if (!windows) expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(await contents(file)).toEqual(await contents(path));
    const before = bytesOf(file);
    expect(await refused(["backup", "copy.db", "--db", path], 5, { cwd })).toMatchObject({ code: "CONFLICT" });
    expect(bytesOf(file)).toBe(before);
    await withRun("more", 1, path);
    const forced = await json(["backup", "copy.db", "--force", "--yes", "--db", path], { cwd });
    expect(forced.checkpoints).toBe(checkpoints + 1);
    mkdirSync(join(cwd, "folder"));
    expect((await cli(["backup", "folder", "--db", path], { cwd })).code).toBe(5);
    expect(await answer(["backup", "other.db", "--db", path], { cwd })).toMatch(
      /^✓ wrote .*other\.db: \d+ checkpoints, .* verified\n$/,
    );
  });
});

describe("restore", () => {
  test("puts the backup's content into a database that a process has open", async () => {
    const path = await filled();
    const cwd = folder();
    await json(["backup", "copy.db", "--db", path], { cwd });
    const before = await contents(path);
    const store = openStore(path);
    onTestFinished(async () => (await store).close());
    await (await store).stats();
    await withRun("more", 2, path);
    const backup = bytesOf(join(cwd, "copy.db"));
    const { checkpoints } = await json(["stats", "--db", "copy.db"], { cwd });
    const dry = await json(["restore", "copy.db", "--dry-run", "--db", path], { cwd });
    expect(dry).toMatchObject({ checkpoints, dryRun: true });
    expect((await (await store).stats()).checkpoints).toBe(checkpoints + 2);
    expect(await json(["restore", "copy.db", "--yes", "--db", path], { cwd })).toMatchObject({ path, checkpoints });
    expect((await (await store).stats()).checkpoints).toBe(checkpoints);
    expect(await contents(path)).toEqual(before);
    expect(bytesOf(join(cwd, "copy.db"))).toBe(backup);
    expect(await json(["verify", "--db", path])).toMatchObject({ ok: true });
  });

  test("creates a database, and says what was restored", async () => {
    const path = await filled();
    const cwd = folder();
    await json(["backup", "copy.db", "--db", path], { cwd });
    expect(await answer(["restore", "copy.db", "--yes", "--db", "new.db"], { cwd })).toMatch(
      /^✓ restored new\.db: \d+ checkpoints, .* verified\n$/,
    );
    expect(await contents(join(cwd, "new.db"))).toEqual(await contents(path));
  });
});
