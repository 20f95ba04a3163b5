// Tests which database a command takes, and that looking into one changes nothing.
// @module-tag slow
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { CheckpointStore, openStore } from "forkpoint";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkpoint, folder, windows } from "../helpers.js";
import { holdFile } from "../lock.js";
import { alone, answer, bytesOf, cli, filled, filledTexts, json, refused, withRun } from "./run.js";

/** The commands that only look, as their users write them. */
const looking: string[][] = [
  ["ls", "--all-ns", "--all"],
  ["ls", "--sort", "size"],
  ["show", "run-1"],
  ["show", "run-1", "--tree"],
  ["get", "run-1"],
  ["diff", "run-1"],
  ["tail", "--no-follow"],
  ["stats"],
  ["doctor"],
  ["verify"],
];

describe("the database", () => {
  test("is the one of --db, else of FORKPOINT_URL, else the only one in the directory", async () => {
    const [one, other, third] = await Promise.all(["one", "other", "third"].map((name) => withRun(name, 1)));
    const runs = async (args: string[], env: Record<string, string> = {}) =>
      (await json(["ls", ...args], { env, cwd: dirname(third!) })).runs.map((run: { run: string }) => run.run);
    expect(await runs(["--db", one!], { FORKPOINT_URL: other! })).toEqual(["one"]);
    expect(await runs(["-d", one!])).toEqual(["one"]);
    expect(await runs([], { FORKPOINT_URL: other! })).toEqual(["other"]);
    expect(await runs([], { FORKPOINT_URL: "" })).toEqual(["third"]);
    expect(await runs([`--db=${pathToFileURL(one!).href}`])).toEqual(["one"]);
    expect(await runs(["--db", `sqlite:${one}`])).toEqual(["one"]);
    const { stderr } = await cli(["ls"], { cwd: dirname(third!) });
    expect(stderr).toContain("agent.db");
    expect((await cli(["ls", "--db", one!])).stderr).toBe("");
  });

  test("may be named before the command", async () => {
    const path = await withRun("one", 1);
    expect(await answer(["--db", path, "ls", "--json"])).toBe(await answer(["ls", "--json", "--db", path]));
  });

  test("is found among other files, by its content", async () => {
    const path = await withRun("one", 1);
    const cwd = dirname(path);
    writeFileSync(join(cwd, "other.db"), "SQLite format 3\0");
    writeFileSync(join(cwd, "empty.db"), "");
    mkdirSync(join(cwd, "folder"));
    writeFileSync(join(cwd, "folder", "order.jsonl"), '{"something":"else"}\n');
    expect((await json(["ls"], { cwd })).runs).toHaveLength(1);
  });

  test("is found while the program that has made it still has it open", async () => {
    const cwd = folder();
    const store = await openStore(join(cwd, "agent.db"));
    onTestFinished(() => store.close());
    await new CheckpointStore(store).save(checkpoint({ runId: "young" }));
    expect((await json(["ls"], { cwd })).runs).toMatchObject([{ run: "young" }]);
  });

  test("may be a folder of text files, with and without its scheme", async () => {
    const target = await filledTexts();
    const path = target.slice("jsonl:".length);
    const [one, other, third] = await Promise.all([
      json(["ls", "--db", target]),
      json(["ls", "--db", path]),
      json(["ls"], { cwd: dirname(path) }),
    ]);
    expect(one.runs.length).toBeGreaterThan(0);
    expect(other).toEqual(one);
    expect(third).toEqual(one);
  });

  test("must be named if the directory has none or several", async () => {
    const cwd = folder();
    expect(await refused(["ls"], 2, { cwd })).toMatchObject({
      code: "USAGE",
      message: expect.stringContaining("--db"),
    });
    const path = await withRun("one", 1, join(cwd, "b.db"));
    copyFileSync(path, join(cwd, "a.db"));
    const { message } = await refused(["ls"], 2, { cwd });
    expect(message).toContain('"a.db"\n"b.db"');
    expect(message).toContain("FORKPOINT_URL");
  });

  test("that does not exist ends with 3 and is not created", async () => {
    const cwd = folder();
    const commands = [
      ...looking,
      ["fork", "run-1"],
      ["rm", "run-1", "-y"],
      ["vacuum", "-y"],
      ["copy", "--to", "other.db"],
    ];
    for (const args of [...commands, ["prune", "--keep-last", "1", "-y"], ["backup", "copy.db"]]) {
      const error = await refused([...args, "--db", "agent.db"], 3, { cwd });
      expect({ args, code: error.code }).toEqual({ args, code: "NOT_FOUND" });
    }
    expect(readdirSync(cwd)).toEqual([]);
    await refused(["ls", "--db", "jsonl:runs"], 3, { cwd });
    await refused(["ls", "--db", join(cwd, "no such folder", "agent.db")], 3);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test("of another program is refused", async () => {
    const path = join(folder(), "notes.txt");
    writeFileSync(path, "not a database, but a text that is longer than a header of SQLite".repeat(10));
    const { code } = await refused(["ls", "--db", path], 5);
    expect(["CORRUPT", "UNSUPPORTED"]).toContain(code);
    await refused(["ls", "--db", "mysql://localhost/db"], 5);
    await refused(["ls", "--db", ""], 2);
    await refused(["ls", "--db", "memory:"], 2);
  });
});

describe("looking", () => {
  test.each(looking.map((args) => [args.join(" "), args] as const))("%s changes no byte", async (_, args) => {
    const path = await filled();
    const before = [bytesOf(path), statSync(path).mtimeMs];
    const [command, ...others] = args;
    await answer([command!, "--db", path, ...others]);
    await answer([command!, "--db", path, "--json", ...others]);
    expect([bytesOf(path), statSync(path).mtimeMs]).toEqual(before);
    expect(readdirSync(dirname(path)).filter((name) => !/-(wal|shm)$/.test(name))).toEqual(["agent.db"]);
  });

  test("reads a file that may not be written, in a folder that may not", async () => {
    const path = await filled();
    chmodSync(path, 0o444);
    chmodSync(dirname(path), 0o555);
    onTestFinished(() => chmodSync(dirname(path), 0o755));
    for (const args of looking) await answer([args[0]!, "--db", path, ...args.slice(1)]);
    expect(existsSync(`${path}-wal`)).toBe(false);
  });

  test.skipIf(windows)("goes on while another process is in the middle of a commit", async () => {
    const path = await withRun("calm", 3);
    const holder = await holdFile(path);
    onTestFinished(() => holder.end());
    for (const args of [["ls"], ["show", "calm"], ["get", "calm"], ["diff", "calm"], ["stats"]]) {
      await answer([args[0]!, "--db", path, ...args.slice(1)]);
    }
  });
});

describe("a password", () => {
  const url = "postgres://someone:s3cr%40t-w0rd@127.0.0.1:1/db";

  test("is never printed", async () => {
    const path = await withRun("one", 1);
    const commands = [
      ["stats", "--db", url, "--json"],
      ["copy", "--db", path, "--to", url],
      ["tail", "--db", url, "--no-follow"],
      ["ls", "--limit", url],
      [url],
      ["ls", "--db", `x${url}`],
    ];
    // Each waits a while for the server, so they run at once.
    const env = { FORKPOINT_URL: `${url}?password=s3cret` };
    const [last, ...all] = await Promise.all([
      alone(["ls"], { env }),
      ...commands.map((args) => alone(args, { cwd: folder() })),
    ]);
    for (const { code, stdout, stderr } of all) {
      expect(code, stderr).toBeGreaterThan(1);
      expect(stdout + stderr).not.toMatch(/s3cr|w0rd/);
    }
    expect(last.code).toBe(5);
    expect(last.stderr).not.toMatch(/s3cr/);
  });

  test.skipIf(windows)("does not stop the user from seeing which database was meant", async () => {
    const { stderr } = await cli(["show", "x", "--db", url]);
    expect(stderr).toContain("127.0.0.1");
  });
});
