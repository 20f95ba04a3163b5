/** `recover` for AgentOS: resumes crashed runs, asks for missing answers, and stores the end of each run. */

import { crypto } from "../../bridge/crypto.js";
import { ForkpointError, quote, show } from "../../bridge/errors.js";
import type { StoreHandle } from "../../store/handle.js";
import type { HeldLease } from "../../store/lease.js";
import { decodeMark, encodeMark, type Identity, type Mark } from "../../store/mark.js";
import { missingNodes } from "../../store/compare-programs.js";
import { programOf as describedProgram } from "../../store/stored-programs.js";
import { callback, flag, readRecord, type Parsed } from "../../store/options.js";
import { batches } from "../../store/page.js";
import { detachBuffers } from "../../bridge/detach.js";
import type { Candidate, Earlier } from "../shared/framework.js";
import { recoverRuns } from "../shared/recover-runs.js";
import {
  asksForRetry,
  handleToRecover,
  ids,
  sharedOptions,
  type ChangedRun,
  type RecoverOptions,
  type RecoverReport,
  type UnrecoveredRun,
} from "../shared/recover-options.js";
import type { CheckpointStore } from "./checkpoint-store.js";
import { put, restore, snapshot } from "./stored.js";
import { Graph, isParallel, placeOf, programOf, type Flow, type RecoverableGraph } from "./graph.js";
import { makers } from "./maker.js";
import { resumeRun } from "./resume.js";
import { answerOf, statusOf } from "./status.js";
import { agentos, openFound } from "./wire.js";
import { originalOf } from "./with-effects.js";
import type { Checkpoint, StatePartitions } from "./contract.js";

/** A human node that waits for an answer. */
export interface WaitingNode {
  runId: string;
  /** The id of the checkpoint at which the run waits. */
  checkpointId: string;
  nodeId: string;
  /** The prompt of the human node. Undefined if the checkpoint has none. */
  prompt: string | undefined;
  /** The state at the checkpoint. */
  state: StatePartitions;
  /** The ids of the forks of this checkpoint. One of them may already have the answer. */
  forks: string[];
}

/** A run with failed nodes in its newest checkpoint. */
export interface FailedRun {
  runId: string;
  checkpointId: string;
  /** The ids of the nodes that failed. */
  nodes: string[];
  state: StatePartitions;
}

/** A run that does not fit this version of its program. */
export interface ChangedGraphRun extends ChangedRun {
  runId: string;
}

/** The options of {@link recover}. */
export interface AgentosRecoverOptions extends RecoverOptions<RecoveredRun, ChangedGraphRun> {
  /**
   * Returns the answer of a human node, which becomes the node's output. AgentOS' own answers have the form `{
   * approved: boolean }`. Without a function or a return value, the run keeps waiting.
   *
   * The answer is stored in a checkpoint before the run continues, and is used once. After a crash, `onWaiting` is not
   * called again.
   */
  onWaiting?: (node: WaitingNode) => unknown;
  /**
   * Decides what to do with a run with failed nodes. `"retry"` runs these nodes again, once. AgentOS itself never
   * repeats a failed `write` or `external` node, because its effect may have happened. Default: `"leave"`.
   */
  onFailed?: (run: FailedRun) => "retry" | "leave" | undefined | Promise<"retry" | "leave" | undefined>;
  /**
   * The ids of the runs to recover. Default: all runs of the graph, except forks with only their first checkpoint. The
   * program that makes a fork resumes it with `recover(graph, store, { runs: [forkId] })`.
   */
  runs?: readonly string[];
  /**
   * If true, calls `onWaiting` for a run even if the checkpoint at which it waits was forked. If false, such a run
   * keeps waiting, because a fork may have the answer. Default: false.
   */
  askForked?: boolean;
  /**
   * If true, passes on an answer `{ approved: false }` even if a `write` or `external` node follows the human node
   * without a router or guardrail between them. If false, rejects such an answer, because the node would run despite
   * it. Default: false.
   */
  passRejections?: boolean;
}

