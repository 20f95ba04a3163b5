// Runs a program on a disk whose syncs all take the same time: sync.c is compiled and loaded before the program.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { inFolder } from "./peers.mjs";
import { runProgram } from "./programs.mjs";
import { leaveOut } from "./report.mjs";

const source = fileURLToPath(new URL("sync.c", import.meta.url));

/** The measured syncs, in microseconds: of a fast disk, and of a common one. */
export const SYNCS = [67, 262];

/**
 * Calls `work(run)` with a function that runs a program: `run(us, file, { args, cores })` resolves to what the program
 * has printed as JSON, with the options of `runProgram`. Resolves to an empty list, and says why, if this machine cannot
 * replace syncs.
 */
export async function onFixedDisk(work) {
  if (process.platform !== "linux") return leftOut(`syncs are replaced on Linux only, and this is ${process.platform}`);
  return inFolder(async (path) => {
    const library = path("sync.so");
    try {
      execFileSync("cc", ["-O2", "-shared", "-fPIC", "-o", library, source], {
        stdio: ["ignore", "ignore", "inherit"],
      });
    } catch (error) {
      if (error.code === "ENOENT") return leftOut("there is no C compiler (cc) on this machine");
      throw error;
    }
    return work((us, file, options) => {
      const counter = path("counter");
      writeFileSync(counter, Buffer.alloc(32));
      const env = { LD_PRELOAD: library, FORKPOINT_SYNC_US: String(us), FORKPOINT_SYNC_FILE: counter };
      return runProgram(file, { ...options, env });
    });
  });
}

function leftOut(why) {
  leaveOut("the rows with a fixed sync", why);
  return [];
}

/** In a program that `run` has started: the syncs since its start, and the microseconds that they took. */
export function syncs() {
  const { calls, us } = counted(0);
  return { syncs: calls, synced: us };
}

/** The same for the calls of statx, with which the engine looks at its files. */
export function looks() {
  const { calls, us } = counted(16);
  return { looks: calls, looked: us };
}

function counted(offset) {
  const file = readFileSync(process.env.FORKPOINT_SYNC_FILE);
  return { calls: Number(file.readBigUInt64LE(offset)), us: Number(file.readBigUInt64LE(offset + 8)) / 1000 };
}
