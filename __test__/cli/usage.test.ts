// Tests what the command line says when it is not used as it should be, its help, and its exit codes.
// @module-tag slow
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { suggested } from "../../tools/cli/suggest.js";
import { folder } from "../helpers.js";
import { alone, answer, cli, filled, main, refused, startProgram } from "./run.js";

const commands =
  "demo ls show get diff effects fork settle tail stats export import copy prune rm vacuum backup restore verify drain-check doctor studio completion".split(
    " ",
  );

describe("help", () => {
  test("of the program lists all commands, on stdout", async () => {
    const help = await answer(["--help"]);
    for (const name of commands) expect(help).toMatch(new RegExp(`^  ${name}\\b`, "m"));
    expect(await answer(["help"])).toBe(help);
    expect(await answer(["-h"])).toBe(help);
  });

  test.each(commands)("of %s has an example of its use and its flags", async (name) => {
    const help = await answer([name, "--help"]);
    expect(help).toMatch(new RegExp(`^Usage: forkpoint ${name}\\b`));
    if (name !== "completion") {
      for (const flag of ["-d, --db", "--json", "--color", "--serializer"]) expect(help).toContain(flag);
    }
    expect(await answer(["help", name])).toBe(help);
  });

  test("is on stderr if no command was given", async () => {
    const { code, stdout, stderr } = await alone([]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toContain("Usage: forkpoint");
    const json = await cli(["--json"]);
    expect({ code: json.code, stdout: json.stdout }).toEqual({ code: 2, stdout: "" });
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: "USAGE", retryable: false } });
  });
});

test("--version prints the version of the package", async () => {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
  expect(await answer(["--version"])).toBe(`${version}\n`);
  expect(await answer(["-V"])).toBe(`${version}\n`);
});

test("help, versions and mistakes load no addon", async () => {
  const path = join(folder(), "no-addon.cjs");
  writeFileSync(path, `process.dlopen = () => { console.error("loaded"); process.exit(99); };`);
  const run = (...args: string[]) => startProgram(process.execPath, ["--require", path, main, ...args]).ended;
  for (const [args, code] of [
    [["--help"], 0],
    [["--version"], 0],
    [["completion", "bash"], 0],
    [["get", "--help"], 0],
    [[], 2],
    [["lss"], 2],
    [["ls", "--nope"], 2],
  ] as const) {
    const ended = await run(...args);
    expect({ args, code: ended.code, loaded: ended.stderr.includes("loaded") }).toEqual({ args, code, loaded: false });
  }
  // The test can fail.
  expect((await run("ls", "--db", await filled())).code).toBe(99);
});