/** The outcome of a run that this process worked on. */
export type RunOutcome =
  | {
      /** The run was resumed to its end. */
      outcome: "finished";
      /** The id of the checkpoint that stores the end of the run. */
      checkpointId: string;
      /** The result of `graph.resume`. */
      output: unknown;
    }
  | {
      /** Human nodes have no answer. */
      outcome: "waiting";
      checkpointId: string;
      nodes: string[];
      /** The ids of the forks of the checkpoint. */
      forks: string[];
    }
  | {
      /** Nodes have failed and were not retried, or failed again. */
      outcome: "failed";
      checkpointId: string;
      nodes: string[];
    };

/** The outcome of a run. */
export type RecoveredRun = { runId: string } & (RunOutcome | UnrecoveredRun);

const parsers = {
  ...sharedOptions,
  onWaiting: callback<NonNullable<AgentosRecoverOptions["onWaiting"]>>,
  onFailed: callback<NonNullable<AgentosRecoverOptions["onFailed"]>>,
  runs: ids,
  askForked: flag,
  passRejections: flag,
};

/** See recover.ts. */
export async function recover(
  graph: RecoverableGraph,
  store: CheckpointStore,
  options?: AgentosRecoverOptions,
): Promise<RecoverReport<RecoveredRun>> {
  const own = readRecord(options, "options", parsers);
  const message = `store must be a CheckpointStore of forkpoint, but is ${show(store)}`;
  const handle = handleToRecover(store, "save", { name: "CheckpointStore", message });
  const compiled = new Graph(graph);
  if (!compiled.saves) warnOnce(compiled.id);
  const maker = makers.get(handle);
  const { program, shape, identity } = compiled.programFor(maker);
  if (own.dryRun !== true) maker?.learn(compiled.id, identity);
  /** The graph of a run. Null: unknown. */
  const flowOf = async ({ shape: hash }: Mark): Promise<Flow | null> => {
    if (hash === undefined || hash === identity.shape) return hash === undefined ? null : shape;
    return describedProgram(handle, agentos.name, hash);
  };
  // Without the option `program`, the name in a graph's id identifies the program.
  const markOf = (graphId: string, mark: Mark): Mark => {
    const name = maker?.program === undefined ? programOf(graphId) : undefined;
    return { ...(name !== undefined && { program: name }), ...mark };
  };

  async function* candidates(): AsyncGenerator<string> {
    const { idPrefix: graphIdPrefix } = compiled;
    const read = (before: number | undefined, limit: number) =>
      handle.run(({ native }) => agentos.call(native, "runs", { graphIdPrefix, limit, before }));
    for await (const runs of batches(read)) {
      for (const { status, forkedFrom, checkpoints, mark, latest } of runs) {
        if (Date.now() - latest.timestamp > (own.maxAgeMs ?? Infinity)) continue;
        if (!compiled.compiledAs(latest.graphId)) continue;
        // The program may already have resumed this fork: AgentOS stores nothing when a resumed run ends.
        if (forkedFrom !== null && checkpoints === 1 && decodeMark(mark).branch !== true) continue;
        // The status of a parallel graph is only exact with the graph.
        if (status === "finished" && !isParallel((await flowOf(decodeMark(mark))) ?? shape)) continue;
        yield latest.runId;
      }
    }
  }

  async function look(runId: string): Promise<Candidate | undefined> {
    const found = await handle.run(async (engine) => {
      const stored = await agentos.find(engine.native, "load", { runId, nodeId: undefined }, openFound);
      return stored && { checkpoint: restore(engine, stored), mark: decodeMark(stored.mark) };
    });
    if (found === null) {
      if (own.runs === undefined) return undefined;
      throw new ForkpointError("NOT_FOUND", `run ${quote(runId)} not found: nothing to recover`);
    }
    const { id: newest, graphId, timestamp } = found.checkpoint;
    const flow = await flowOf(found.mark);
    const { at, position } = placeOf(found.checkpoint, flow ?? shape);
    // A mission adds nodes while it runs. They are in no program.
    const isOther = flow !== null && missingNodes(flow, position).length > 0;
    const isUnknown = (flow === null || isOther) && missingNodes(shape, position).length > 0;
    // The status of another graph's run is unknown.
    const status =
      isUnknown && at.status === "finished" ? (statusOf({ ...found.checkpoint }) ?? "unfinished") : at.status;
    if (status === "finished") return undefined;
    const mark = isOther ? { ...found.mark, shape: undefined } : found.mark;
    return { newest, at: timestamp, mark: markOf(graphId, mark), position: () => position, status };
  }

  async function* earlier(runId: string): AsyncGenerator<Earlier> {
    const [, ...older] = await store.listByRun(runId);
    for (const { id } of older) {
      const found = await handle.run(async (engine) => {
        const stored = await agentos.find(engine.native, "get", { checkpointId: id }, openFound);
        return stored && { checkpoint: restore(engine, stored), mark: decodeMark(stored.mark) };
      });
      if (found === null) continue;
      const { position } = placeOf(found.checkpoint, (await flowOf(found.mark)) ?? shape);
      yield { id, mark: markOf(found.checkpoint.graphId, found.mark), position: () => position };
    }
  }

  return recoverRuns({
    space: agentos.name,
    noun: "run",
    handle,
    program,
    shape,
    options: own,
    asks: { waiting: own.onWaiting !== undefined, failed: own.onFailed !== undefined },
    named: own.runs,
    candidates,
    look,
    earlier,
    forksInPlace: false,
    async fork(_, { from: checkpointId, run: runId, id }, lease) {
      const timestamp = Date.now();
      const fields = { checkpointId, id, runId, timestamp, savedAt: timestamp };
      await handle.run(({ native }) => agentos.call(native, "fork", fields), lease);
    },
    work: (runId, lease) =>
      new Continuation({
        graph: originalOf(graph),
        compiled,
        flow: shape,
        store,
        handle,
        identity,
        options: own,
        lease,
      }).run(runId),
  });
}

