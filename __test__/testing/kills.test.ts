// Tests killAndResume and killEverywhere with programs that are really killed.
// @module-tag slow
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type KillMoment, type KillOptions, KillTestError, killAndResume, killEverywhere } from "forkpoint/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { fixture, folder, rejection } from "../helpers.js";

const booking = fixture("booking.mjs");
const all = ["books flight", "books hotel", "books car", "booked flight, hotel, car"];

/** Expects the runner's error, whose folder is removed when the test ends. */
async function problem(running: Promise<unknown>): Promise<KillTestError> {
  const error = await rejection(running);
  expect(error).toBeInstanceOf(KillTestError);
  const { cwd } = error as KillTestError;
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  return error as KillTestError;
}

/** Writes a program into a folder of the running test. */
function program(code: string): string {
  const path = join(folder(), "program.mjs");
  writeFileSync(path, code);
  return path;
}

describe("killAndResume", () => {
  it("kills every attempt after its first save, and no booking is repeated", async () => {
    const { attempts, last, lines, kills } = await killAndResume(booking, { kill: { on: "save" } });
    expect(lines).toEqual(all);
    expect(attempts.map((attempt) => attempt.lines)).toEqual([[all[0]], [all[1]], [all[2]], [all[3]]]);
    expect(kills).toBe(3);
    const moment = { on: ["save"] };
    expect(attempts.map(({ killed }) => killed)).toEqual([moment, moment, moment, null]);
    if (process.platform !== "win32") expect(attempts[0]).toMatchObject({ code: null, signal: "SIGKILL" });
    expect(last).toMatchObject({ code: 0, signal: null, killed: null, stderr: "" });
  });

  it("kills before a save, so that the step runs again", async () => {
    const kill: KillMoment[] = [{ on: "save", nth: 2, when: "before" }];
    const { lines, kills } = await killAndResume(booking, { kill });
    expect([lines, kills]).toEqual([[all[0], all[1], ...all.slice(1)], 1]);
  });

  it("kills at a list of moments, one for each attempt", async () => {
    const kill: KillMoment[] = [{ on: "latest" }, { on: ["save", "latest"], nth: 3 }, { on: "save" }];
    const { attempts, lines } = await killAndResume(pathToFileURL(booking), { kill });
    expect(attempts.map((attempt) => attempt.lines.length)).toEqual([0, 2, 1, 1]);
    expect(lines).toEqual(all);
  });

  it("kills after lines of output", async () => {
    const env = { BEHAVIOUR: "slow" };
    const { attempts, kills } = await killAndResume(booking, { kill: { afterLines: 2 }, env });
    expect(kills).toBeGreaterThan(0);
    expect(attempts[0]!.lines).toEqual(all.slice(0, 2));
    expect(attempts.at(-1)!.lines.at(-1)).toBe(all[3]);
  });

  it("kills after a time, at random moments that a seed repeats", async () => {
    const moments: KillMoment[][] = [[], []];
    for (const drawn of moments) {
      const { seed, lines } = await killAndResume(booking, {
        seed: 42,
        env: { BEHAVIOUR: "slow" },
        kill: (random, attempt) => {
          if (attempt > 3) return null;
          drawn.push({ afterMs: random(100, 500) });
          return drawn.at(-1)!;
        },
      });
      expect([seed, lines.at(-1)]).toEqual([42, all[3]]);
    }
    expect(moments[0]).toEqual(moments[1]);
    const times = moments[0]!.map((moment) => (moment as { afterMs: number }).afterMs);
    expect(times.every((ms) => ms >= 100 && ms <= 500)).toBe(true);
    expect(new Set(times).size).toBeGreaterThan(1);
  });

  it("takes the seed from FORKPOINT_TEST_SEED", async () => {
    const before = process.env["FORKPOINT_TEST_SEED"];
    process.env["FORKPOINT_TEST_SEED"] = "17";
    try {
      expect((await killAndResume(booking, { kill: () => null })).seed).toBe(17);
    } finally {
      if (before === undefined) delete process.env["FORKPOINT_TEST_SEED"];
      else process.env["FORKPOINT_TEST_SEED"] = before;
    }
  });

  it("runs in the given folder, with the given arguments, and leaves the folder there", async () => {
    const cwd = folder();
    const { last } = await killAndResume(booking, { kill: [], cwd, args: ["for", "two"], nodeArgs: ["--no-warnings"] });
    expect(last.lines.at(-1)).toBe(`${all[3]} for two`);
    expect(readFileSync(join(cwd, "journal"), "utf8")).toBe("flight\nhotel\ncar\n");
  });

  it("removes its own folder", async () => {
    const told = program("console.log(process.cwd())");
    const { last } = await killAndResume(told, { kill: [] });
    expect(existsSync(last.lines[0]!)).toBe(false);
  });
});

