// Tests `forkpoint demo`: what it runs in which process, what its database holds, and how it ends.
// @module-tag slow
import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { folder, windows } from "../helpers.js";
import {
  type RunOptions,
  alone,
  answer,
  bytesOf,
  cli,
  environment,
  inTerminal,
  json,
  main,
  refused,
  start,
  startProgram,
} from "./run.js";

const steps = ["read_request", "find_order", "score_risk", "write_reply", "settle"];

const NAME = "forkpoint-demo.db";

/** Returns true if there is a process with this id. */
function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Runs the demo with `--json`, and returns what it answers. */
async function demoIn(cwd: string, env: Record<string, string> = {}): Promise<any> {
  const { code, stdout } = await alone(["demo", "--json"], { cwd, env });
  expect(code).toBe(0);
  return JSON.parse(stdout);
}

/** The commands that the demo prints, without `npx forkpoint`. */
function nextOf(stdout: string): string[] {
  return [...stdout.matchAll(/^ {2}npx forkpoint (.*)$/gm)].map(([, words]) => words!);
}

// Both demos run once. The tests look at what they have printed, and at the database of the first one.
const home = mkdtempSync(join(tmpdir(), "forkpoint-demo-"));
const log = join(home, "saves.log");
const cwd = join(home, "runs");
let shown: any;
let printed: string;

beforeAll(async () => {
  mkdirSync(cwd);
  // Tells which process has stored what, from inside each process.
  const spy = `const { tracingChannel } = require("node:diagnostics_channel");
    tracingChannel("forkpoint:save").asyncEnd.subscribe(({ operation, run, id, error }) => {
      if (error === undefined) require("node:fs").appendFileSync(${JSON.stringify(log)},
        JSON.stringify({ pid: process.pid, operation, run, id }) + "\\n");
    });`;
  writeFileSync(join(home, "spy.cjs"), spy);
  const env = environment({ NODE_OPTIONS: `--require ${join(home, "spy.cjs")}` });
  shown = JSON.parse(execFileSync(process.execPath, [main, "demo", "--json"], { cwd, env, encoding: "utf8" }));
  mkdirSync(join(cwd, "my runs"));
  const args = [main, "demo", "--out", "my runs/it's.db"];
  const ended = spawnSync(process.execPath, args, { cwd, env: environment(), encoding: "utf8" });
  expect({ status: ended.status, stderr: ended.stderr }).toEqual({ status: 0, stderr: "" });
  printed = ended.stdout;
});
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe("the runs", () => {
  test("a killed process is resumed by another one, and no finished step runs again", () => {
    expect(shown).toMatchObject({
      path: NAME,
      crash: { signal: "SIGKILL", step: "write_reply" },
      resume: { steps: 5, skipped: steps.slice(0, 3), ran: steps.slice(3) },
      fork: { run: "refund-101-fork", outcome: "declined", unforked: "refunded $120" },
      approval: { run: "refund-102", question: "Refund $480 to Ben?" },
    });
    const { crash, resume } = shown as { crash: { pid: number }; resume: { pid: number } };
    expect(crash.pid).not.toBe(resume.pid);
    expect(lives(crash.pid)).toBe(false);
    const saves = readFileSync(log, "utf8").trimEnd().split("\n");
    const of = (pid: number) =>
      saves
        .map((line) => JSON.parse(line) as { pid: number; run: string; id: string })
        .filter((save) => save.pid === pid && save.run === "refund-101")
        .map(({ id }) => id.slice("refund-101:".length));
    expect(of(crash.pid)).toEqual(["initial", "step-1", "step-2", "step-3"]);
    expect(of(resume.pid)).toEqual(["step-4", "step-5"]);
  });

  test("the database has the resumed run, its fork and a run that waits", async () => {
    const listed = await json(["ls", "--db", NAME], { cwd });
    const facts = (list: Array<Record<string, unknown>>) =>
      list.map(({ run, space, status, checkpoints }) => `${run} ${space} ${status} ${checkpoints}`).toSorted();
    expect(facts(listed.runs)).toEqual(facts(shown.runs));
    expect(facts(shown.runs)).toEqual([
      "refund-101 agentium finished 6",
      "refund-101-fork agentium finished 3",
      "refund-102 tinyagents waiting 5",
    ]);
    const { checkpoints, forks } = await json(["show", "refund-101", "--db", NAME], { cwd });
    expect(checkpoints.map(({ label }: { label: string }) => label)).toEqual(["initial", ...steps]);
    expect(forks).toMatchObject([{ run: "refund-101-fork", forkedFrom: { id: "refund-101:step-3" } }]);
    const outcome = (run: string) => json(["get", run, "--path", "outcome", "--db", NAME], { cwd });
    expect([await outcome("refund-101"), await outcome("refund-101-fork")]).toEqual(["refunded $120", "declined"]);
    expect((await cli(["get", "refund-102", "--path", "outcome", "--db", NAME], { cwd })).code).toBe(3);
    expect((await cli(["verify", "--db", NAME], { cwd })).code).toBe(0);
    expect((await json(["doctor", "--db", NAME], { cwd })).findings).toEqual([]);
  });
});

