/** `Graph`: invokes, resumes and updates graphs. */

import { crypto } from "../../../bridge/crypto.js";
import { ForkpointError, isArray, quote, readingArgument, show, typeError } from "../../../bridge/errors.js";
import { type Format, formatOf } from "../../../bridge/serializer.js";
import { optionalId, requireId, requireIds } from "../../../store/ids.js";
import { ownLeaseOption } from "../../../store/lease.js";
import {
  type OptionParser,
  anything,
  callback,
  flag,
  oneOf,
  programOption,
  readRecord,
  refuseUnknown,
  signalOption,
} from "../../../store/options.js";
import { drainOption } from "../../shared/drain.js";
import { RunLease, alone, noLeases } from "../../shared/run-lease.js";
import { streamOf } from "../../shared/stream.js";
import { handleOf } from "../../../store/handle-of.js";
import { Command, type CommandFields } from "../command.js";
import { type GraphDefinition, readDefinition, type GraphOutline } from "./definition.js";
import { GraphExecution } from "./execution.js";
import { type GraphParts, type GraphPlan, type GraphRunOptions, continued, inputOf } from "./plan.js";
import { fork, getHistory, getSnapshot, type StateSnapshot, type HistoryOptions } from "./inspection.js";
import { type ThreadRef, type GraphCheckpointer, keyOf } from "./recorder.js";
import { shapeOfGraph } from "./shape.js";
import { partsOf } from "./subgraph.js";
import { type Given, UPDATE, given } from "./values.js";
import type { NodeFunction, NodeOptions, SubgraphHooks } from "./node.js";
import type { Durability } from "./wire.js";
import type { GraphEvent, GraphResult } from "./events.js";
import type { CheckpointTuple, Namespace } from "../contract.js";

export interface GraphConfig<S, U, I = S> extends GraphOutline<S> {
  nodes: Record<string, NodeFunction<S, U> | NodeOptions<S, U> | SubgraphNode<S, U>>;
  /**
   * Returns the state after an update. The updates of a superstep are folded in the order of the tasks' activation, not
   * of their ends. The reducer may change its argument.
   */
  reducer: (state: S, update: U) => S;
  /** Returns the initial state of a run. `current` is the thread's state, or null. `input` is a copy. Default: the input. */
  input?: (current: S | null, input: I) => S;
  /** Without a checkpointer, the graph stores nothing, and no node may ask a question. */
  checkpointer?: GraphCheckpointer<S>;
  /**
   * When checkpoints are stored. Default: `"sync"`. The option with the same name of `Checkpointer` and `openStore`
   * decides which failures a stored checkpoint survives.
   */
  durability?: Durability;
  /**
   * If true, only one process at a time runs a thread: a run takes the lease of its thread and namespace, and releases
   * it at its end. A run on a thread that another process runs rejects with `CONFLICT`. Needs a `Checkpointer`; the
   * constructor throws `UNSUPPORTED` for another store. Default: false. See docs/leases.md.
   */
  lease?: boolean | { ttlMs?: number };
  /** The version of the graph: any non-empty string, for listings and messages. Default: none. */
  version?: string;
}

/**
 * A graph that runs as one task. Its own checkpointer and durability are not used. Its checkpoints are in the namespace
 * `[...namespace, taskId]` of the outer graph's checkpointer, with its durability. Its questions become questions of
 * this task, with one answer for all. A resume continues the subgraph.
 */
export interface SubgraphNode<S, U> extends SubgraphHooks<S, U> {
  subgraph: Graph<any, any, any>;
}

type Config = CheckpointTuple<any>["config"];
type Emit = (event: GraphEvent<any>) => void;

/**
 * Runs nodes in supersteps over a state, and stores a checkpoint at the boundaries.
 *
 * A run that failed, was killed, drained or interrupted continues with `resume()`. A task with a recorded result does
 * not run again, unless its `effectClass` is `"pure"` or `"read"`. If a node throws, the run rejects with its error, to
 * which `node`, `taskId`, `threadId` and `runId` are added, also to its `cause` unless they are there.
 *
 * Each method that runs or reads rejects with:
 *
 * - a TypeError for a wrong argument.
 * - `INVALID_ARGUMENT` if a method needs a checkpointer and there is none, for a node that does not exist, or after
 *   `maxSupersteps`.
 * - `NOT_FOUND` if there is no checkpoint to continue from.
 * - `CONFLICT` if the thread is already running in this process, if a graph with another name made the thread, if another
 *   version of the graph made the thread and it does not fit this version (for both, see `force`), or if the checkpoint
 *   has a node that the graph no longer has.
 * - `RunDrainedError` after a drain, and the signal's reason after an abort.
 * - the checkpointer's own error if it fails.
 *
 * @example
 * ```ts
 * const graph = new Graph<{ n: number }>({
 *   nodes: { add: ({ n }) => ({ n: n + 1 }) },
 *   edges: [[START, "add"], ["add", ({ n }) => (n < 3 ? "add" : END)]],
 *   reducer: (state, update) => ({ ...state, ...update }),
 *   checkpointer: new Checkpointer("threads.db"),
 * });
 * ```
 */
