// Kills programs with effects at every await, on a server. FORKPOINT_FAULT_EFFECTS=<n>: each program at so many points.
// @module-tag slow
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { attack } from "../../__test__/faults/effects.js";
import { isLong } from "../../__test__/faults/faults.js";
import { fixture } from "../../__test__/helpers.js";
import { makeDatabase } from "./databases.js";

const langgraph = fileURLToPath(new URL("../langgraph/fixtures/effects.mjs", import.meta.url));

const programs = [
  ["bare", "agentos"],
  ["workflow", "agentium"],
  ["workflow lease", "agentium"],
  ["graph", "tinyagents"],
  ["graph lease", "tinyagents"],
  ["graph sync", "langgraph"],
  ["graph async", "langgraph"],
  ["functional exit", "langgraph"],
  ...(isLong("FORKPOINT_FAULT_EFFECTS")
    ? (["graph exit", "functional sync", "functional async"] as const).map((name) => [name, "langgraph"] as const)
    : []),
] as const;

it.each(programs)("%s", { timeout: 2_400_000 }, async (name, space) => {
  const program: [string, string] = [space === "langgraph" ? langgraph : fixture("faults/effects.mjs"), name];
  const file = "integration/postgres/faults-effects.test.ts";
  const points = await attack({ program, run: { space, run: "run" }, file }, makeDatabase);
  expect(points).toBeGreaterThan(30);
});