describe("wrong usage ends with 2 and writes nothing to stdout:", () => {
  const wrong: Array<[what: string, args: string[], message: string | RegExp]> = [
    ["a near command", ["shwo"], "Did you mean show?"],
    ["another near command", ["verfy"], "Did you mean verify?"],
    ["a name that is near to none", ["query"], "`forkpoint --help` lists the commands"],
    ["the begin of a command", ["rest"], "Did you mean restore?"],
    ["a database as the command", ["other.db"], "name a command, such as ls --db other.db"],
    ["a database as an argument", ["stats", "other.db"], '"other.db" is a database: pass it with --db other.db'],
    ["a URL as an argument", ["doctor", "postgres://me@host/agent"], "pass it with --db postgres://me@host/agent"],
    ["a run as an argument of ls", ["ls", "run-1"], "forkpoint show <run>"],
    ["a fork to no name", ["fork", "run-1", "--as", ""], "--as is empty"],
    ["a near flag", ["ls", "--limt", "3"], "Did you mean --limit?"],
    ["a missing argument", ["show"], "missing required argument 'run'"],
    ["a missing value", ["ls", "--limit"], "argument missing"],
    ["too many arguments", ["stats", "a"], "too many arguments"],
    ["a limit of 0", ["ls", "--limit", "0"], /--limit.*1/],
    ["a limit that is no number", ["ls", "--limit", "ten"], /--limit.*"ten"/],
    ["a duration without a unit", ["ls", "--since", "90"], /--since.*"90"/],
    ["an unknown status", ["ls", "--status", "running"], "waiting"],
    ["an unknown space", ["ls", "--space", "langraph"], "langgraph"],
    ["an unknown order", ["ls", "--sort", "age"], "active"],
    ["an unknown colour", ["ls", "--color", "red"], "always"],
    ["all and a limit", ["ls", "--all", "--limit", "3"], "--all"],
    ["an unknown part", ["get", "run-1", "--part", "all"], "state"],
    ["a step that is no number", ["get", "run-1", "--step", "1.5"], "--step"],
    ["an id and a step", ["get", "run-1", "g1", "--step", "1"], "--step"],
    ["raw and JSON", ["get", "run-1", "--raw"], "--raw"],
    ["a path that is none", ["get", "run-1", "--path", "a["], /column|"a\["/],
    ["a step and two checkpoints", ["diff", "run-1", "g1", "--step", "1"], "--step"],
    ["a setting without a value", ["fork", "run-1", "--set", "scratch"], "--set"],
    ["a setting that is no JSON", ["fork", "run-1", "--set", "scratch.name=bob"], /line 1.*column 1/],
    ["a setting without a path", ["fork", "run-1", "--set", "a[=1"], "a["],
    ["a patch that is no JSON", ["fork", "run-1", "--patch", '{\n "a": }'], /line 2.*column 7/],
    ["a patch that is no object", ["fork", "run-1", "--patch", "[1]"], "--patch"],
    ["a prune without a rule", ["prune", "--yes"], "--keep-last"],
    ["a prune that keeps nothing", ["prune", "--keep-last", "0", "--yes"], "--keep-last"],
    ["a prune of no age", ["prune", "--older-than", "0s", "--yes"], "--older-than"],
    ["a prune of what waits, of no age", ["prune", "--waiting", "--keep-last", "1", "--yes"], "--older-than"],
    ["a prune to no size", ["prune", "--max-bytes", "0", "--yes"], "--max-bytes"],
    ["a size with a wrong unit", ["prune", "--max-bytes", "5XB", "--yes"], "--max-bytes"],
    ["a copy to nowhere", ["copy"], "--to"],
    ["an export to nowhere", ["export"], "--out"],
    ["a copy to a store that ends", ["copy", "--to", "memory:"], "memory:"],
    ["skipping and replacing", ["import", "x", "--replace", "--on-conflict", "skip"], "--replace"],
    ["a cursor that is none", ["ls", "--cursor", "next"], "cursor"],
    ["a cursor of checkpoints that is none", ["show", "run-1", "--cursor", "next"], "cursor"],
    ["too many lines", ["tail", "--lines", "1001"], "--lines"],
    ["lines and a time", ["tail", "--lines", "1", "--since", "1h"], "--since"],
    ["a port that is none", ["studio", "--port", "70000"], "--port"],
    ["a demo on a database", ["demo"], "--out"],
    ["an unknown shell", ["completion", "tcsh"], "bash"],
    ["a serializer that does not exist", ["ls", "--serializer", "./none.mjs"], "none.mjs"],
  ];
  test.each(wrong)("%s", async (_, args, message) => {
    const path = await filled();
    const needsNone = ["completion", "shwo", "query", "rest", "other.db"].includes(args[0]!);
    const [name, ...others] = args;
    const error = await refused([name!, ...(needsNone ? [] : ["--db", path]), ...others], 2);
    expect(error).toMatchObject({ code: "USAGE", retryable: false });
    expect(error.message).toMatch(message);
  });

  test.each(["ls", "show", "stats"])("%s of the path of the database", async (name) => {
    const path = await filled();
    const cwd = join(path, "..");
    expect((await refused([name, "agent.db"], 2, { cwd })).message).toContain("pass it with --db agent.db");
    expect((await refused([name, "run-1", "./agent.db"], 2, { cwd })).message).toContain(
      "pass it with --db ./agent.db",
    );
  });

  test.each([["backup"], ["restore"]])("%s of a database onto itself", async (name) => {
    const path = await filled();
    const before = readFileSync(path);
    const cwd = join(path, "..");
    for (const to of [path, "agent.db", "./agent.db"]) {
      const flags = name === "backup" ? ["--force", "--yes"] : ["--yes"];
      expect((await refused([name!, to, ...flags, "--db", path], 2, { cwd })).message).toContain("the same file");
    }
    expect(readFileSync(path).equals(before)).toBe(true);
  });

  test("a serializer module without a serializer", async () => {
    const path = await filled();
    const module = join(folder(), "empty.mjs");
    writeFileSync(module, "export const nothing = 1;");
    expect((await refused(["ls", "--db", path, "--serializer", module], 2)).message).toContain("exports no serializer");
  });
});