describe("killAndResume reports", () => {
  it("a program that fails, with what it printed, and keeps its folder", async () => {
    const error = await problem(
      killAndResume(booking, { kill: [{ on: "save" }], env: { BEHAVIOUR: "fails" }, seed: 5 }),
    );
    expect(error.message).toContain("The program ended with the exit code 3");
    expect(error.message).toContain("Killed after call 1 of save() (attempts: 2, seed: 5, folder: ");
    expect(error.message).toContain("no room is free");
    expect([error.seed, error.attempts.length, error.attempts[1]!.code]).toEqual([5, 2, 3]);
    expect(existsSync(join(error.cwd, "agent.db"))).toBe(true);
  });

  it("a program that hangs", async () => {
    const error = await problem(
      killAndResume(booking, { kill: [], env: { BEHAVIOUR: "hangs" }, timeoutMs: 3_000, seed: 6 }),
    );
    expect(error.message).toContain("The program did not end within 3000 ms (timeoutMs)");
    expect(error.message).toMatch(/seed: 6[^]*waits/);
  });

  it("a program whose child keeps its output open", async () => {
    const holding = program(`
      import { spawn } from "node:child_process";
      const child = spawn(process.execPath, ["--eval", "setTimeout(() => {}, 60_000)"], { stdio: "inherit" });
      console.log(child.pid);
      child.unref();
    `);
    const { last } = await killAndResume(holding, { kill: [] });
    process.kill(Number(last.lines[0]), "SIGKILL");
    expect(last.code).toBe(0);
  });

  it("a program that makes no progress between two kills", async () => {
    const kill: KillMoment = { on: "save", when: "before" };
    const error = await problem(killAndResume(booking, { kill, maxAttempts: 3, seed: 7 }));
    expect(error.message).toContain("killed 3 times and never ended by itself (maxAttempts)");
    expect(error.message).toContain("seed: 7");
  });

  it("a program that does not wrap its store", async () => {
    const error = await problem(killAndResume(booking, { kill: { on: "save" }, env: { BEHAVIOUR: "unwrapped" } }));
    expect(error.message).toContain("did not give its store to withFaults(store)");
  });

  it("a method that the store does not have, with the near one", async () => {
    const error = await problem(killAndResume(booking, { kill: { on: "svae" } }));
    expect(error.message).toContain('has no method "svae". Did you mean "save"?');
  });

  it("a check that throws, with the moments and the seed", async () => {
    const check = () => {
      throw new Error("twice");
    };
    const error = await rejection(killAndResume(booking, { kill: [{ on: "save" }], seed: 8, check }));
    expect(error.message).toMatch(/^Killed after call 1 of save\(\) \(attempts: 2, seed: 8, folder: .*\): twice$/);
    rmSync(/folder: (.*)\): twice$/.exec(error.message)![1]!, { recursive: true });
  });

  it("the reason of a signal, and ends the program", async () => {
    const reason = new Error("the test is over");
    const controller = new AbortController();
    const cwd = folder();
    const stopped = killAndResume(booking, {
      kill: [],
      cwd,
      env: { BEHAVIOUR: "hangs" },
      signal: controller.signal,
    });
    setTimeout(() => controller.abort(reason), 300);
    expect(await rejection(stopped)).toBe(reason);
  });
});

