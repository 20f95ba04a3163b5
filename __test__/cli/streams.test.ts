// Tests what the command line does with its streams: pipes that close, terminals, colours, and signals.
// @module-tag slow
import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CheckpointStore } from "forkpoint";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkpoint, folder, windows } from "../helpers.js";
import { holdFile } from "../lock.js";
import { answer, cli, copies, filled, inTerminal, json, main, start, startProgram, withRun } from "./run.js";

const linux = process.platform === "linux";

/** Saves states that do not compress. */
const noise = (count: number, bytes: number) => async (path: string) => {
  const store = new CheckpointStore(path, { durability: "off" });
  for (let n = 0; n < count; n++) {
    const state = { ...checkpoint().state, scratch: { noise: randomBytes(bytes) } };
    await store.save(checkpoint({ id: `noise ${n}`, runId: `noise-${n % 5}`, timestamp: n, state }));
  }
  await store.close();
};
/** A database whose copy takes a while. */
const large = copies(noise(150, 200_000));
/** A database with a state of which a pipe takes a part. */
const huge = copies(noise(1, 5_000_000));

describe.skipIf(windows)("a pipe", () => {
  const shell = (script: string, path: string) =>
    startProgram("sh", ["-c", script], { env: { NODE: process.execPath, MAIN: main, DB: path } }).ended;

  test.each(["ls --all --all-ns", "show run-1", "get run-1", "tail", "stats", "show run-1 --json"])(
    "that nobody reads any more ends %s with 0 and without a word",
    async (command) => {
      const path = await filled();
      const script = `{ "$NODE" "$MAIN" ${command} --db "$DB"; echo "code $?" >&2; } | head -c 10 > /dev/null`;
      // What is read may fit into the pipe, and then the command ends as usual. A tail follows until nobody reads.
      const save = command === "tail" ? keepSaving(path) : undefined;
      const { stderr } = await shell(script, path);
      await save?.stop();
      expect(stderr).toBe("code 0\n");
    },
  );

  test("that nobody reads any more ends a long answer", async () => {
    const path = await large();
    const script = `{ "$NODE" "$MAIN" get noise-1 --json --db "$DB"; echo "code $?" >&2; } | head -c 100`;
    const { stdout, stderr } = await shell(script, path);
    expect(stdout).toHaveLength(100);
    expect(stderr).toBe("code 0\n");
  });

  test("that is closed before is no error", async () => {
    const path = await filled();
    const script = `"$NODE" "$MAIN" ls --db "$DB" >&-; echo "code $?"; "$NODE" "$MAIN" ls --db "$DB" 2>&-; echo "code $?"`;
    const { stdout } = await shell(script, path);
    expect(stdout.match(/^code \d+$/gm)).toEqual(["code 0", "code 0"]);
  });

  test.runIf(linux)("into a full device is an error", async () => {
    const path = await filled();
    const { stdout, stderr } = await shell(`"$NODE" "$MAIN" get run-1 --db "$DB" > /dev/full; echo "code $?"`, path);
    expect(stdout).toBe("code 5\n");
    expect(stderr).toContain("error: ");
  });

  test("that is slow loses nothing", async () => {
    const path = await large();
    const expected = await answer(["get", "noise-1", "--json", "--db", path]);
    expect(expected.length).toBeGreaterThan(200_000);
    const slow = startProgram("sh", ["-c", `"$NODE" "$MAIN" get noise-1 --json --db "$DB" | { sleep 1; cat; }`], {
      env: { NODE: process.execPath, MAIN: main, DB: path },
    });
    expect((await slow.ended).stdout).toBe(expected);
  });
});

/** Saves in this process until it is told to stop. */
function keepSaving(path: string): { stop(): Promise<void> } {
  const state = { goesOn: true };
  const work = (async () => {
    const store = new CheckpointStore(path);
    for (let n = 0; state.goesOn; n++) await store.save(checkpoint({ id: `kept ${n}`, runId: "kept", timestamp: n }));
    await store.close();
  })();
  return {
    stop: () => {
      state.goesOn = false;
      return work;
    },
  };
}

const ESCAPE = "\u001b[";

describe("colour", () => {
  test("is where stdout is a terminal, or where it is asked for", async () => {
    const path = await filled();
    const has = async (args: string[], env: Record<string, string> = {}) =>
      (await cli(["ls", "--db", path, ...args], { env })).stdout.includes(ESCAPE);
    expect(await has([])).toBe(false);
    expect(await has(["--color", "always"])).toBe(true);
    expect(await has(["--color=always"], { NO_COLOR: "1" })).toBe(true);
    expect(await has(["--color", "never"], { FORCE_COLOR: "1" })).toBe(false);
    expect(await has([], { FORCE_COLOR: "1" })).toBe(true);
    expect(await has([], { FORCE_COLOR: "0" })).toBe(false);
    expect(await has([], { FORCE_COLOR: "1", NO_COLOR: "1" })).toBe(false);
    expect(await has(["--json", "--color", "always"])).toBe(false);
  });

  test.runIf(linux)("follows the terminal", async () => {
    const path = await filled();
    const has = async (args: string[], env: Record<string, string> = {}) =>
      (await inTerminal(["ls", "--db", path, ...args], { env })).screen.includes(ESCAPE);
    expect(await has([])).toBe(true);
    expect(await has([], { NO_COLOR: "1" })).toBe(false);
    expect(await has(["--color", "never"])).toBe(false);
    expect(await has([], { TERM: "dumb" })).toBe(false);
    expect(await has(["--json"])).toBe(false);
  });
});