const warned = new Set<string>();

/** Warns once for each graph id, which changes at each `compile()`. */
function warnOnce(graphId: string): void {
  if (warned.has(graphId)) return;
  warned.add(graphId);
  const message =
    `graph ${quote(graphId)} saves no checkpoint when a node completes, so a run that crashes cannot be resumed: use ` +
    'new AgentGraph(schema, { checkpointPolicy: "every_node" })';
  process.emitWarning(Object.assign(new Error(message), { name: "ForkpointWarning" }));
}

interface Parts {
  graph: RecoverableGraph;
  compiled: Graph;
  flow: Flow;
  store: CheckpointStore;
  handle: StoreHandle;
  identity: Identity;
  options: Parsed<typeof parsers>;
  lease: HeldLease;
}

class Continuation {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async run(runId: string): Promise<RunOutcome> {
    const { lease } = this.#parts;
    const retried = new Set<string>();
    let output: unknown;
    for (;;) {
      const checkpoint = await this.#latest(runId);
      const position = placeOf(checkpoint, this.#parts.flow).at;
      if (position.status === "failed" || position.status === "unfinished") lease.signal.throwIfAborted();
      switch (position.status) {
        case "waiting": {
          const left = await this.#answer(checkpoint, position.nodes);
          if (left !== undefined) return { checkpointId: checkpoint.id, ...left };
          break;
        }
        case "failed": {
          const { nodes } = position;
          if (nodes.some((node) => retried.has(node)) || !(await this.#retry(checkpoint, nodes))) {
            return { outcome: "failed", checkpointId: checkpoint.id, nodes };
          }
          for (const node of nodes) retried.add(node);
          break;
        }
        case "unfinished":
          output = await this.#resume(checkpoint);
          break;
        default:
          return { outcome: "finished", checkpointId: checkpoint.id, output };
      }
    }
  }

  async #latest(runId: string): Promise<Checkpoint> {
    const checkpoint = await this.#parts.store.latest(runId);
    if (checkpoint !== null) return checkpoint;
    throw new ForkpointError("NOT_FOUND", `run ${quote(runId)} was removed during the recovery`);
  }

