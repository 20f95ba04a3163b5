/** `recover` for AgentOS: resumes crashed runs, asks for the answers that runs wait for, and stores the end of each run. */

import { crypto } from "../../bridge/crypto.js";
import { ForkpointError, quote, show } from "../../bridge/errors.js";
import type { StoreHandle } from "../../store/handle.js";
import type { HeldLease } from "../../store/lease.js";
import { decodeMark, encodeMark, type Identity } from "../../store/mark.js";
import { callback, flag, readRecord, type Parsed } from "../../store/options.js";
import { detachBuffers } from "../../bridge/detach.js";
import {
  type Candidate,
  asksForRetry,
  handleToRecover,
  ids,
  recoverRuns,
  sharedOptions,
  type RecoverOptions,
  type RecoverReport,
  type UnrecoveredRun,
} from "../shared/recovery.js";
import { type CheckpointStore, put, restore, snapshot } from "./checkpoint-store.js";
import { Graph, programOf, type RecoverableGraph } from "./graph.js";
import { makers } from "./maker.js";
import { resumeRun } from "./resume.js";
import { agentos, openFound } from "./wire.js";
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
  /** The ids of the runs that were forked from this checkpoint. One of them may already have the answer. */
  forks: string[];
}

/** A run whose newest checkpoint says that nodes have failed. */
export interface FailedRun {
  runId: string;
  checkpointId: string;
  /** The ids of the nodes that failed. */
  nodes: string[];
  state: StatePartitions;
}

