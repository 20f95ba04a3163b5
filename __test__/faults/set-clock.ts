/** Sets the clock of programs: see fixtures/faults/set-clock.c. */

import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { fixture } from "../helpers.js";

const home = mkdtempSync(join(tmpdir(), "set-clock-"));
afterAll(() => rmSync(home, { recursive: true }));
// A server of Postgres may run as another user.
chmodSync(home, 0o755);
const library = join(home, "set-clock.so");
const command = ["-O2", "-shared", "-fPIC", "-o", library, fixture("faults/set-clock.c"), "-ldl"];

/** False if this machine has no C compiler, or no such library. In CI, that is an error. */
export const canSet = process.platform === "linux" && spawnSync("cc", command, { encoding: "utf8" }).status === 0;
if (!canSet) {
  if (process.env["CI"] && process.platform === "linux") throw new Error("no C compiler is installed, or it failed");
  const why =
    process.platform === "linux" ? "no C compiler is installed" : "only Linux loads a library into a program so";
  console.warn(`SKIPPED: no library that sets the clock can be made here: ${why}`);
}

/** Seconds in a day. */
const DAY = 86_400;
let clocks = 0;

/** The clock of the programs that are started with its variables. */
export class SetClock {
  readonly path = join(home, `clock-${clocks++}`);
  readonly env = { LD_PRELOAD: library, FORKPOINT_CLOCK: this.path };

  constructor() {
    writeFileSync(this.path, Buffer.alloc(8));
  }

  /** From now on, the clock is so many days fast. */
  set(days: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(Math.round(days * DAY)));
    // The programs have mapped the file, so it must keep its length.
    writeFileSync(this.path, bytes, { flag: "r+" });
  }
}
