/** The plug-ins of Mastra's workflows and memory: see {@link Plugin}. */

import { randomUUID } from "node:crypto";
import { deserialize } from "../../bridge/serializer.js";
import { type Fork, editedState, partOf } from "../../plugin/fork.js";
import type { Plugin } from "../../plugin/plugin.js";
import type { Live } from "../../plugin/questions.js";
import { type ReadValues, readFirst } from "../../plugin/values.js";
import type { CheckpointRef } from "../../plugin/views.js";
import { fieldsOf, listOf, readState } from "../shared/asking.js";
import { Runs, type Snapshot } from "./runs.js";

/** The results of the steps are the state. */
const values: ReadValues = (parts, _, { parts: [part] }) => {
  const { context, ...rest } = (part === undefined ? {} : parts.read(part).value) as { context?: unknown };
  return [context, rest];
};

export const workflows: Plugin = {
  values,
  /** The suspended steps of a workflow. Mastra takes an answer only in its own program. */
  questions: {
    async live(context, key, row) {
      const { state, rest } = await readState(context, row, values);
      if (fieldsOf(rest)["status"] !== "suspended") return [];
      return Object.keys(fieldsOf(fieldsOf(rest)["suspendedPaths"])).map((step): Live => {
        const result = fieldsOf(fieldsOf(state)[step]);
        const { __workflow_meta: meta, ...value } = fieldsOf(result["suspendPayload"]);
        const inner = listOf(fieldsOf(meta)["path"]).filter((each) => typeof each === "string");
        const code = codeOf(key.run, key.ns, [step, ...inner]);
        return { id: step, node: step, value: Object.keys(value).length === 0 ? null : value, answered: null, code };
      });
    },
  },
  fork: forkRun,
};

export const threads: Plugin = { values: readFirst };

export const resources: Plugin = { values: readFirst };

const codeOf = (run: string, workflow: string, step: readonly string[]) => {
  const path = JSON.stringify(step.length === 1 ? step[0] : step);
  return `const run = await mastra.getWorkflow(${JSON.stringify(workflow)}).createRun({ runId: ${JSON.stringify(run)} });
await run.resume({ step: ${path}, resumeData: { approved: true } }); // as its resumeSchema says`;
};

async function forkRun(plan: Fork): Promise<CheckpointRef> {
  const { context, key, row, as = randomUUID(), dryRun } = plan;
  const { engine } = context;
  const change = editedState(plan);
  const { tag, bytes } = partOf(plan, "snapshot");
  const snapshot = deserialize(engine.format, tag, bytes, "the snapshot") as Snapshot;
  const forked = { ...snapshot, runId: as, ...(change && { context: change.value as Snapshot["context"] }) };
  const runs = new Runs();
  const copied = runs.copy(engine, forked);
  if (dryRun) return plan.refTo(as, randomUUID());
  const resource = (row.meta?.["resourceId"] as string | null) ?? undefined;
  const id = await runs.persist(engine, { workflow: key.ns, run: as }, copied, { resource });
  return plan.refTo(as, id);
}
