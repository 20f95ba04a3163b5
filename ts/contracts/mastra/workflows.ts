/** Makes the domain `workflows` from Mastra's package. */

import type {
  PruneOptions,
  PruneResult,
  RetentionPolicy,
  UpdateWorkflowStateOptions,
  WorkflowRun,
  WorkflowRunState,
  WorkflowsStorage,
} from "@mastra/core/storage";
import { ForkpointError, isArray, quote } from "../../bridge/errors.js";
import { copyOf } from "../../bridge/serializer.js";
import type { StoreHandle } from "../../store/handle.js";
import { nonEmpty, text } from "../../store/ids.js";
import { fieldsOf, readListing, runOf, snapshotArgument, timeOf } from "./arguments.js";
import type { Peer } from "./peer.js";
import type { Run, Runs, Snapshot } from "./runs.js";

/** The number of runs that a batch of `prune` removes. */
const BATCH = 1_000;

/** Makes the class for one copy of Mastra's package. */
export function workflowsOf(peer: Peer): new (handle: StoreHandle, runs: Runs) => WorkflowsStorage {
  return class Workflows extends peer.WorkflowsStorage {
    static override readonly retentionTables = {
      workflowSnapshot: { table: "mastra_workflow_snapshot", column: "updatedAt", indexed: false },
    };
    readonly #handle: StoreHandle;
    readonly #runs: Runs;

    constructor(handle: StoreHandle, runs: Runs) {
      super();
      this.#handle = handle;
      this.#runs = runs;
    }

    supportsConcurrentUpdates(): boolean {
      return true;
    }

    override persistWorkflowSnapshot(args: unknown): Promise<void> {
      return this.#handle.save(async (engine) => {
        const given = fieldsOf(args, ["workflowName", "runId", "resourceId", "snapshot", "createdAt", "updatedAt"]);
        const of = runOf(given);
        const { resourceId } = given;
        const resource =
          resourceId === undefined || resourceId === null ? undefined : nonEmpty(resourceId, "resourceId");
        const [createdAt, updatedAt] = [
          timeOf(given["createdAt"], "createdAt"),
          timeOf(given["updatedAt"], "updatedAt"),
        ];
        const copied = this.#runs.copy(engine, snapshotArgument(given["snapshot"]));
        await this.#runs.persist(engine, of, copied, { resource, createdAt, updatedAt });
      });
    }

    override loadWorkflowSnapshot(args: unknown): Promise<WorkflowRunState | null> {
      return this.#handle.run(async (engine) => {
        const found = await this.#runs.find(engine, runOf(fieldsOf(args, ["workflowName", "runId"])));
        return (found?.snapshot as WorkflowRunState | undefined) ?? null;
      });
    }

    updateWorkflowState(args: unknown): Promise<WorkflowRunState | undefined> {
      return this.#handle.save(async (engine) => {
        const given = fieldsOf(args, ["workflowName", "runId", "opts"]);
        const { expectedStatus, ...changes } = copyOf(
          snapshotArgument(given["opts"]),
          "opts",
        ) as unknown as UpdateWorkflowStateOptions;
        return this.#runs.change(engine, runOf(given), (found) => {
          if (found === undefined) return { result: undefined };
          const before = contextual(found);
          if (!peer.matchesExpectedWorkflowStatus(before.status, expectedStatus)) return { result: undefined };
          const snapshot = { ...before, ...changes } as Snapshot;
          return { result: snapshot as unknown as WorkflowRunState, snapshot };
        });
      });
    }

    updateWorkflowResults(args: unknown): Promise<Record<string, any>> {
      return this.#handle.save(async (engine) => {
        const given = fieldsOf(args, ["workflowName", "runId", "stepId", "result", "requestContext"]);
        const stepId = text(given["stepId"], "stepId");
        const { result, requestContext } = copyOf(
          { result: given["result"], requestContext: given["requestContext"] ?? {} },
          "result",
        );
        return this.#runs.change(engine, runOf(given), (found) => {
          if (found === undefined) return { result: {} };
          const snapshot = contextual(found);
          const context = peer.mergeWorkflowStepResult({ snapshot, stepId, result, requestContext });
          return { result: copyOf(context, "context"), snapshot };
        });
      });
    }

    override listWorkflowRuns(args?: unknown): Promise<{ runs: WorkflowRun[]; total: number }> {
      return this.#handle.run(async (engine) => {
        const { total, runs } = await this.#runs.select(engine, readListing(args));
        return { runs: (await this.#runs.read(engine, runs)).map(shown), total };
      });
    }

    getWorkflowRunById(args: unknown): Promise<WorkflowRun | null> {
      return this.#handle.run(async (engine) => {
        const { runId, workflowName } = fieldsOf(args, ["runId", "workflowName"]);
        if (workflowName !== undefined && workflowName !== null) {
          const found = await this.#runs.find(engine, runOf({ workflowName, runId }));
          return found === undefined ? null : shown(found);
        }
        const named = await this.#runs.named(engine, nonEmpty(runId, "runId"));
        const [found] = named === undefined ? [] : await this.#runs.read(engine, [named]);
        return found === undefined ? null : shown(found);
      });
    }

    async deleteWorkflowRunById(args: unknown): Promise<void> {
      await this.#handle.run((engine) => this.#runs.remove(engine, runOf(fieldsOf(args, ["workflowName", "runId"]))));
    }

    async dangerouslyClearAll(): Promise<void> {
      await this.#handle.run(async (engine) => {
        for await (const run of this.#runs.list(engine)) await this.#runs.remove(engine, run);
      });
    }

    /** Removes runs whose last update is older than `maxAge`, with any status. */
    override prune(policies: Record<string, RetentionPolicy>, options?: PruneOptions): Promise<PruneResult[]> {
      return this.#handle.run(async (engine) => {
        const policy = policies["workflowSnapshot"];
        if (policy === undefined) return [];
        const before = peer.retentionCutoffMs(policy);
        const runs = this.#runs.list(engine);
        const deleteBatch = async (limit: number) => {
          let deleted = 0;
          while (deleted < limit) {
            const { value: run, done } = await runs.next();
            if (done) break;
            if (run.updatedAt < before) deleted += Number(await this.#runs.remove(engine, run, run.id));
          }
          return deleted;
        };
        const batchSize = policy.batchSize ?? BATCH;
        const result = await peer.runRetentionBatches({ deleteBatch, batchSize, ...(options && { options }) });
        return [{ domain: "workflows", table: Workflows.retentionTables.workflowSnapshot.table, ...result }];
      });
    }
  } as unknown as new (handle: StoreHandle, runs: Runs) => WorkflowsStorage;
}

function shown({ workflow, run, snapshot, createdAt, updatedAt, resource }: Run): WorkflowRun {
  return {
    workflowName: workflow,
    runId: run,
    snapshot: snapshot as unknown as WorkflowRunState,
    createdAt: new Date(createdAt),
    updatedAt: new Date(updatedAt),
    ...(resource !== null && resource !== undefined && { resourceId: resource }),
  };
}

/** Returns the snapshot of a run. Mastra's stores refuse to change a snapshot without step results. */
function contextual({ run, snapshot }: Run): Snapshot {
  if (typeof snapshot.context === "object" && snapshot.context !== null && !isArray(snapshot.context)) return snapshot;
  throw new ForkpointError(
    "INVALID_ARGUMENT",
    `the snapshot of run ${quote(run)} has no context: persist a whole snapshot`,
  );
}