export class Graph<S, U = Partial<S>, I = S> {
  readonly name: string;
  /** The option `version`. Undefined if it was not given. */
  readonly version: string | undefined;
  readonly #parts: GraphParts;
  readonly #definition: GraphDefinition;
  readonly #checkpointer: GraphCheckpointer<S> | undefined;
  readonly #durability: Durability;
  /** How long the lease of a thread is valid, in ms. Undefined: runs take no leases. */
  readonly #leaseMs: number | undefined;

  /** @throws TypeError or RangeError for a wrong definition. */
  constructor(config: GraphConfig<S, U, I>) {
    const parsers = Object.fromEntries(configKeys.map((key) => [key, anything]));
    if (config === undefined) throw typeError("Graph takes an object, but was given undefined");
    const read = readRecord(config, "config", parsers) as unknown as GraphConfig<S, U, I>;
    const { reducer, checkpointer, durability = "sync", input, memory, lease = false, version } = read;
    this.#definition = readingArgument("config", () => readDefinition(read));
    this.name = this.#definition.name;
    const { nodes } = this.#definition;
    for (const { name, options } of nodes) {
      if ("subgraph" in options && options.subgraph !== undefined && !partsOf.has(options.subgraph))
        throw typeError(`nodes[${quote(name)}].subgraph must be a Graph, but is ${show(options.subgraph)}`);
    }
    callback(reducer, "reducer");
    if (input !== undefined) callback(input, "input");
    this.#checkpointer = readingArgument("checkpointer", () => readCheckpointer(checkpointer));
    this.#durability = readDurability(durability, "durability");
    this.#leaseMs = ownLeaseOption(lease, "lease");
    if (this.#leaseMs !== undefined && handleOf(this.#checkpointer) === undefined)
      throw noLeases('the option "lease"', "Checkpointer");
    this.version = version === undefined ? undefined : programOption(version, "version");
    const shape = shapeOfGraph(this.#definition, this.version, (subgraph) => partsOf.get(subgraph)!);
    this.#parts = { definition: this.#definition, shape, reducer, input, memory };
    partsOf.set(this, this.#parts);
  }

  /**
   * Runs the graph from its start with an input. Pending tasks of an earlier run on the thread are dropped. With a
   * {@link Command} or null, continues the thread instead.
   * @example const { state } = await graph.invoke({ n: 0 }, { threadId: "thread-1" });
   */
  async invoke(input: I | Command<U> | null, options?: GraphRunOptions): Promise<GraphResult<S>> {
    return this.#start(this.#planOf(input, options));
  }

  /**
   * Like `invoke`, but returns an iterator over the events. The run never waits for the reader. If the reader leaves
   * the loop early, the run is aborted. The iterator throws the run's error.
   * @example for await (const event of graph.stream({ n: 0 }, { threadId: "thread-1" })) console.log(event.type);
   */
  stream(input: I | Command<U> | null, options?: GraphRunOptions): AsyncGenerator<GraphEvent<S>, GraphResult<S>, void> {
    return streamOf(() => {
      const plan = this.#planOf(input, options);
      return { signal: plan.signal, start: (signal, emit: Emit) => this.#start({ ...plan, signal }, emit) };
    });
  }

  /**
   * Continues a thread from its latest checkpoint. Answers go only to interrupted tasks. An unanswered task does not
   * run, and neither do later supersteps.
   * @example const { status } = await graph.resume("thread-1", { resume: "yes" });
   */
  async resume(
    threadId: string,
    command?: Command<U> | CommandFields<U>,
    options?: Omit<GraphRunOptions, "threadId" | "checkpointId">,
  ): Promise<GraphResult<S>> {
    return this.resumeFrom(threadId, "latest", command, options);
  }

  /**
   * Continues a thread from `"latest"` or from the checkpoint with this id. Tasks with a recorded result are skipped.
   * Questions of an older checkpoint may be answered again. Older checkpoints and their writes stay as they are: new
   * checkpoints are appended. A subgraph without a recorded result restarts.
   * @example const { state } = await graph.resumeFrom("thread-1", checkpointId, { resume: "no" });
   */
  async resumeFrom(
    threadId: string,
    target: "latest" | (string & {}),
    command?: Command<U> | CommandFields<U>,
    options?: Omit<GraphRunOptions, "threadId" | "checkpointId">,
  ): Promise<GraphResult<S>> {
    const from = target === "latest" ? undefined : requireId(target, "target");
    const given = readingArgument("command", () =>
      command instanceof Command ? command : new Command<U>(command ?? {}),
    );
    const others = readingArgument("options", () => ({ ...options }));
    const own = { ...others, threadId, ...(from !== undefined && { checkpointId: from }) };
    return this.#start(this.#planOf(given, own));
  }

  /**
   * Returns the state of a thread, or null if there is none. Default: the latest checkpoint of the graph itself.
   * @example const next = (await graph.getState("thread-1"))?.next;
   */
  async getState(
    threadId: string,
    checkpointId?: string | null,
    namespace: Namespace = [],
  ): Promise<StateSnapshot<S> | null> {
    const id = checkpointId ?? undefined;
    return getSnapshot(this.#stored(), { threadId, ...(id !== undefined && { checkpointId: id }), namespace });
  }

  /**
   * Returns the states of the latest checkpoint and its ancestors, newest first.
   * @example const updates = await graph.getStateHistory("thread-1", { filter: { source: "update" } });
   */
  async getStateHistory(threadId: string, options?: HistoryOptions): Promise<Array<StateSnapshot<S>>> {
    return getHistory(this.#stored(), threadId, options);
  }

  /**
   * Updates the state of a thread through the reducer, as a new checkpoint with the source `"update"`. No node runs.
   * Without `asNode`, the same tasks wait as before, with their results and questions. With `asNode`, the update counts
   * as a run of this node: its waiting task is removed, and its successors are added. `force: true` takes over a thread
   * of a graph with another name.
   * @returns the address of the new checkpoint.
   * @throws ForkpointError `NOT_FOUND` if the thread has no checkpoint. `INVALID_ARGUMENT` for an unknown node.
   * @example const { checkpointId } = await graph.updateState("thread-1", { n: 7 }, "add");
   */
  async updateState(
    threadId: string,
    update: U,
    asNode?: string | null,
    options?: { force?: boolean },
  ): Promise<CheckpointTuple<S>["config"]> {
    const { force } = readRecord(options, "options", { force: flag });
    return this.#update(threadId, this.#given(update), asNode, force);
  }

  async #update(
    threadId: string,
    update: Given | undefined,
    asNode: string | null | undefined,
    force: boolean | undefined,
  ): Promise<CheckpointTuple<S>["config"]> {
    const checkpointer = this.#stored();
    const number = typeof asNode === "string" ? this.#definition.numberOf(asNode) : undefined;
    if (asNode !== undefined && asNode !== null && number === undefined) {
      const what = typeof asNode === "string" ? quote(asNode) : show(asNode);
      throw new ForkpointError("INVALID_ARGUMENT", `asNode must be a node of the graph, but is ${what}`);
    }
    const thread = { threadId: requireId(threadId, "threadId"), namespace: [] };
    const mode = { kind: "update", asNode: number } as const;
    const own = { ...(force !== undefined && { force }), ...(update !== undefined && { update }) };
    const plan = { thread, runId: newRunId(), mode, checkpointer, durability: "sync", ...own } as const;
    const { checkpointId } = await this.#start(plan);
    return { ...thread, checkpointId: checkpointId! };
  }

  /**
   * Applies several updates, one after another. Returns the address of the last checkpoint.
   * @throws ForkpointError `INVALID_ARGUMENT` if there are no updates.
   * @example const config = await graph.bulkUpdateState("thread-1", [{ update: { n: 1 } }, { update: { n: 2 }, asNode: "add" }]);
   */
  async bulkUpdateState(
    threadId: string,
    updates: ReadonlyArray<{ update: U; asNode?: string | null }>,
    options?: { force?: boolean },
  ): Promise<CheckpointTuple<S>["config"]> {
    const list: typeof updates = updates;
    if (!isArray(updates)) throw typeError(`updates must be an array, but is ${show(updates)}`);
    const all = readingArgument("updates", () =>
      Array.from(list, (given) => {
        refuseUnknown(given, ["update", "asNode"], "updates");
        return { update: this.#given(given.update), asNode: given.asNode };
      }),
    );
    if (all.length === 0) throw new ForkpointError("INVALID_ARGUMENT", "updates is empty: pass at least one update");
    const { force } = readRecord(options, "options", { force: flag });
    let config: Config | undefined;
    for (const { update, asNode } of all) config = await this.#update(threadId, update, asNode, force);
    return config!;
  }

  /**
   * Copies a checkpoint with its recorded writes into another thread, as a checkpoint without a parent and with the
   * source `"fork"`. The source thread does not change. Without an id, copies the latest checkpoint and the started
   * subgraphs.
   * @throws ForkpointError `NOT_FOUND` if there is no such checkpoint.
   * @example const { checkpointId } = await graph.forkState("thread-1", null, "thread-2");
   */
  async forkState(
    sourceThreadId: string,
    checkpointId: string | null | undefined,
    targetThreadId: string,
  ): Promise<CheckpointTuple<S>["config"]> {
    const from = { threadId: requireId(sourceThreadId, "sourceThreadId"), namespace: [] };
    const to = { threadId: requireId(targetThreadId, "targetThreadId"), namespace: [] };
    return fork(this.#stored(), from, checkpointId ?? undefined, to);
  }

  #stored(): GraphCheckpointer<S> {
    if (this.#checkpointer === undefined)
      throw new ForkpointError("INVALID_ARGUMENT", "the graph has no checkpointer: pass one to its constructor");
    return this.#checkpointer;
  }

  get #format(): Format {
    return (this.#checkpointer && handleOf(this.#checkpointer))?.format ?? formatOf("v8");
  }

  /** Keeps an update as it is now. Undefined: there is none. */
  #given(update: unknown): Given | undefined {
    return update === undefined ? undefined : given(update, this.#format, UPDATE);
  }

  /** Reads the arguments of a run. Keeps all values as they are now, because the caller may change them. */
  #planOf(input: unknown, options: GraphRunOptions | undefined): GraphPlan {
    const read = readRecord(options, "options", runOptions);
    const { threadId, checkpointId, namespace = [], runId = newRunId(), durability, signal, drain, force } = read;
    if (threadId === undefined && this.#checkpointer !== undefined)
      throw typeError("options.threadId is missing: a graph with a checkpointer needs the id of a thread");
    const thread: ThreadRef = { threadId: threadId ?? runId, namespace };
    const continues = input === null || isCommand(input);
    if (continues) this.#stored();
    if (!continues && checkpointId !== undefined)
      throw typeError("a run from options.checkpointId takes a Command or null, because its state is stored");
    return {
      thread,
      runId,
      checkpointer: this.#checkpointer,
      durability: durability ?? this.#durability,
      ...(signal !== undefined && { signal }),
      ...(drain !== undefined && { drain }),
      ...(force !== undefined && { force }),
      ...(continues
        ? continued(input ?? new Command({}), checkpointId, this.#format)
        : { mode: { kind: "input" }, input: inputOf(this.#parts, input, this.#format) }),
    };
  }

  async #start(plan: GraphPlan, emit?: Emit): Promise<GraphResult<S>> {
    const own = plan.checkpointer && handleOf(plan.checkpointer);
    const program = own && { handle: own, shape: this.#parts.shape };
    const identity = own?.identity ?? plan.checkpointer ?? plan;
    const lease = this.#leaseMs === undefined ? undefined : new RunLease(own!, this.#leaseMs);
    return alone(identity, keyOf(plan.thread), "thread", { lease, handle: own }, () => {
      const shaped = { ...plan, program };
      const leased = lease === undefined ? shaped : { ...shaped, lease: lease.held, signal: lease.with(plan.signal) };
      return new GraphExecution(this.#parts, leased, emit, this.#format).start();
    });
  }
}

function isCommand(input: unknown): input is Command<any> {
  return readingArgument("input", () => input instanceof Command);
}

function newRunId(): string {
  return `run-${Date.now()}-${crypto().randomUUID().slice(-12)}`;
}

const configKeys = [
  "nodes",
  "edges",
  "entry",
  "reducer",
  "input",
  "checkpointer",
  "durability",
  "checkpoint",
  "memory",
  "maxSupersteps",
  "name",
  "lease",
  "version",
] as const;

function readCheckpointer(value: unknown): GraphCheckpointer<any> | undefined {
  if (value === undefined || value === null) return undefined;
  const methods = ["put", "get", "getTuple", "putWrites"] as const;
  const given = (typeof value === "object" ? value : {}) as Record<string, unknown>;
  if (methods.every((method) => typeof given[method] === "function")) return value as GraphCheckpointer<any>;
  throw typeError(`checkpointer must have the methods ${methods.join(", ")}, but is ${show(value)}`);
}

const readDurability = oneOf<Durability>("sync", "async", "exit");

const runOptions = {
  threadId: requireId,
  runId: requireId,
  checkpointId: optionalId,
  namespace: requireIds,
  durability: readDurability,
  signal: signalOption,
  drain: drainOption,
  force: flag,
} satisfies Record<keyof GraphRunOptions, OptionParser<unknown>>;
