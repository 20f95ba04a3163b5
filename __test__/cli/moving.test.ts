// Tests export, import, copy and backup.
// @module-tag slow
import { createHash, randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CheckpointStore, openStore } from "forkpoint";
import { describe, expect, test } from "vitest";
import { contentOf } from "../contents.js";
import { checkpoint, folder, windows } from "../helpers.js";
import { answer, bytesOf, cli, filled, json, refused, withRun } from "./run.js";

/** What all frameworks read from a database. An import stores a message once for each session that has it. */
async function contents(target: string) {
  const store = await openStore(target);
  try {
    const { stats, ...content } = await contentOf(store);
    return { ...content, stats: { ...stats, records: undefined } };
  } finally {
    await store.close();
  }
}

/** The totals of an export. */
function doneOf(lines: string[]) {
  return (JSON.parse(lines.at(-1)!) as { done: { runs: number; checkpoints: number; writes: number } }).done;
}

describe("export", () => {
  test("writes JSON Lines to stdout", async () => {
    const path = await filled();
    const lines = (await answer(["export", "--db", path])).trimEnd().split("\n");
    expect(JSON.parse(lines[0]!)).toEqual({ forkpoint: "export", version: 1, at: expect.any(Number) });
    const count = (begin: string) => lines.filter((line) => line.startsWith(begin)).length;
    expect(doneOf(lines)).toEqual({
      runs: count('{"run":'),
      checkpoints: count('{"checkpoint":'),
      writes: count('{"write":'),
    });
    expect(count('{"end":')).toBe(count('{"run":'));
    // --json changes nothing: an export is JSON Lines anyway.
    const withoutTime = (text: string) => text.split("\n").slice(1);
    expect(withoutTime(await answer(["export", "--json", "--db", path]))).toEqual(withoutTime(`${lines.join("\n")}\n`));
  });

  test("takes runs, a space, a time, and leaves values out", async () => {
    const path = await filled();
    const of = async (...args: string[]) => (await answer(["export", "--db", path, ...args])).trimEnd().split("\n");
    expect(doneOf(await of("run-1", "run-2"))).toMatchObject({ runs: 2, checkpoints: 20 });
    expect(doneOf(await of("--space", "agentium"))).toMatchObject({ runs: 1, checkpoints: 5 });
    expect(doneOf(await of("--since", "0s"))).toEqual({ runs: 0, checkpoints: 0, writes: 0 });
    expect(doneOf(await of("--since", "1d", "--space", "agentium"))).toMatchObject({ runs: 1 });
    const bare = await of("run-1", "--no-values");
    expect(bare.join("\n")).not.toContain("of a conversation that grows");
    expect(bare.join("\n").length).toBeLessThan((await of("run-1")).join("\n").length);
    const file = join(folder(), "bare.jsonl");
    writeFileSync(file, `${bare.join("\n")}\n`);
    await refused(["import", file, "--db", join(folder(), "new.db")], 5);
  });

  test("--out makes a new private file", async () => {
    const path = await filled();
    const cwd = folder();
    const report = await json(["export", "--out", "runs.jsonl", "--db", path], { cwd });
    const file = join(cwd, "runs.jsonl");
    const lines = readFileSync(file, "utf8").trimEnd().split("\n");
    expect(report).toEqual({ ...doneOf(lines), skipped: 0, verified: true, path: file, bytes: statSync(file).size });
    if (!windows) expect(statSync(file).mode & 0o777).toBe(0o600);
    const before = bytesOf(file);
    expect(await refused(["export", "--out", "runs.jsonl", "--db", path], 5, { cwd })).toMatchObject({
      code: "CONFLICT",
    });
    expect(bytesOf(file)).toBe(before);
    expect(await answer(["export", "run-1", "--out", "other.jsonl", "--db", path], { cwd })).toMatch(
      /^✓ wrote .*other\.jsonl: 1 run, 10 checkpoints, 0 writes, .*B\n$/,
    );
    await refused(["export", "--out", join(cwd, "no such folder", "a.jsonl"), "--db", path], 3);
    expect(readdirSync(cwd).toSorted()).toEqual(["other.jsonl", "runs.jsonl"]);
  });

  test("--out compresses a file whose name says so, and import reads it", async () => {
    const path = await filled();
    const cwd = folder();
    const plain = await json(["export", "--out", "runs.jsonl", "--db", path], { cwd });
    const zst = await json(["export", "--out", "runs.jsonl.zst", "--db", path], { cwd });
    expect({ ...zst, path: "", bytes: 0 }).toEqual({ ...plain, path: "", bytes: 0 });
    expect(zst.bytes).toBeLessThan(plain.bytes);
    expect(zst.bytes).toBe(statSync(join(cwd, "runs.jsonl.zst")).size);
    const { path: _, bytes: __, ...report } = plain;
    expect(await json(["import", "runs.jsonl.zst", "--db", "file.db"], { cwd })).toEqual(report);
    expect(await contents(join(cwd, "file.db"))).toEqual(await contents(path));
    // Data that is not what was compressed is refused.
    const bytes = readFileSync(join(cwd, "runs.jsonl.zst"));
    for (const broken of [
      bytes.subarray(0, bytes.length / 2),
      Buffer.concat([bytes.subarray(0, 20), randomBytes(200)]),
    ]) {
      writeFileSync(join(cwd, "broken.zst"), broken);
      const { code } = await cli(["import", "broken.zst", "--db", "new.db"], { cwd });
      expect(code).toBe(5);
      expect(existsSync(join(cwd, "new.db"))).toBe(false);
    }
  });

  test("of an empty database has no runs", async () => {
    const path = join(folder(), "agent.db");
    await (await openStore(path)).close();
    const lines = (await answer(["export", "--db", path])).trimEnd().split("\n");
    expect(lines).toHaveLength(2);
    expect(doneOf(lines)).toEqual({ runs: 0, checkpoints: 0, writes: 0 });
  });
});

