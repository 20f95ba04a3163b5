// Kills programs with effects at every await. FORKPOINT_FAULT_EFFECTS=<n>: each program at so many points.
// @module-tag slow
import { describe, expect, it } from "vitest";
import { fixture, folder } from "../helpers.js";
import { attack } from "./effects.js";
import { durable, targetIn } from "./faults.js";

const programs = [
  ["bare", "agentos"],
  ["workflow", "agentium"],
  ["workflow lease", "agentium"],
  ["graph", "tinyagents"],
  ["graph lease", "tinyagents"],
] as const;

describe.each(durable)("%s", (kind) => {
  it.each(programs)("%s", { timeout: 1_200_000 }, async (name, space) => {
    const run = { space, run: "run" };
    const program: [string, string] = [fixture("faults/effects.mjs"), name];
    const points = await attack({ program, run, file: "__test__/faults/effects.test.ts" }, () =>
      targetIn(folder(), kind),
    );
    expect(points).toBeGreaterThan(30);
  });
});
