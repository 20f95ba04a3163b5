/** Forks a checkpoint of AgentOS into a new run. */

import { randomUUID } from "node:crypto";
import { type Fork, editedState, partOf } from "../../plugin/fork.js";
import type { CheckpointRef } from "../../plugin/views.js";
import { decodeMark, encodeMark } from "../../store/mark.js";
import { statusInFork } from "./checkpoint-store.js";
import { refuseUnknown } from "./patch.js";
import { type Fields, find, put } from "./stored.js";

export async function forkRun(plan: Fork): Promise<CheckpointRef> {
  const { context, row, as = randomUUID(), dryRun } = plan;
  const { engine } = context;
  const id = randomUUID();
  const change = editedState(plan);
  if (change !== undefined) refuseLost(plan, change.value);
  const state = change === undefined ? partOf(plan, "state") : engine.format.serialize(change.value, "state");
  const source = await find(engine, row.id);
  const fields: Fields = {
    id,
    runId: as,
    graphId: row.group ?? "",
    nodeId: row.label ?? "",
    timestamp: Date.now(),
    hasMemorySnapshot: row.meta?.["hasMemorySnapshot"] === true,
    status: source === null ? "unknown" : statusInFork(engine, source, as),
    expectedNewest: undefined,
    parent: row.id,
    mark: encodeMark({ ...decodeMark(source?.mark), by: undefined, imported: undefined, branch: true }),
  };
  if (!dryRun) await put(engine, fields, state, partOf(plan, "rest"));
  return plan.refTo(as, id);
}

const keysOf = (value: unknown) => (typeof value === "object" && value !== null ? Object.keys(value) : []);

/** Refuses a new key outside of the state's partitions. */
function refuseLost({ values }: Fork, state: unknown): void {
  const before = new Set(keysOf(values().state));
  refuseUnknown(
    keysOf(state).filter((key) => !before.has(key)),
    "the state",
  );
}
