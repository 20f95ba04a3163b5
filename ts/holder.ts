/** Names processes, so that a lease says who holds it. */

import { readlinkSync } from "node:fs";
import { hostname } from "node:os";

let named: string | undefined;

/**
 * Names the machine. Two containers may have the same host name, and process ids of their own. On Linux, the name of the
 * process's namespace tells them apart.
 */
function machine(): string {
  named ??= `${hostname()} (${processNamespace()})`;
  return named;
}

function processNamespace(): string {
  try {
    return readlinkSync("/proc/self/ns/pid");
  } catch {
    return process.platform;
  }
}

/** Names this process. */
export function thisProcess(): string {
  return `process ${process.pid} on ${machine()}`;
}

/** Returns true if the process with this name was on this machine and has ended. */
export function hasEnded(name: string): boolean {
  const pid = Number(/^process (\d+) on /.exec(name)?.[1]);
  if (!Number.isSafeInteger(pid) || name !== `process ${pid} on ${machine()}`) return false;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ESRCH";
  }
}
