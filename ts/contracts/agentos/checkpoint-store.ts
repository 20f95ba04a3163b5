/** `CheckpointStore`, the class that AgentOS uses, and `resumePlan`. */

import type {
  CheckOptions,
  Checkpoint,
  CheckpointMetadata,
  CheckpointStats,
  CheckpointStore as Contract,
  Lease,
  LeaseOptions,
  PruneOptions,
  ResumePlan,
  RunPruneResult,
  RunRef,
  RunsPage,
  StatePartitions,
  StatsOptions,
  StoreOptions,
  VerifyReport,
  resumePlan as resumePlanContract,
} from "../../../index.js";
import { find, openFound, put, restore, snapshot } from "./checkpoints.js";
import { fork } from "./fork.js";
import { Maker } from "./maker.js";
import { agentos, rowsOf } from "./wire.js";
import type { Engine } from "../../store/engine.js";
import { isArray, quote, readingArgument, show, typeError } from "../../bridge/errors.js";
import { StoreHandle } from "../../store/handle.js";
import { setHandle } from "../../store/handles.js";
import { idOrNull, requireId } from "../../store/ids.js";
import { holdersOf } from "../../store/lease.js";
import { type NativeStore, Tool } from "../../bridge/native.js";
import { pageOptions, programOption, readRecord } from "../../store/options.js";
import { detachBuffers } from "../shared/record.js";
import { parse } from "../../bridge/wire.js";

export class CheckpointStore implements Contract {
  readonly #handle: StoreHandle;
  readonly #maker: Maker;

  constructor(target: string | URL | Contract | object, options?: StoreOptions & { program?: string }) {
    const { program, others } = readingArgument("options", () => programOption(options));
    this.#handle = StoreHandle.of(target, others, agentos);
    this.#maker = new Maker(this.#handle, program);
    setHandle(this, this.#handle);
  }

  save(checkpoint: Checkpoint): Promise<void> {
    let taken: ReturnType<typeof snapshot>;
    return this.#handle.save(
      (engine) => {
        taken = snapshot(checkpoint, engine);
        taken.fields.mark = this.#maker.markOf(taken.fields.graphId);
        return put(engine, taken.fields, taken.state, taken.rest);
      },
      undefined,
      () => detachBuffers(taken.state, taken.rest),
    );
  }