describe("the commands that it prints", () => {
  test("end with the guides of frameworks, which the package has", () => {
    const [, guide] = /\n\nUse LangGraph\? See (.*\.md)\. Other frameworks: index\.md in the same folder\.\n$/.exec(
      printed,
    )!;
    expect(readFileSync(guide!, "utf8")).toMatch(/^# LangGraph/);
    expect(readFileSync(join(guide!, "../index.md"), "utf8")).toContain("langgraph.md");
  });

  test("a fork after the last step runs nothing, and says so", async () => {
    const fork = async (...args: string[]) =>
      (await cli(["fork", "refund-101", ...args, "--db", NAME], { cwd })).stderr;
    expect(await fork()).toContain("nothing will run");
    expect(await fork("--step", "3")).not.toContain("nothing will run");
  });

  test("show the question of a run that waits, and its next node", async () => {
    const text = await answer(["show", "refund-102", "--db", NAME], { cwd });
    expect(text).toMatch(/^! waiting: a task asks a question\n {2}"Refund \$480 to Ben\?"$/m);
    expect(text).toMatch(/^STEP +LABEL +NEXT /m);
    expect(text.trimEnd().split("\n").at(-1)).toContain(" settle ");
    const { stderr } = await cli(["fork", "refund-102", "--as", "again", "--db", NAME], { cwd });
    expect(stderr).toContain('resume it in your program: graph.resume("again")');
  });

  test.skipIf(windows)("work in a shell, also if the path has spaces and another database is beside it", async () => {
    const commands = nextOf(printed);
    expect(commands.map((words) => words.split(" ")[0])).toEqual(["show", "diff", "fork", "studio"]);
    const run = (words: string) => {
      const script = `npx() { shift; "${process.execPath}" "${main}" "$@"; }; npx forkpoint ${words}`;
      return startProgram("sh", ["-c", script], { cwd }).ended;
    };
    const [show, diff, fork] = commands as [string, string, string];
    expect((await run(show)).stdout).toMatch(/> refund-101-fork .*\n[^]*score_risk/);
    expect((await run(diff)).stdout).toMatch(/state\.risk +0\.1 → 0\.9\n[^]*state\.outcome/);
    // Also a second time.
    for (let n = 1; n <= 2; n++) expect((await run(fork)).code).toBe(0);
    expect((await json(["show", "refund-101", "--db", "my runs/it's.db"], { cwd })).forks).toHaveLength(3);
  });
});

describe("the file", () => {
  test("is a new one each time, whatever FORKPOINT_URL names, and nothing that is there is changed", async () => {
    const cwd = folder();
    writeFileSync(join(cwd, NAME), "mine");
    // Belongs to another database.
    writeFileSync(join(cwd, "forkpoint-demo-2.db-wal"), "mine too");
    if (windows) writeFileSync(join(cwd, "forkpoint-demo-3.db"), "");
    else symlinkSync("nowhere.db", join(cwd, "forkpoint-demo-3.db"));
    const paths = [];
    const env = { FORKPOINT_URL: join(cwd, "production.db") };
    for (let n = 0; n < 2; n++) paths.push((await demoIn(cwd, env)).path);
    expect(paths).toEqual(["forkpoint-demo-4.db", "forkpoint-demo-5.db"]);
    const names = readdirSync(cwd);
    const before = bytesOf(join(cwd, paths[0]));
    expect(await refused(["demo", "--out", paths[0]], 5, { cwd })).toMatchObject({
      code: "CONFLICT",
      message: expect.stringMatching(/"forkpoint-demo-4\.db" exists already.*--out/),
    });
    expect((await refused(["demo", "--out", "forkpoint-demo-2.db"], 5, { cwd })).message).toContain('-2.db-wal"');
    expect(bytesOf(join(cwd, paths[0]))).toBe(before);
    expect(readFileSync(join(cwd, NAME), "utf8")).toBe("mine");
    expect(readFileSync(join(cwd, "forkpoint-demo-2.db-wal"), "utf8")).toBe("mine too");
    expect(readdirSync(cwd)).toEqual(names);
    expect(names.toSorted()).toEqual([NAME, "forkpoint-demo-2.db-wal", "forkpoint-demo-3.db", ...paths].toSorted());
  });

  test("is none at another kind of store, at a database that --db names, and where no folder is", async () => {
    const cwd = folder();
    for (const out of ["memory:", "postgres://localhost/agents", "jsonl:runs", ""])
      expect(await refused(["demo", `--out=${out}`], 2, { cwd })).toMatchObject({ code: "USAGE" });
    expect((await refused(["demo", "--db", "agent.db"], 2, { cwd })).message).toContain("--out");
    expect((await refused(["demo", "--out", "none/demo.db"], 3, { cwd })).message).toContain("--out");
    expect(readdirSync(cwd)).toEqual([]);
  });

  test.skipIf(windows)("needs a folder that may be written", () => {
    const cwd = folder();
    chmodSync(cwd, 0o555);
    // The superuser may write everywhere.
    const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const { status, stdout, stderr } = spawnSync(process.execPath, [main, "demo"], { cwd, encoding: "utf8", ...user });
    expect({ status, stdout, stderr }).toEqual({
      status: 5,
      stdout: "",
      stderr: expect.stringMatching(/^error: cannot create "forkpoint-demo\.db", .* is not writable.*--out\n$/),
    });
    expect(readdirSync(cwd)).toEqual([]);
  });
});

describe("Ctrl-C", () => {
  /** Interrupts the demo when it has printed its first lines. */
  async function interrupt(lines: number, options: RunOptions) {
    const demo = start(["demo"], options);
    await demo.lines(lines);
    demo.child.kill("SIGINT");
    return demo.ended;
  }

  test.skipIf(windows)("before the end leaves nothing behind", async () => {
    const cwd = folder();
    for (const lines of [1, 3]) {
      const { code, stderr } = await interrupt(lines, { cwd });
      expect({ lines, code, stderr }).toEqual({
        lines,
        code: 130,
        stderr: `error: stopped by Ctrl-C: "${NAME}" was removed\n`,
      });
      expect(readdirSync(cwd)).toEqual([]);
    }
  });

  test.runIf(process.platform === "linux")("in a terminal reaches both processes", async () => {
    const cwd = folder();
    const { code, screen } = await inTerminal(["demo", "--no-open"], { cwd, keys: "\u0003", when: "is running" });
    expect({ code, screen }).toEqual({ code: 130, screen: expect.stringContaining("stopped by Ctrl-C") });
    expect(lives(Number(/process (\d+)/.exec(screen)![1]))).toBe(false);
    expect(readdirSync(cwd)).toEqual([]);
  });

  test("is no reason for the killed process to live on", async () => {
    const args = ["demo-agent", "agent.db", "run", "write_reply", "0"];
    // Its stdin ends, as it does when the process that started it dies.
    const { code, signal } = await alone(args, { cwd: folder() });
    expect({ code, signal }).toEqual({ code: 1, signal: null });
  });

  test.skipIf(windows)("and an end by force leave the next demo another name", async () => {
    const cwd = folder();
    const demo = start(["demo"], { cwd });
    await demo.lines(3);
    demo.child.kill("SIGKILL");
    await demo.ended;
    expect(readdirSync(cwd)).toContain(NAME);
    expect((await demoIn(cwd)).path).toBe("forkpoint-demo-2.db");
  });
});

test("a reader that stops early leaves no database behind", async () => {
  const cwd = folder();
  const demo = start(["demo"], { cwd });
  await demo.lines(1);
  demo.child.stdout.destroy();
  expect((await demo.ended).code).toBe(0);
  expect(readdirSync(cwd)).toEqual([]);
});

describe("the studio", () => {
  test("starts with --studio, shows the database, and ends with 0", async () => {
    const cwd = folder();
    const demo = start(["demo", "--studio", "--port", "0"], { cwd });
    await demo.says("read-only; press Ctrl-C to stop");
    const url = new URL((await demo.lines(1)).at(-1)!);
    expect((await fetch(new URL("/", url))).status).toBe(200);
    const headers = { authorization: `Bearer ${url.hash.slice("#token=".length)}` };
    const ask = async (path: string) => (await fetch(new URL(path, url), { headers })).json() as Promise<object>;
    expect(await ask("/api/v1/info")).toMatchObject({ backend: "sqlite", write: false });
    expect(await ask("/api/v1/runs")).toMatchObject({ runs: [{}, {}, {}] });
    demo.child.kill("SIGINT");
    const { code, signal, stdout } = await demo.ended;
    expect({ code, signal }).toEqual(windows ? { code: null, signal: "SIGINT" } : { code: 0, signal: null });
    expect(nextOf(stdout).map((words) => words.split(" ")[0])).toEqual(["show", "diff", "fork"]);
    expect(readdirSync(cwd)).toContain(NAME);
  });

  test.runIf(process.platform === "linux")("starts by itself in a terminal, and Ctrl-C ends it", async () => {
    const cwd = folder();
    const options = { cwd, keys: "\u0003", when: "press Ctrl-C to stop" };
    const { code, screen } = await inTerminal(["demo", "--no-open", "--port", "0"], options);
    expect({ code, screen }).toEqual({
      code: 0,
      screen: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/#token=/m),
    });
    expect(screen).toContain("\u001b[");
    expect(readdirSync(cwd)).toContain(NAME);
  });

  test.runIf(process.platform === "linux")("does not start with --no-studio, and NO_COLOR is heeded", async () => {
    const options = { cwd: folder(), env: { NO_COLOR: "1" } };
    const { code, screen } = await inTerminal(["demo", "--no-studio"], options);
    expect(code).toBe(0);
    expect(screen).not.toContain("http://");
    expect(screen).not.toContain("\u001b");
  });
});

test("no other command loads the code of the demo", async () => {
  const cwd = folder();
  const spy = `process.on("exit", () => {
    console.error(Object.keys(require.cache).some((file) => /cli.demo\\.js$/.test(file)) ? "loaded" : "not loaded");
  });`;
  writeFileSync(join(cwd, "spy.cjs"), spy);
  const env = { NODE_OPTIONS: `--require ${join(cwd, "spy.cjs")}` };
  // The process that is killed says nothing.
  expect((await alone(["demo"], { cwd, env })).stderr).toBe("loaded\n");
  for (const args of [["ls"], ["--help"], ["demo", "--help"]]) {
    expect((await alone(args, { cwd, env })).stderr).toContain("not loaded\n");
  }
});
