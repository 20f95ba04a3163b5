/** Ways in which files go back in time: with the tools that people use, not with the engine. */

import { execFile, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { describe } from "vitest";
import { windows } from "../helpers.js";
import { durable } from "./faults.js";
import type { Machine } from "./time.js";

/** Runs a program, which must succeed. Returns what it prints. */
export const tool = async (command: string, args: string[], cwd?: string): Promise<string> =>
  (await promisify(execFile)(command, args, { cwd })).stdout;

/** Whether this machine has a program. One that is missing is an error in CI. */
export function has(command: string, path = command): boolean {
  const { error, status } = spawnSync(path, ["--version"]);
  if (error === undefined && status === 0) return true;
  if (process.env["CI"]) throw new Error(`${command} is not installed`);
  console.warn(`SKIPPED: ${command} is not installed`);
  return false;
}

/** The command `.restore` of SQLite's own tool writes the copy into the live file, in one transaction. */
export function fileThatGoesBack(live: string): Machine {
  const copy = `${live}.copy`;
  const restore = [live, ".timeout 20000", `.restore '${copy}'`];
  return {
    ways: [{ name: ".restore", atomic: true }],
    async snapshot() {
      rmSync(copy, { force: true });
      await tool("sqlite3", [live, ".timeout 20000", `.backup '${copy}'`]);
    },
    goBack: () => tool("sqlite3", restore),
    goBackNow: () => void execFileSync("sqlite3", restore),
  };
}

/** The text files of a store. The tests remove none, so the files only grow. */
const files = (folder: string): string[] =>
  readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .filter((path) => path.endsWith(".jsonl"));

/**
 * Copies files while no process writes to a folder, as the guide asks: a lease is renewed and released in the background.
 * Linux has a command for the lock of the folder.
 */
async function whileNobodyWrites<T>(folder: string, work: () => Promise<T> | T): Promise<T> {
  if (process.platform !== "linux") return work();
  const holder = spawn("flock", [join(folder, "forkpoint.lock"), "sh", "-c", "echo locked; cat"]);
  await once(holder.stdout, "data");
  try {
    return await work();
  } finally {
    const closed = once(holder, "close");
    holder.stdin.end();
    await closed;
  }
}

/** A folder of text files. */
export function folderThatGoesBack(live: string): Machine {
  const home = dirname(live);
  const copy = join(home, "copy");
  const git = (...args: string[]) =>
    tool("git", ["-c", "user.name=test", "-c", "user.email=test@localhost", ...args], live);
  const cp = (from: string, to: string) => tool("cp", ["-r", from, to]);
  let sizes = new Map<string, number>();
  let commit = "";
  let turns = 0;
  async function remember(): Promise<string> {
    await git("add", "-A");
    await git("commit", "-q", "--allow-empty", "-m", "copy");
    return (await git("rev-parse", "HEAD")).trim();
  }
  const goBack: Record<string, () => Promise<unknown> | void> = {
    /** What is there now is committed first, so git removes the files that the older commit lacks. */
    async "git checkout"() {
      await remember();
      await git("checkout", "-q", "-f", commit);
    },
    "git checkout, new files stay": () => git("checkout", "-q", "-f", commit),
    /** The old files get other bytes. */
    "cp -r": () => cp(`${copy}/.`, live),
    /** Another folder with the same name. */
    async mv() {
      turns += 1;
      await cp(copy, `${copy}-${turns}`);
      await tool("sh", ["-c", `mv "$1" "$1-${turns}" && mv "$2-${turns}" "$1"`, "sh", live, copy]);
    },
    truncate() {
      for (const path of files(live)) {
        const bytes = sizes.get(path);
        if (bytes === undefined) rmSync(path);
        else truncateSync(path, bytes);
      }
    },
  };
  return {
    ways: Object.keys(goBack).map((name) => ({ name, atomic: false })),
    async snapshot() {
      if (!existsSync(join(live, ".git"))) {
        await git("init", "-q");
        mkdirSync(join(live, ".git/info"), { recursive: true });
        writeFileSync(join(live, ".git/info/exclude"), "forkpoint.lock\norder.jsonl.old\n");
      }
      await whileNobodyWrites(live, async () => {
        commit = await remember();
        rmSync(copy, { recursive: true, force: true });
        await cp(live, copy);
        sizes = new Map(files(live).map((path) => [path, statSync(path).size]));
      });
    },
    goBack: (way) => whileNobodyWrites(live, () => goBack[way]!()),
    goBackNow: () => void execFileSync("cp", ["-r", `${copy}/.`, live]),
  };
}

/** Why no file of this kind can go back on this machine, or undefined. */
function obstacle(kind: (typeof durable)[number]): string | undefined {
  // Nobody puts a folder back there under a living process.
  if (windows) return "Windows does not let go of open files";
  const program = kind === "sqlite" ? "sqlite3" : "git";
  return has(program) ? undefined : `${program} is not installed`;
}

/** Describes tests of each kind of file. If none can go back on this machine, they are skipped, and the title says why. */
export function describeFiles(tests: (kind: (typeof durable)[number]) => void): void {
  for (const kind of durable) {
    const why = obstacle(kind);
    describe.skipIf(why !== undefined)(why === undefined ? kind : `${kind}: ${why}`, () => tests(kind));
  }
}

/** How a store of this kind in this folder goes back. See `targetIn`. */
export const machineFor = (kind: (typeof durable)[number], home: string): Machine =>
  kind === "sqlite" ? fileThatGoesBack(join(home, "agent.db")) : folderThatGoesBack(join(home, "agent"));
