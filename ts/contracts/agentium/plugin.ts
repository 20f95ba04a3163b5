/** The plug-ins of Agentium and its storage drivers: see {@link Plugin}. */

import { randomUUID } from "node:crypto";
import { type Fork, editedState, partOf } from "../../plugin/fork.js";
import type { Plugin } from "../../plugin/plugin.js";
import { withState } from "../../plugin/values.js";
import type { CheckpointRef } from "../../plugin/views.js";
import { positionAfter } from "./shape.js";
import { put } from "./store.js";

export const agentium: Plugin = {
  values: (parts, _, found) => withState(parts, found, ["id", "runId", "stepIndex", "stepName", "createdAt", "state"]),
  why: (_, { meta }) =>
    typeof meta?.["steps"] === "number"
      ? `${Number(meta["stepIndex"]) + 1} of ${meta["steps"]} steps are stored`
      : null,
  stand(_, row, status, known) {
    const stepIndex = Number(row.meta?.["stepIndex"] ?? -1);
    const shape = row.shape ?? undefined;
    const { program } = shape === undefined ? {} : known(shape);
    const position = (from: Parameters<typeof positionAfter>[1]) => positionAfter(stepIndex, from);
    return Promise.resolve({ status, mark: { program, shape }, position });
  },
  fork: forkRun,
};

/** A driver wraps each value in an object, because a value may be anything. */
export const storage: Plugin = {
  values(parts, _, { parts: [part] }) {
    if (part === undefined) return [undefined, null];
    const { value, readable } = parts.read(part);
    return [readable && typeof value === "object" && value !== null && "value" in value ? value.value : value, null];
  },
};

async function forkRun(plan: Fork): Promise<CheckpointRef> {
  const { context, row, as = randomUUID(), dryRun } = plan;
  const { engine } = context;
  const change = editedState(plan);
  const state = change === undefined ? partOf(plan, "state") : engine.format.serialize(change.value, "state");
  const { stepIndex, steps } = row.meta as { stepIndex: number; steps: number | null };
  // The id of step N ends with N, and its index is N - 1. The state before the first step has the index -1.
  const id = stepIndex === -1 ? `${as}:initial` : `${as}:step-${stepIndex + 1}`;
  const step = { id, runId: as, stepIndex, stepName: row.label ?? "", createdAt: Date.now() };
  const encoded = {
    step,
    state,
    rest: partOf(plan, "rest"),
    steps: steps ?? undefined,
    shape: row.shape ?? undefined,
    parent: row.id,
  };
  if (!dryRun) await put(engine, { ...encoded, expectedParent: null, rewind: false });
  return plan.refTo(as, id);
}
