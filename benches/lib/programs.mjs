// Runs a part of a benchmark in a process of its own.
import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { promisify } from "node:util";

/**
 * Runs a program and resolves to what it has printed as JSON. With `cores`, it runs on that many cores, if the machine has
 * more. `env` are further variables of its environment.
 */
export async function runProgram(file, { args = [], cores = availableParallelism(), env = {} } = {}) {
  const command = [process.execPath, file, ...args];
  if (cores < availableParallelism()) command.unshift("taskset", "--cpu-list", `0-${cores - 1}`);
  const [program, ...rest] = command;
  const { stdout } = await promisify(execFile)(program, rest, { env: { ...process.env, ...env }, maxBuffer: 2 ** 24 });
  return JSON.parse(stdout);
}