/** The options of {@link recover}. */
export interface AgentosRecoverOptions extends RecoverOptions<RecoveredRun> {
  /**
   * Returns the answer of a human node, which becomes the output of the node. AgentOS' own answers have the form
   * `{ approved: boolean }`. If the function returns undefined, or is missing, the run keeps waiting.
   *
   * The answer is stored as a checkpoint of the run before the run continues. It is used once, and `onWaiting`
   * is not called again after a crash.
   */
  onWaiting?: (node: WaitingNode) => unknown;
  /**
   * Decides what becomes of a run with failed nodes. `"retry"` runs these nodes again, once. AgentOS itself never
   * repeats a failed `write` or `external` node, because the node may have had its effect. Default: `"leave"`.
   */
  onFailed?: (run: FailedRun) => "retry" | "leave" | undefined | Promise<"retry" | "leave" | undefined>;
  /**
   * The ids of the runs to recover. Default: all runs of the graph, except forks that have only their first checkpoint.
   * The program that makes a fork resumes it, with `recover(graph, store, { runs: [forkId] })`.
   */
  runs?: readonly string[];
  /**
   * A run keeps waiting if runs were forked from the checkpoint at which it waits, because a fork may hold the answer.
   * If true, `onWaiting` is called for such a run too. Default: false.
   */
  askForked?: boolean;
  /**
   * An answer `{ approved: false }` is rejected if the graph has a `write` or `external` node after the human node and
   * no router or guardrail between them, because that node would run despite the answer. If true, the answer is
   * passed on. Default: false.
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
      /** What `graph.resume` returned. */
      output: unknown;
    }
  | {
      /** Human nodes have no answer. */
      outcome: "waiting";
      checkpointId: string;
      nodes: string[];
      /** The ids of the runs that were forked from the checkpoint. */
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

const PAGE = 1_000;

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
  const shape = new Graph(graph);
  if (!shape.saves) warnOnce(shape.id);
  const maker = makers.get(handle);
  const identity = maker?.program === undefined ? shape.identity : { program: maker.program };
  maker?.learn(shape.id, identity);
  // Without the option `program`, the name in a graph's id identifies the program.
  const ofGraph = (graphId: string) => (maker?.program === undefined ? programOf(graphId) : {});

  async function* candidates(): AsyncGenerator<string> {
    const { idPrefix: graphIdPrefix, isParallel } = shape;
    let before: number | undefined;
    for (;;) {
      const page = await handle.run(({ native }) =>
        agentos.call(native, "runs", { graphIdPrefix, limit: PAGE, before }),
      );
      for (const { status, forkedFrom, checkpoints, mark, latest } of page) {
        if (Date.now() - latest.timestamp > (own.maxAgeMs ?? Infinity)) continue;
        // The status of a parallel graph is exact only together with the graph.
        const finished = status === "finished" && !isParallel;
        // The program may have resumed this fork already: AgentOS stores nothing when a resumed run ends.
        const untouchedFork = forkedFrom !== null && checkpoints === 1 && decodeMark(mark).branch !== true;
        if (finished || untouchedFork || !shape.compiledAs(latest.graphId)) continue;
        yield latest.runId;
      }
      if (page.length < PAGE) return;
      before = Number(page.at(-1)!.cursor);
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
    const { id: newest, graphId, timestamp: at } = found.checkpoint;
    const position = shape.positionOf(found.checkpoint);
    if (position.status === "finished") return undefined;
    const missing = position.status === "other graph" ? position.node : undefined;
    const unfinished = position.status === "unfinished";
    return { newest, at, mark: { ...ofGraph(graphId), ...found.mark }, missing, unfinished };
  }

  const work = (runId: string, lease: HeldLease) =>
    new Continuation({ graph, shape, store, handle, identity, options: own, lease }).run(runId);
  const framework = { space: agentos.name, noun: "run", handle, identity, options: own, named: own.runs } as const;
  return recoverRuns({ ...framework, candidates, look, work });
}

const warned = new Set<string>();

/** A graph gets a new id at each `compile()`. */
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
  shape: Graph;
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
    const retried = new Set<string>();
    let output: unknown;
    for (;;) {
      const checkpoint = await this.#latest(runId);
      const position = this.#parts.shape.positionOf(checkpoint);
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
    const { onWaiting, askForked = false } = this.#parts.options;
    const forks = await this.#forksOf(checkpoint);
    const left: string[] = [];
    const given = new Map<string, unknown>();
    for (const nodeId of nodes) {
      const ask = onWaiting !== undefined && (askForked || forks.length === 0);
      const { runId, id: checkpointId, state } = checkpoint;
      const prompt = promptOf(checkpoint, nodeId);
      const answer = ask ? await onWaiting({ runId, checkpointId, nodeId, prompt, state, forks }) : undefined;
      if (answer === undefined) left.push(nodeId);
      else given.set(nodeId, this.#checked(answer, nodeId));
    }
    if (given.size > 0) await this.#append(checkpoint, this.#parts.shape.answered(checkpoint, given));
    return left.length === 0 ? undefined : { outcome: "waiting", nodes: left, forks };
  }

  /** Throws for a rejection that would not stop the next node. */
  #checked(answer: unknown, nodeId: string): unknown {
    const rejects = typeof answer === "object" && answer !== null && "approved" in answer && answer.approved === false;
    const effect =
      rejects && this.#parts.options.passRejections !== true ? this.#parts.shape.effectBehind(nodeId) : undefined;
    if (effect === undefined) return answer;
    throw new ForkpointError(
      "INVALID_ARGUMENT",
      `onWaiting rejects ${quote(nodeId)}, but the graph runs ${quote(effect)} after it whatever the answer is: put a ` +
        "router between them, or end the run with store.clear(runId). If the node itself reads the answer, use " +
        "passRejections: true",
    );
  }

  async #forksOf({ id, runId }: Checkpoint): Promise<string[]> {
    const forks = await this.#parts.handle.run(({ native }) => agentos.call(native, "forks", { runId }));
    return forks.filter(({ forkedFrom }) => forkedFrom === id).map(({ latest }) => latest.runId);
  }

  /** Calls `onFailed`. For a retry, removes the results of the failed nodes from the record. */
  async #retry(checkpoint: Checkpoint, nodes: string[]): Promise<boolean> {
    const { runId, id: checkpointId, state, nodeResults } = checkpoint;
    if (!(await asksForRetry(this.#parts.options.onFailed, { runId, checkpointId, nodes, state }))) return false;
    const left = Object.entries(nodeResults).filter(([node]) => !nodes.includes(node));
    await this.#append(checkpoint, { nodeResults: Object.fromEntries(left) });
    return true;
  }

  /** Resumes a run. Stores its end, because AgentOS does not. */
  async #resume(checkpoint: Checkpoint): Promise<unknown> {
    const { output, completed } = await resumeRun(this.#parts.graph, checkpoint.runId);
    const newest = await this.#latest(checkpoint.runId);
    // AgentOS saves a checkpoint in a resumed run only if a node waits or fails. A mission also saves some on the way.
    const { status } = this.#parts.shape.positionOf(newest);
    if (newest.id === checkpoint.id || status === "unfinished")
      await this.#append(newest, this.#parts.shape.ended(newest, output, completed));
    return output;
  }

  /** Saves a changed copy of the newest checkpoint after it. Rejects with `CONFLICT` if it is no longer the newest. */
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
