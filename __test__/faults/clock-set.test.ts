// The clock of the machine has a year too many for a moment. The defect: the sweep that ran then removed every checkpoint.
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { fixture, folder } from "../helpers.js";
import { Program } from "./faults.js";

const home = mkdtempSync(join(tmpdir(), "set-clock-"));
afterAll(() => rmSync(home, { recursive: true }));
const library = join(home, "set-clock.so");
const command = ["-O2", "-shared", "-fPIC", "-o", library, fixture("faults/set-clock.c"), "-ldl"];
const compiled = process.platform === "linux" && spawnSync("cc", command, { encoding: "utf8" }).status === 0;
if (!compiled) {
  if (process.env["CI"] && process.platform === "linux") throw new Error("no C compiler is installed, or it failed");
  console.warn("SKIPPED: no library that sets the clock can be made here");
}

describe.runIf(compiled)("a clock with a year too many for a moment", () => {
  it.each([
    ["a database file", "checkpoints.db", "sessions.db"],
    ["text files", "jsonl:checkpoints", "jsonl:sessions"],
  ])("%s", async (_, checkpoints, sessions) => {
    const clock = join(folder(), "clock");
    writeFileSync(clock, Buffer.alloc(8));
    const place = (target: string) => target.replace(/[^:]*$/, (name) => join(folder(), name));
    const program = new Program([fixture("faults/set-clock.mjs"), place(checkpoints), clock, place(sessions)], {
      nodeArgs: ["--no-warnings"],
      env: { LD_PRELOAD: library, FORKPOINT_CLOCK: clock },
    });
    const { said } = await program.success();
    const { warnings, ...rest } = said[0];
    expect(rest).toEqual({ shifted: 365, kept: 6, checkpoints: 7, exists: true });
    const codes = warnings.map(({ code }: { code: string }) => code);
    expect(codes).toEqual(["FORKPOINT_CLOCK_SET", "FORKPOINT_CLOCK_SET"]);
    for (const { message } of warnings) expect(message).toContain("set forward by 365 days");
  });
});
