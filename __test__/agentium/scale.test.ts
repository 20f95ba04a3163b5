// Tests a long run.
import { statSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { folder } from "../helpers.js";
import { flow, own } from "./helpers.js";

const text = (seed: number, length: number) =>
  Array.from({ length: Math.ceil(length / 8) }, (_, at) =>
    (((seed + 1) * (at + 7919) * 2654435761) % 2 ** 32).toString(36),
  )
    .join(" ")
    .slice(0, length);

it("a run of a thousand steps, resumed from its middle", async () => {
  const path = join(folder(), "workflow.db");
  const store = own<{ log: string[] }>(path);
  let stopAt = 500;
  const steps = Array.from({ length: 1000 }, (_, at) => ({
    name: `step ${at}`,
    run: ({ log }: { log: string[] }) => {
      if (at === stopAt) throw new Error("half-way");
      return { log: [...log, text(at, 100)] };
    },
  }));
  const workflow = flow<{ log: string[] }>(store, { log: [] }, steps);
  await expect(workflow.runWithCheckpoints({ runId: "long" })).rejects.toThrow("half-way");
  stopAt = -1;
  const { state, stepResults } = await workflow.runWithCheckpoints({ runId: "long", resume: true });
  expect(stepResults).toHaveLength(500);
  expect(state.log).toHaveLength(1000);
  const chain = await workflow.listCheckpoints("long");
  expect(chain.map(({ stepIndex }) => stepIndex)).toEqual(Array.from({ length: 1001 }, (_, at) => at - 1));
  for (const at of [0, 1, 499, 500, 501, 1000]) expect(chain[at]!.state).toEqual({ log: state.log.slice(0, at) });
  // Snapshots that are stored whole would take 51 MB.
  expect(statSync(path).size + statSync(`${path}-wal`).size).toBeLessThan(12e6);
  const forked = await workflow.fork("long:step-990", ({ log }) => ({ log: log.slice(0, 10) }));
  expect(forked.state.log).toHaveLength(20);
});
