// The clock of the machine is set. The defect: with a year too many for a moment, a sweep removed every checkpoint.
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { fixture, folder, place } from "../helpers.js";
import { clockTests } from "./effect-clock.js";
import { Program } from "./faults.js";
import { SetClock, canSet } from "./set-clock.js";

describe.runIf(canSet)("a clock with a year too many for a moment", () => {
  it.each([
    ["a database file", "checkpoints.db", "sessions.db"],
    ["text files", "jsonl:checkpoints", "jsonl:sessions"],
  ])("%s", async (_, checkpoints, sessions) => {
    const clock = new SetClock();
    const inFolder = (target: string) => target.replace(/[^:]*$/, (name) => join(folder(), name));
    const program = new Program(
      [fixture("faults/set-clock.mjs"), inFolder(checkpoints), clock.path, inFolder(sessions)],
      {
        nodeArgs: ["--no-warnings"],
        env: clock.env,
      },
    );
    const { said } = await program.success();
    const { warnings, ...rest } = said[0];
    expect(rest).toEqual({ shifted: 365, kept: 6, checkpoints: 7, exists: true });
    const codes = warnings.map(({ code }: { code: string }) => code);
    expect(codes).toEqual(["FORKPOINT_CLOCK_SET", "FORKPOINT_CLOCK_SET"]);
    for (const { message } of warnings) expect(message).toContain("set forward by 365 days");
  });
});

// On Postgres, the clock is the server's: see integration/postgres/faults-effects.test.ts.
describe.runIf(canSet)("effects while the clock is set", () => {
  clockTests(() => {
    const clock = new SetClock();
    return { target: place("sqlite"), env: clock.env, set: (days) => clock.set(days) };
  });
});