describe("a name of another tool suggests the command:", () => {
  const known = commands;
  test.each([
    ["runs", "ls"],
    ["list", "ls"],
    ["status", "ls"],
    ["LOG", "show"],
    ["history", "show"],
    ["cat", "get"],
    ["delete", "rm"],
    ["remove", "rm"],
    ["clean", "prune"],
    ["gc", "prune"],
    ["dump", "export"],
    ["load", "import"],
    ["ui", "studio"],
    ["serve", "studio"],
    ["rollback", "fork"],
    ["watch", "tail"],
    ["stat", "stats"],
    ["verif", "verify"],
  ])("%s: %s", (typed, meant) => expect(suggested(typed, known)).toEqual([meant]));

  test("and no text gets a strange one", () => {
    for (const typed of ["", "x", "query", "constructor", "__proto__", "toString", "a".repeat(9_999)]) {
      expect(suggested(typed, known)).toEqual([]);
    }
    expect(suggested("runs", ["prune"])).toEqual([]);
  });

  test("in the error", async () => {
    expect((await refused(["runs"], 2)).message).toBe("unknown command 'runs' (Did you mean ls?)");
    expect((await refused(["__proto__"], 2)).message).toContain("lists the commands");
  });
});

test("an error is for a human without --json: stdout is empty, and stderr says what to do", async () => {
  const path = await filled();
  const cwd = join(path, "..");
  for (const [args, code, message] of [
    [["ls", "--limt", "3"], 2, "error: unknown option '--limt' (Did you mean --limit?)\n"],
    [["show", "no such run"], 3, 'error: there is no run "no such run" in "agent.db": `forkpoint ls` lists the runs\n'],
    [["vacuum"], 4, "--yes"],
    [["fork", "key 0", "--ns", "namespace 0"], 5, "error: "],
  ] as const) {
    const ended = await alone(args, { cwd });
    expect({ code: ended.code, stdout: ended.stdout }).toEqual({ code, stdout: "" });
    expect(ended.stderr).toContain(message);
    // With --json, the error is the only line, although the database was guessed.
    await refused(args, code, { cwd });
  }
});

test("what is not found ends with 3", async () => {
  const path = await filled();
  for (const args of [
    ["show", "no such run"],
    ["get", "run-1", "no such checkpoint"],
    ["get", "run-1", "--step", "1000"],
    ["get", "run-1", "--path", "scratch.nothing"],
    ["get", "run-1", "--path", "toString"],
    ["get", "run-1", "--path", "__proto__"],
    ["get", "run-1", "--path", "scratch.notes.length"],
    ["diff", "run-1", "no such checkpoint"],
    ["fork", "run-1", "no such checkpoint"],
    ["rm", "no such run", "--yes"],
    ["rm", "run-1", "--checkpoint", "no such checkpoint", "--yes"],
    ["tail", "no such run"],
    ["export", "no such run", "--out", "nowhere"],
    ["copy", "no such run", "--to", "nowhere.db"],
    ["verify", "no such run"],
    ["import", "no such folder"],
  ]) {
    const error = await refused([args[0]!, "--db", path, ...args.slice(1)], 3);
    expect({ args, code: error.code }).toEqual({ args, code: "NOT_FOUND" });
  }
  expect(readdirSync(join(path, "..")).filter((name) => !/-(wal|shm)$/.test(name))).toEqual(["agent.db"]);
});
