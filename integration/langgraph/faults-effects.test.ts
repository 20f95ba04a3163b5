// Kills programs of LangGraph with effects at every await. FORKPOINT_FAULT_EFFECTS=<n>: each program at so many points.
// @module-tag slow
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { attack } from "../../__test__/faults/effects.js";
import { durable, isLong, targetIn } from "../../__test__/faults/faults.js";
import { folder } from "./helpers.js";

const path = fileURLToPath(new URL("fixtures/effects.mjs", import.meta.url));
const run = { space: "langgraph", run: "run" } as const;
const file = "integration/langgraph/faults-effects.test.ts";

const programs = ["graph sync", "graph async", "graph exit", "functional sync", "functional async", "functional exit"];

describe.each(isLong("FORKPOINT_FAULT_EFFECTS") ? durable : durable.slice(0, 1))("%s", (kind) => {
  it.each(programs)("%s", { timeout: 2_400_000 }, async (name) => {
    const points = await attack({ program: [path, name], run, file }, () => targetIn(folder(), kind));
    expect(points).toBeGreaterThan(40);
  });
});
