// Kills real processes. A stored run must resume, and no stored step may run twice.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type Ended, folder, run, windows } from "../helpers.js";

const names = Array.from({ length: 10 }, (_, at) => `step-${at + 1}`);

/** Runs the workflow in its own process. */
function start(kind: string, home: string, moment = "", step = "", runId = "run"): Promise<Ended> {
  return run("workflow.mjs", [kind, home, runId, moment, step]);
}

function effects(home: string, runId = "run"): string[] {
  return readFileSync(join(home, `${runId}.effects`), "utf8")
    .trim()
    .split("\n");
}

function finished({ code, lines, errors }: Ended): void {
  expect({ code, lines, errors }).toEqual({ code: 0, lines: [JSON.stringify({ done: names })], errors: "" });
}

describe.each(["sqlite", "storage"])("over a %s store", (kind) => {
  it("killed after each step in turn, no finished step runs twice", async () => {
    const home = folder();
    for (const step of ["initial", ...names]) {
      const { signal, lines, errors } = await start(kind, home, "after", step);
      expect({ step, signal, lines, errors }).toEqual({ step, signal: "SIGKILL", lines: [], errors: "" });
    }
    finished(await start(kind, home));
    expect(effects(home)).toEqual(names);
  });

  it.each(["during", "before its save"])("killed %s each step in turn, only that step repeats", async (moment) => {
    const home = folder();
    for (const step of names) expect((await start(kind, home, moment, step)).signal).toBe("SIGKILL");
    finished(await start(kind, home));
    expect(effects(home)).toEqual(names.flatMap((name) => [name, name]));
  });
});

it.skipIf(windows)("drained by SIGTERM, the next process goes on", async () => {
  const home = folder();
  const { code, lines } = await start("sqlite", home, "drain", "step-6");
  expect({ code, lines }).toEqual({ code: 0, lines: ["drained run"] });
  finished(await start("sqlite", home));
  expect(effects(home)).toEqual(names);
});