  get(checkpointId: string): Promise<Checkpoint | null> {
    return this.#handle.run(async (engine) => {
      const found = await find(engine, checkpointId);
      return found && restore(engine, found);
    });
  }

  load(runId: string, nodeId?: string): Promise<Checkpoint | null> {
    return this.#handle.run(async (engine) => {
      const run = idOrNull(runId, "runId");
      const node = nodeId === undefined || nodeId === null ? undefined : idOrNull(nodeId, "nodeId");
      if (run === null || node === null) return null;
      const found = await agentos.find(engine.native, "load", { runId: run, nodeId: node }, openFound);
      return found && restore(engine, found);
    });
  }

  latest(runId: string): Promise<Checkpoint | null> {
    return this.load(runId);
  }

  list(graphId: string, options?: { limit?: number; runId?: string }): Promise<CheckpointMetadata[]> {
    return this.#handle.run(async (engine) => {
      const { limit, runId } = listOptions(options);
      return list(engine, idOrNull(graphId, "graphId"), runId, limit);
    });
  }

  listByRun(runId: string, options?: { limit?: number }): Promise<CheckpointMetadata[]> {
    return this.#handle.run(async (engine) =>
      list(engine, undefined, idOrNull(runId, "runId"), listOptions(options).limit),
    );
  }

  delete(checkpointId: string): Promise<void> {
    return this.#handle.run(async ({ native }) => {
      const id = idOrNull(checkpointId, "checkpointId");
      if (id !== null) await agentos.call(native, "delete", { checkpointId: id });
    });
  }

  clear(runId: string): Promise<void> {
    return this.#handle.run(async ({ native }) => {
      const run = idOrNull(runId, "runId");
      if (run !== null) await agentos.call(native, "clear", { runId: run });
    });
  }

  fork(checkpointId: string, patchState?: Partial<StatePartitions>): Promise<string> {
    return this.#handle.run((engine) => fork(engine, checkpointId, patchState));
  }

  runs(options?: { graphIdPrefix?: string; limit?: number; cursor?: string | null }): Promise<RunsPage> {
    return this.#handle.run(({ native }) => runs(native, options));
  }

  lease(run: RunRef, options?: LeaseOptions): Promise<Lease> {
    return this.#handle.lease(run, options);
  }

  withLease(lease: Lease): CheckpointStore {
    const { program } = this.#maker;
    return new CheckpointStore(this.#handle.withLease(lease), program === undefined ? undefined : { program });
  }

  prune(options?: PruneOptions<RunPruneResult>): Promise<RunPruneResult> {
    return this.#handle.prune(options);
  }

  stats(options?: StatsOptions): Promise<CheckpointStats> {
    return this.#handle.stats(options);
  }

  check(options?: CheckOptions): Promise<VerifyReport> {
    return this.#handle.check(options);
  }

  vacuum(): Promise<void> {
    return this.#handle.vacuum();
  }

  close(): Promise<void> {
    return this.#handle.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

async function runs(native: NativeStore, options: unknown): Promise<RunsPage> {
  const read = readRecord(options, "options", runsOptions);
  const prefix = (read["graphIdPrefix"] as string | undefined) ?? "";
  const limit = (read["limit"] as number | undefined) ?? 100;
  const before = read["cursor"] as number | undefined;
  // Request one run more than the page holds. If the engine returns it, there is a next page.
  const found = await agentos.call(native, "runs", { graphIdPrefix: prefix, limit: limit + 1, before });
  const page = found.slice(0, limit);
  const leases = await holdersOf(
    native,
    agentos.name,
    page.map(({ latest }) => latest.runId),
  );
  return {
    runs: page.map(({ checkpoints, latest, status, forkedFrom }, at) => {
      const { runId, graphId } = latest;
      return { runId, graphId, checkpoints, latest, status: status ?? "unknown", forkedFrom, lease: leases[at]! };
    }),
    cursor: found.length > limit ? page[limit - 1]!.cursor : null,
  };
}

const planner = new Tool(agentos.name, JSON.stringify({ resumePlanner: {} }));

export const resumePlan: typeof resumePlanContract = (checkpoint) => {
  const recorded = readingArgument("checkpoint", () => recordedIn(checkpoint));
  return parse(planner.call(JSON.stringify(recorded))) as ResumePlan;
};

/** Returns the fields of a checkpoint that the resume planner needs. */
function recordedIn(checkpoint: Parameters<typeof resumePlanContract>[0]) {
  if (typeof checkpoint !== "object" || checkpoint === null) {
    throw typeError(`checkpoint must be an object, and is ${show(checkpoint)}`);
  }
  const { nodeResults, visitedNodes, skippedNodes } = checkpoint;
  if (typeof nodeResults !== "object" || nodeResults === null) {
    throw typeError(`checkpoint.nodeResults must be an object, and is ${show(nodeResults)}`);
  }
  const nodes = Object.keys(nodeResults);
  const classes = nodes.map((node) => {
    requireId(node, "a key of checkpoint.nodeResults");
    return requireId(nodeResults[node]?.effectClass, `checkpoint.nodeResults[${quote(node)}].effectClass`);
  });
  const visited = strings(visitedNodes, "checkpoint.visitedNodes");
  const skipped = skippedNodes === undefined ? [] : strings(skippedNodes, "checkpoint.skippedNodes");
  const recorded = nodes.map((node, at) => [node, classes[at]]);
  return { recorded, visited, skipped };
}

/** Lists checkpoints. The list is empty for an id that no stored checkpoint can have. */
async function list(
  { native }: Engine,
  graphId: string | null | undefined,
  runId: string | null | undefined,
  limit: number | undefined,
): Promise<CheckpointMetadata[]> {
  if (graphId === null || runId === null || limit === 0) return [];
  return rowsOf(await agentos.call(native, "list", { graphId, runId, limit }));
}

/** Reads the contract's listing options. A `limit` that is not a number above 0 means no limit. */
function listOptions(options: { limit?: number | null; runId?: string } | undefined): {
  limit: number | undefined;
  runId: string | null | undefined;
} {
  if (options === undefined || options === null) return { limit: undefined, runId: undefined };
  if (typeof options !== "object") throw typeError(`options must be an object, and is ${show(options)}`);
  const { limit, runId } = readingArgument("options", () => ({ limit: options.limit, runId: options.runId }));
  if (limit !== undefined && limit !== null && typeof limit !== "number") {
    throw typeError(`options.limit must be a number, and is ${show(limit)}`);
  }
  return {
    limit: typeof limit === "number" && limit > 0 && limit < 0xffffffff ? Math.floor(limit) : undefined,
    runId: runId === undefined || runId === null ? undefined : idOrNull(runId, "options.runId"),
  };
}

const runsOptions = {
  graphIdPrefix: (value: unknown) => {
    if (typeof value !== "string") throw typeError(`option "graphIdPrefix" must be a string, and is ${show(value)}`);
    if (!value.isWellFormed()) {
      throw typeError(
        'option "graphIdPrefix" contains an unpaired surrogate (invalid Unicode), which no stored graphId contains',
      );
    }
    return value;
  },
  ...pageOptions,
};

function strings(value: unknown, what: string): string[] {
  if (!isArray(value)) throw typeError(`${what} must be an array of strings, and is ${show(value)}`);
  return value.map((item, index) => requireId(item, `${what}[${index}]`));
}