describe("import", () => {
  test("brings everything, from a file and from stdin, into a new database", async () => {
    const path = await filled();
    const text = await answer(["export", "--db", path]);
    const cwd = folder();
    writeFileSync(join(cwd, "runs.jsonl"), text);
    const file = await json(["import", "runs.jsonl", "--db", "file.db"], { cwd });
    expect(file).toEqual({ ...doneOf(text.trimEnd().split("\n")), skipped: 0, verified: true });
    const stdin = await json(["import", "-", "--db", "stdin.db"], { cwd, input: text });
    expect(stdin).toEqual(file);
    const folderOfText = await json(["import", "-", "--db", "jsonl:runs"], { cwd, input: text });
    expect(folderOfText).toEqual(file);
    const expected = await contents(path);
    for (const target of ["file.db", "stdin.db"]) expect(await contents(join(cwd, target))).toEqual(expected);
    expect(await contents(`jsonl:${join(cwd, "runs")}`)).toEqual(expected);
    // The same export comes out again.
    const sums = (lines: string) => [...lines.matchAll(/"sha256":"(\w+)"/g)].map(([, sum]) => sum).toSorted();
    expect(sums(await answer(["export", "--db", "file.db"], { cwd }))).toEqual(sums(text));
  });

  test("refuses, skips or replaces what is there already", async () => {
    const path = await withRun("one", 3);
    const cwd = folder();
    writeFileSync(join(cwd, "one.jsonl"), await answer(["export", "--db", path]));
    await withRun("one", 5, path);
    await withRun("two", 1, path);
    const import_ = (...args: string[]) => ["import", join(cwd, "one.jsonl"), "--db", path, ...args];
    expect(await refused(import_(), 5)).toMatchObject({ code: "CONFLICT", message: expect.stringContaining("one") });
    expect(await refused(import_("--dry-run"), 5)).toMatchObject({ code: "CONFLICT" });
    const skipped = await json(import_("--on-conflict", "skip"));
    expect(skipped).toEqual({ runs: 0, checkpoints: 0, writes: 0, skipped: 1, verified: true });
    expect((await json(["show", "one", "--db", path])).checkpoints).toHaveLength(5);
    const replaced = await json(import_("--replace", "--yes"));
    expect(replaced).toEqual({ runs: 1, checkpoints: 3, writes: 0, skipped: 0, verified: true });
    expect((await json(["show", "one", "--db", path])).checkpoints).toHaveLength(3);
    expect((await json(["show", "two", "--db", path])).checkpoints).toHaveLength(1);
  });

  test("--dry-run checks and writes nothing", async () => {
    const path = await filled();
    const cwd = folder();
    const text = await answer(["export", "--db", path]);
    writeFileSync(join(cwd, "runs.jsonl"), text);
    const dry = await json(["import", "runs.jsonl", "--dry-run", "--db", "new.db"], { cwd });
    expect(dry).toEqual({ ...doneOf(text.trimEnd().split("\n")), skipped: 0, verified: true, dryRun: true });
    expect(existsSync(join(cwd, "new.db"))).toBe(false);
    const there = await withRun("other", 1);
    const before = bytesOf(there);
    await json(["import", "-", "--dry-run", "--db", there], { input: text });
    expect(bytesOf(there)).toBe(before);
    expect((await json(["ls", "--db", there])).runs).toHaveLength(1);
  });

  test("of a torn, changed or foreign file writes nothing", async () => {
    const path = await filled();
    const cwd = folder();
    const text = await answer(["export", "--db", path]);
    const lines = text.trimEnd().split("\n");
    const broken: Record<string, string | Uint8Array> = {
      "without its end": `${lines.slice(0, -1).join("\n")}\n`,
      "cut in a line": text.slice(0, text.length / 2),
      empty: "",
      // The last one, so that other runs come before it.
      "with a changed value": text.replace(
        /([^]*"base64":"[^"]{10})([^"])/,
        (_, before, one) => before + (one === "A" ? "B" : "A"),
      ),
      "without a line": lines.filter((_, at) => at !== 3).join("\n"),
      "of something else": '{"hello":"world"}\n',
      "no JSON": "hello\n",
      "no text": new Uint8Array([0xff, 0xfe, 0x00, 0x80, 0x0a]),
      "of a later version": text.replace('"version":1', '"version":99'),
      compressed: new Uint8Array([0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3]),
    };
    for (const [what, content] of Object.entries(broken)) {
      writeFileSync(join(cwd, "broken.jsonl"), content);
      const { code, stdout, stderr } = await cli(["--json", "import", "broken.jsonl", "--db", "new.db"], { cwd });
      expect({ what, code, stdout, stderr }).toMatchObject({ what, code: 5, stdout: "" });
      expect(["INVALID_ARGUMENT", "CORRUPT", "UNSUPPORTED"]).toContain(JSON.parse(stderr).error.code);
      expect(readdirSync(cwd)).toEqual(["broken.jsonl"]);
    }
    // From a pipe, a run that does not fit to its checksum is taken out again.
    const stdin = await cli(["--json", "import", "-", "--db", "new.db"], {
      cwd,
      input: broken["with a changed value"] as string,
    });
    expect(stdin.code).toBe(5);
    const { message } = JSON.parse(stdin.stderr).error;
    const [, changed] = /run "(.*)" does not match its checksum/.exec(message)!;
    const runsOf = async (db: string) => {
      const { runs } = await json(["ls", "--all", "--all-ns", "--db", db], { cwd });
      return runs.map(({ run }: { run: string }) => run) as string[];
    };
    const imported = await runsOf("new.db");
    expect(imported.length).toBeGreaterThan(20);
    expect(await runsOf(path)).toEqual(expect.arrayContaining([...imported, changed]));
    expect(imported).not.toContain(changed);
    expect(await json(["doctor", "--db", "new.db"], { cwd })).toMatchObject({ ok: true, findings: [] });
  });

  test("reads lines that end in CR LF or hold U+2028", async () => {
    const path = join(folder(), "agent.db");
    const store = new CheckpointStore(path);
    await store.save(checkpoint({ runId: "a\u2028b", id: "c\u2029d" }));
    await store.close();
    const text = await answer(["export", "--db", path]);
    const to = join(folder(), "new.db");
    await json(["import", "-", "--db", to], { input: text.replaceAll("\n", "\r\n") });
    expect((await json(["ls", "--db", to])).runs[0]).toMatchObject({ run: "a\u2028b", latest: { id: "c\u2029d" } });
  });
});

describe("copy", () => {
  test("brings everything to another kind of store, and may be run again", async () => {
    const path = await filled();
    const cwd = folder();
    const first = await json(["copy", "--to", "jsonl:runs", "--db", path], { cwd });
    expect(first).toEqual({
      runs: expect.any(Number),
      checkpoints: (await json(["stats", "--db", path])).checkpoints,
      writes: (await json(["verify", "--db", path])).checked.writes,
      skipped: 0,
      verified: true,
    });
    const { stats, ...others } = await contents(path);
    // Text files hold the values as text.
    const copied = { ...others, stats: { ...stats, logicalBytes: expect.any(Number) as number } };
    expect(await contents(`jsonl:${join(cwd, "runs")}`)).toEqual(copied);
    const again = await json(["copy", "--to", "jsonl:runs", "--db", path], { cwd });
    expect(again).toEqual({ runs: 0, checkpoints: 0, writes: 0, skipped: first.runs, verified: true });
    const store = new CheckpointStore(path);
    await store.save(checkpoint({ id: "saved later", runId: "run-1" }));
    await store.save(checkpoint({ id: "saved later too", runId: "a new run" }));
    await store.close();
    const more = await json(["copy", "--to", "jsonl:runs", "--db", path], { cwd });
    expect(more).toEqual({ runs: 1, checkpoints: 2, writes: 0, skipped: first.runs, verified: true });
    const later = await contents(path);
    expect(await contents(`jsonl:${join(cwd, "runs")}`)).toEqual({
      ...later,
      stats: { ...later.stats, logicalBytes: expect.any(Number) as number },
    });
    expect((await json(["copy", "--to", "back.db", "--db", "jsonl:runs"], { cwd })).checkpoints).toBe(
      first.checkpoints + 2,
    );
    expect(await answer(["copy", "--to", "other.db", "--db", path], { cwd })).toMatch(/^✓ copied .*both are equal\n$/);
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
    expect(report).toEqual({ runs: 1, checkpoints: 2, writes: 0, skipped: 0, verified: true });
    expect((await json(["show", "one", "--db", other])).checkpoints).toHaveLength(2);
    expect((await json(["show", "two", "--db", other])).checkpoints).toHaveLength(2);
    const fresh = join(folder(), "new.db");
    expect(await json(["copy", "--to", fresh, "--db", path, "--replace", "--yes"])).toMatchObject({
      runs: 1,
      skipped: 0,
    });
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

test("an export is the same whatever the store", async () => {
  const path = await filled();
  const cwd = folder();
  await json(["copy", "--to", "jsonl:runs", "--db", path], { cwd });
  await json(["copy", "--to", "copy.db", "--db", "jsonl:runs"], { cwd });
  const sum = async (target: string) => {
    const lines = (await answer(["export", "--db", target], { cwd })).split("\n").slice(1);
    const ends = lines.filter((line) => line.startsWith('{"end":')).toSorted();
    return createHash("sha256").update(ends.join("\n")).digest("hex");
  };
  expect(await sum("jsonl:runs")).toBe(await sum("copy.db"));
});
