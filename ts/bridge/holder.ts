/** Makes names for processes. A lease stores its holder's name. */

import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";

let named: string | undefined;
let stamped: string | null | undefined;

/**
 * Returns a name for the machine. Two containers may have the same host name but separate process ids. On Linux, the
 * name of the process's namespace distinguishes them.
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

export function thisProcess(): string {
  return `process ${process.pid} on ${machine()}`;
}

/**
 * A short stamp of this process: its id, its start time, and its machine. Two processes can share a stamp only if the
 * system reports no start times. Returns undefined if the program may not read the machine's name, as in Deno without
 * `--allow-sys`.
 */
export function processStamp(): string | undefined {
  if (stamped === undefined) {
    try {
      stamped = stampOf(process.pid);
    } catch {
      stamped = null;
    }
  }
  return stamped ?? undefined;
}

/**
 * Returns the id of the process with this stamp. Returns undefined if it is this process, is on another machine, or has
 * ended.
 */
export function livingProcess(stamp: string): number | undefined {
  const pid = Number.parseInt(stamp, 10);
  const own = processStamp();
  if (own === undefined || stamp === own || stamp !== stampOf(pid)) return undefined;
  return hasEnded(`process ${pid} on ${machine()}`) ? undefined : pid;
}

function stampOf(pid: number): string {
  return `${pid}.${beginOf(pid)}.${hashOf(machine())}`;
}

/**
 * A hash of 53 bits (cyrb53) that distinguishes machines. It is not cryptographic. Each run makes a stamp with its
 * first save, and loading Node's `crypto` would take 2 ms.
 */
function hashOf(text: string): string {
  let [low, high] = [0xdeadbeef, 0x41c6ce57];
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    low = Math.imul(low ^ unit, 2_654_435_761);
    high = Math.imul(high ^ unit, 1_597_334_677);
  }
  low = Math.imul(low ^ (low >>> 16), 2_246_822_507) ^ Math.imul(high ^ (high >>> 13), 3_266_489_909);
  high = Math.imul(high ^ (high >>> 16), 2_246_822_507) ^ Math.imul(low ^ (low >>> 13), 3_266_489_909);
  return (2 ** 32 * (high & 0x1f_ffff) + (low >>> 0)).toString(36);
}

/**
 * Returns the start time of a process in the system's ticks. Returns "" if the process has ended, and on systems other
 * than Linux.
 */
function beginOf(pid: number): string {
  try {
    // Skip the program's name. It is in parentheses, and may itself contain spaces and parentheses.
    const [, fields = ""] = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, "latin1")) ?? [];
    return Number(fields.split(" ")[19]).toString(36);
  } catch {
    return "";
  }
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