describe.runIf(linux)("a terminal", () => {
  test("that is narrow gets fewer columns, and ids that commands take", async () => {
    const path = await filled();
    const screen = async (columns: number) =>
      (await inTerminal(["ls", "--db", path, "--space", "agentos", "--color", "never"], { columns })).screen
        .trimEnd()
        .split("\n");
    const [wide, narrow, tiny] = [await screen(160), await screen(50), await screen(24)];
    const { runs } = await json(["ls", "--db", path, "--space", "agentos"]);
    expect(runs.length).toBeGreaterThan(2);
    expect(wide[0]).toMatch(/SIZE/);
    expect(narrow[0]).not.toMatch(/SIZE/);
    for (const line of narrow) expect(line.length).toBeLessThanOrEqual(50);
    for (const line of tiny) expect(line.length).toBeLessThanOrEqual(24);
    for (const { run } of runs) expect(wide.join("\n")).toContain(run);
    // A shortened id finds its run.
    for (const [at, line] of narrow.slice(1).entries()) {
      const [, shown] = /^. \w+ +(\S+)/.exec(line)!;
      expect((await json(["show", shown!, "--db", path])).run.run).toBe(runs[at].run);
    }
  });

  test("shows a progress that leaves nothing behind", async () => {
    const path = await large();
    const { code, screen } = await inTerminal(["verify", "--db", path], {});
    expect(code).toBe(0);
    expect(screen).toContain("✓ no errors");
    expect(screen).toContain("verifying");
    // What was drawn last was removed.
    expect(screen.split(`${ESCAPE}K`).at(-1)).not.toContain("%");
    expect((await inTerminal(["verify", "--db", path, "--json"], {})).screen).toMatch(/^\{.*\}\n$/);
  });
});

/** Resolves when a file is there. */
async function exists(path: string, child: ChildProcess): Promise<void> {
  while (!existsSync(path)) {
    if (child.exitCode !== null) throw new Error("the process ended before");
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

describe.skipIf(windows)("a signal", () => {
  test.each([
    ["SIGINT", 0],
    ["SIGTERM", 0],
  ] as const)("%s ends tail with %i", async (signal, code) => {
    const path = await withRun("one", 1);
    const tail = start(["tail", "--db", path]);
    await tail.lines(1);
    tail.child.kill(signal);
    expect(await tail.ended).toMatchObject({ code, signal: null, stderr: "" });
  });

  test.each([
    ["export", "SIGINT", 130],
    ["export", "SIGTERM", 143],
    ["import", "SIGINT", 130],
    ["copy", "SIGTERM", 143],
  ] as const)("ends %s by %s with %i, and a second call completes it", async (name, signal, code) => {
    const path = await large();
    const [text, to] = [join(folder(), "runs"), join(folder(), name === "export" ? "runs" : "new.db")];
    if (name === "import") await answer(["export", "--out", text, "--db", path]);
    const source = {
      export: ["--out", to, "--db", path],
      import: [text, "--db", to],
      copy: ["--to", to, "--db", path],
    };
    const args = [name, ...source[name]];
    const run = start(args);
    await exists(to, run.child);
    run.child.kill(signal);
    const { stderr, ...ended } = await run.ended;
    expect(ended).toEqual({ code, signal: null, stdout: "" });
    expect(stderr).toMatch(/stopped by/);
    // What an import has stored ends with a transaction.
    if (name === "import") expect((await json(["verify", "--db", to])).ok).toBe(true);
    expect(await json(args)).toMatchObject({ verified: true });
    expect((await json(["stats", "--db", to])).checkpoints).toBe(150);
  });

  test.each(["all", "nothing"])("ends a command that only looks, when its reader takes %s", async (reads) => {
    const path = await huge();
    const child = spawn(process.execPath, [main, "get", "noise-0", "--json", "--db", path], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    const ended = new Promise((resolve) => child.on("exit", resolve));
    if (reads === "all") await new Promise((resolve) => child.stdout.once("data", resolve));
    else await new Promise((resolve) => child.stdout.once("readable", resolve));
    child.kill("SIGINT");
    expect(await ended).toBe(130);
  });

  test("ends a backup, and leaves no file", async () => {
    const path = await large();
    const to = join(folder(), "copy.db");
    const run = start(["backup", to, "--db", path]);
    while (readdirSync(dirname(to)).length === 0 && run.child.exitCode === null) await new Promise(setImmediate);
    run.child.kill("SIGINT");
    expect((await run.ended).code).toBe(130);
    expect(readdirSync(dirname(to))).toEqual([]);
  });

  test("that comes twice ends a command at once", async () => {
    const [path, to] = [await filled(), await withRun("one", 1)];
    // The copy waits for a lock that nobody releases.
    const held = await holdFile(to);
    onTestFinished(() => held.end());
    const [module, begun] = [join(folder(), "own.mjs"), join(folder(), "begun")];
    const own = "export const own = { name: 'own', serialize: () => '', deserialize: () => null };";
    writeFileSync(
      module,
      `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(begun)}, ""); ${own}`,
    );
    const run = start(["copy", "run-1", "--to", to, "--db", path, "--serializer", module]);
    await exists(begun, run.child);
    run.child.kill("SIGINT");
    const again = setInterval(() => run.child.kill("SIGINT"), 100);
    onTestFinished(() => clearInterval(again));
    expect((await run.ended).code).toBe(130);
  });
});
