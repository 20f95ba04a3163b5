// Effects on a server. Kills programs at every await, and sets the clock of the server. FORKPOINT_FAULT_EFFECTS=<n>: each
// program is killed at so many points.
// @module-tag slow
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { clockTests } from "../../__test__/faults/effect-clock.js";
import { attack } from "../../__test__/faults/effects.js";
import { isLong } from "../../__test__/faults/faults.js";
import { SetClock, canSet } from "../../__test__/faults/set-clock.js";
import { fixture } from "../../__test__/helpers.js";
import { makeDatabase } from "./databases.js";
import { emptyUrl, inMemory, type Server, startServer } from "./faults.js";

const langgraph = fileURLToPath(new URL("../langgraph/fixtures/effects.mjs", import.meta.url));

const programs: Array<[name: string, space: "agentos" | "agentium" | "tinyagents" | "langgraph"]> = [
  ["bare", "agentos"],
  ["workflow lease", "agentium"],
  ["graph lease", "tinyagents"],
  ["graph sync", "langgraph"],
  ["functional exit", "langgraph"],
];
if (isLong("FORKPOINT_FAULT_EFFECTS")) {
  programs.push(["workflow", "agentium"], ["graph", "tinyagents"]);
  for (const name of ["graph async", "graph exit", "functional sync", "functional async"]) {
    programs.push([name, "langgraph"]);
  }
}

it.each(programs)("%s", { timeout: 2_400_000 }, async (name, space) => {
  const program: [string, string] = [space === "langgraph" ? langgraph : fixture("faults/effects.mjs"), name];
  const file = "integration/postgres/faults-effects.test.ts";
  const points = await attack({ program, run: { space, run: "run" }, file }, makeDatabase);
  expect(points).toBeGreaterThan(30);
});

describe.runIf(canSet)("the server's clock is set", () => {
  const clock = new SetClock();
  let server: Server;
  beforeAll(async () => {
    server = (await startServer({ ...inMemory, env: clock.env }))!;
  });
  afterAll(() => server?.stop());
  clockTests(async () => {
    clock.set(0);
    return { target: await emptyUrl(server), set: (days) => clock.set(days) };
  });
});