describe("killEverywhere", () => {
  it("kills after every save, in a new folder each, and each booking happens once", async () => {
    const checked: number[] = [];
    const { unharmed, reports } = await killEverywhere(booking, {
      on: "save",
      check({ lines, last, kills }, { last: expected }) {
        checked.push(kills);
        expect(last.lines.at(-1)).toBe(expected.lines.at(-1));
        expect(lines).toEqual(all);
      },
    });
    expect([unharmed.kills, unharmed.lines]).toEqual([0, all]);
    expect(reports.map(({ attempts }) => attempts.map(({ lines }) => lines.length))).toEqual([
      [1, 3],
      [2, 2],
      [3, 1],
    ]);
    expect(checked).toEqual([0, 1, 1, 1]);
  });

  it("kills before every save, and one booking happens twice", async () => {
    const { reports } = await killEverywhere(booking, { on: "save", when: "before" });
    const repeated = reports.map(({ lines }) => lines.filter((line, at) => lines.indexOf(line) !== at));
    expect(repeated).toEqual([[all[0]], [all[1]], [all[2]]]);
  });

  it("kills after every line", async () => {
    const { reports } = await killEverywhere(booking, { env: { BEHAVIOUR: "slow" } });
    expect(reports.length).toBeGreaterThanOrEqual(3);
    for (const { last } of reports) expect(last.lines.at(-1)).toBe(all[3]);
  });

  it("says which kill a check does not accept", async () => {
    const check = ({ kills, attempts }: { kills: number; attempts: Array<{ lines: string[] }> }) => {
      if (kills > 0 && attempts[0]!.lines.length === 2) throw new Error("not there");
    };
    const error = await rejection(killEverywhere(booking, { on: "save", check }));
    expect(error.message).toMatch(/^Killed after call 2 of save\(\) .*: not there$/);
    rmSync(/folder: (.*)\): not there$/.exec(error.message)![1]!, { recursive: true });
  });

  it("refuses to test nothing", async () => {
    const error = await rejection(killEverywhere(booking, { on: "delete" }));
    expect(error.message).toContain("the program called none of delete()");
    rmSync(/folder: (.*)\): the program/.exec(error.message)![1]!, { recursive: true });
  });
});

describe("a wrong option is refused before anything runs", () => {
  const refused = async (options: unknown, message: string) => {
    const error = await rejection(killAndResume(booking, options as KillOptions));
    expect(error.message).toContain(message);
    expect(error.code).toBe("INVALID_ARGUMENT");
  };

  it.each<[string, unknown, string]>([
    ["an unknown one", { kil: [] }, 'Unknown option "kil". Did you mean "kill"?'],
    ["no moment", {}, 'must say in "kill" when the program is killed'],
    ["an unknown field of a moment", { kill: { afterLine: 1 } }, 'Did you mean "afterLines"?'],
    ["two moments in one", { kill: { afterLines: 1, afterMs: 1 } }, "exactly one of afterLines, afterMs, on"],
    ["a moment that is none", { kill: [{}] }, "exactly one of afterLines, afterMs, on"],
    ["a number of calls for lines", { kill: { afterLines: 1, nth: 2 } }, 'takes neither "nth" nor "when"'],
    ["line 0", { kill: { afterLines: 0 } }, "from 1"],
    ["arguments that are no list", { kill: [], args: "x" }, "must be an array of strings"],
    ["variables that are no strings", { kill: [], env: { A: 1 } }, 'option "env".A must be a string'],
    ["a time limit of 0", { kill: [], timeoutMs: 0 }, "from 1"],
    ["a fraction of a seed", { kill: [], seed: 0.5 }, "whole number"],
    ["a check that is no function", { kill: [], check: 1 }, "must be a function"],
    ["a signal that is none", { kill: [], signal: {} }, "must be an AbortSignal"],
    ["a function that returns no moment", { kill: () => undefined }, "must be a moment or null"],
    [
      "a range of random numbers that is none",
      { kill: (random: any) => ({ afterMs: random(2, 1) }) },
      "random(least, most)",
    ],
  ])("%s", (_, options, message) => refused(options, message));

  it("a program that does not exist, and a moment without calls", async () => {
    const error = await rejection(killAndResume("no-such-program.mjs", { kill: [] }));
    expect(error.message).toContain("there is no program at ");
    const wrong = await rejection(killEverywhere(booking, { when: "before" }));
    expect(wrong.message).toContain('option "when" needs the option "on"');
  });
});

describe("effects", () => {
  const twice = fixture("effects-twice.mjs");
  const on = ["beginEffect", "endEffect"];
  const callsOf = (lines: string[], key: string) => lines.filter((line) => line.startsWith(`calls ${key} `));

  it("are killed after each of their writes: none is called again once its result is stored", async () => {
    const { reports } = await killEverywhere(twice, {
      on,
      check: ({ lines }) => {
        for (const key of ["charge", "mail"]) expect(callsOf(lines, key)).toHaveLength(1);
      },
    });
    expect(reports).toHaveLength(4);
  });

  it("are killed between a call and its record: the call is repeated with the same key", async () => {
    const { lines } = await killAndResume(twice, { kill: [{ on: "endEffect", when: "before" }] });
    const [first, second] = callsOf(lines, "charge");
    expect(first).toBe(second);
    expect(lines).toHaveLength(4);
  });
});