  /**
   * Calls `onWaiting` for the answers of the human nodes, and stores them. Returns the outcome `"waiting"` if an answer
   * is missing.
   */
  async #answer(
    checkpoint: Checkpoint,
    nodes: string[],
  ): Promise<{ outcome: "waiting"; nodes: string[]; forks: string[] } | undefined> {
    const { lease, options } = this.#parts;
    const { onWaiting, askForked = false } = options;
    const forks = await this.#forksOf(checkpoint);
    const left: string[] = [];
    const given = new Map<string, unknown>();
    for (const nodeId of nodes) {
      const ask = onWaiting !== undefined && lease.stop === undefined && (askForked || forks.length === 0);
      const { runId, id: checkpointId, state } = checkpoint;
      const prompt = promptOf(checkpoint, nodeId);
      const stored = answerOf(checkpoint, nodeId);
      const asked = async () =>
        ask ? await onWaiting({ runId, checkpointId, nodeId, prompt, state, forks }) : undefined;
      const answer = stored === null ? await asked() : stored.value;
      if (answer === undefined) left.push(nodeId);
      else given.set(nodeId, this.#checked(answer, nodeId));
    }
    if (given.size > 0) await this.#append(checkpoint, this.#parts.compiled.answered(checkpoint, given));
    return left.length === 0 ? undefined : { outcome: "waiting", nodes: left, forks };
  }

  /** Throws for a rejection that would not stop the next node. */
  #checked(answer: unknown, nodeId: string): unknown {
    const rejects = typeof answer === "object" && answer !== null && "approved" in answer && answer.approved === false;
    const effect =
      rejects && this.#parts.options.passRejections !== true ? this.#parts.compiled.effectBehind(nodeId) : undefined;
    if (effect === undefined) return answer;
    throw new ForkpointError(
      "INVALID_ARGUMENT",
      `the answer rejects ${quote(nodeId)}, but the graph runs ${quote(effect)} after it whatever the answer is: put a ` +
        "router between them, or end the run with store.clear(runId). If the node itself reads the answer, use " +
        "passRejections: true",
    );
  }

  async #forksOf({ id, runId }: Checkpoint): Promise<string[]> {
    const forks = await this.#parts.handle.run(({ native }) => agentos.call(native, "forks", { runId }));
    return forks.filter(({ forkedFrom }) => forkedFrom === id).map(({ latest }) => latest.runId);
  }

  /** Calls `onFailed`. For a retry, removes the results of the failed nodes. */
  async #retry(checkpoint: Checkpoint, nodes: string[]): Promise<boolean> {
    const { runId, id: checkpointId, state, nodeResults } = checkpoint;
    if (!(await asksForRetry(this.#parts.options.onFailed, { runId, checkpointId, nodes, state }))) return false;
    const left = Object.entries(nodeResults).filter(([node]) => !nodes.includes(node));
    await this.#append(checkpoint, { nodeResults: Object.fromEntries(left) });
    return true;
  }

  /** Resumes a run, and stores its end, because AgentOS does not. */
  async #resume(checkpoint: Checkpoint): Promise<unknown> {
    const { graph, compiled, handle, lease } = this.#parts;
    const run = { runId: checkpoint.runId, handle, compiled, lease };
    const { output, completed } = await resumeRun(graph, run, lease.signal);
    const newest = await this.#latest(checkpoint.runId);
    // In a resumed run, AgentOS only saves if a node waits or fails. A mission may save on the way.
    const { status } = placeOf(newest, this.#parts.flow).at;
    if (newest.id === checkpoint.id || status === "unfinished")
      await this.#append(newest, this.#parts.compiled.ended(newest, output, completed));
    return output;
  }

  /** Saves a changed copy after the newest checkpoint. Rejects with `CONFLICT` if there is a newer one. */
  async #append(newest: Checkpoint, change: Partial<Checkpoint>): Promise<void> {
    const timestamp = Math.max(Date.now(), newest.timestamp);
    const checkpoint: Checkpoint = { ...newest, ...change, id: crypto().randomUUID(), timestamp };
    await this.#parts.handle.save(async (engine) => {
      const { fields, state, rest } = snapshot(checkpoint, engine);
      const mark = encodeMark(this.#parts.identity);
      await put(engine, { ...fields, expectedNewest: newest.id, mark }, state, rest);
      detachBuffers(state, rest);
    }, this.#parts.lease);
  }
}

function promptOf({ nodeResults }: Checkpoint, nodeId: string): string | undefined {
  const output = nodeResults[nodeId]?.output as { prompt?: unknown } | undefined;
  return typeof output?.prompt === "string" ? output.prompt : undefined;
}
