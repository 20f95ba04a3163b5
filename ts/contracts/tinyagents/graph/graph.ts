/** `Graph`: invokes, resumes and updates graphs. */

import { randomUUID } from "node:crypto";
import type {
  Graph as Contract,
  Durability,
  GraphCheckpointer,
  GraphConfig,
  GraphEvent,
  GraphResult,
  GraphRunOptions,
  HistoryOptions,
  StateSnapshot,
} from "../../../../tinyagents-graph.js";
import type { CommandFields } from "../../../../tinyagents-nodes.js";
import type { CheckpointTuple, Namespace } from "../../../../tinyagents.js";
import { ForkpointError, isArray, quote, readingArgument, show, typeError } from "../../../bridge/errors.js";
import { requireId } from "../../../store/ids.js";
import { ownLeaseOption } from "../../../store/lease.js";
import { type OptionParser, readRecord, refuseUnknown, signalOption } from "../../../store/options.js";
import { RunLease, noLeases } from "../../shared/run-lease.js";
import { reserve } from "../../shared/running.js";
import { streamOf } from "../../shared/stream.js";
import { handleOf } from "../../../store/handles.js";
import { Command } from "../command.js";
import { type GraphDefinition, readDefinition } from "./definition.js";
import { GraphExecution } from "./execution.js";
import type { GraphParts, GraphPlan } from "./plan.js";
import { fork, getHistory, getSnapshot } from "./inspection.js";
import type { Place } from "./recorder.js";
import { partsOf } from "./subgraph.js";
import { strings } from "../values.js";
import { tinyagents } from "../wire.js";

type Config = CheckpointTuple<any>["config"];
type Tell = (event: GraphEvent<any>) => void;

const durabilities = ["sync", "async", "exit"] as const;

export class Graph<S, U = Partial<S>, I = S> implements Contract<S, U, I> {
  readonly name: string;
  readonly #parts: GraphParts;
  readonly #definition: GraphDefinition;
  readonly #checkpointer: GraphCheckpointer<S> | undefined;
  readonly #durability: Durability;
  /** How long the lease of a thread is valid, in ms. Undefined: runs take no leases. */
  readonly #leaseMs: number | undefined;

  constructor(config: GraphConfig<S, U, I>) {
    const known = Object.fromEntries(configKeys.map((key) => [key, (value: unknown) => value]));
    if (config === undefined) throw typeError("Graph takes an object, and was given undefined");
    const read = readRecord(config, "config", known) as unknown as GraphConfig<S, U, I>;
    const { reducer, checkpointer, durability = "sync", input, memory, lease = false } = read;
    this.#definition = readingArgument("config", () => readDefinition(read));
    this.name = this.#definition.name;
    const { nodes } = this.#definition;
    for (const { name, options } of nodes) {
      if ("subgraph" in options && options.subgraph !== undefined && !partsOf.has(options.subgraph))
        throw typeError(`nodes[${quote(name)}].subgraph must be a Graph, and is ${show(options.subgraph)}`);
    }
    if (typeof reducer !== "function") throw typeError(`reducer must be a function, and is ${show(reducer)}`);
    if (input !== undefined && typeof input !== "function")
      throw typeError(`input must be a function, and is ${show(input)}`);
    this.#checkpointer = readingArgument("checkpointer", () => readCheckpointer(checkpointer));
    this.#durability = readDurability(durability, "durability");
    this.#leaseMs = ownLeaseOption(lease, "lease");
    if (this.#leaseMs !== undefined && handleOf(this.#checkpointer) === undefined)
      throw noLeases('the option "lease"', "Checkpointer");
    this.#parts = { definition: this.#definition, reducer, input, memory };
    partsOf.set(this, this.#parts);
  }

  async invoke(input: I | Command<U> | null, options?: GraphRunOptions): Promise<GraphResult<S>> {
    return this.#run(input, options);
  }

  async *stream(
    input: I | Command<U> | null,
    options?: GraphRunOptions,
  ): AsyncGenerator<GraphEvent<S>, GraphResult<S>, void> {
    const given = readingArgument("options", () => ({ ...options }));
    return yield* streamOf(given.signal, (signal, tell: Tell) => this.#run(input, { ...given, signal }, tell));
  }

  async resume(
    threadId: string,
    command?: Command<U> | CommandFields<U>,
    options?: Omit<GraphRunOptions, "threadId" | "checkpointId">,
  ): Promise<GraphResult<S>> {
    return this.resumeFrom(threadId, "latest", command, options);
  }

  async resumeFrom(
    threadId: string,
    target: string,
    command?: Command<U> | CommandFields<U>,
    options?: Omit<GraphRunOptions, "threadId" | "checkpointId">,
  ): Promise<GraphResult<S>> {
    const from = target === "latest" ? undefined : requireId(target, "target");
    const given = readingArgument("command", () =>
      command instanceof Command ? command : new Command<U>(command ?? {}),
    );
    const others = readingArgument("options", () => ({ ...options }));
    return this.#run(given, { ...others, threadId, ...(from !== undefined && { checkpointId: from }) });
  }

  async getState(
    threadId: string,
    checkpointId?: string | null,
    namespace: Namespace = [],
  ): Promise<StateSnapshot<S> | null> {
    const id = checkpointId ?? undefined;
    return getSnapshot(this.#stored(), { threadId, ...(id !== undefined && { checkpointId: id }), namespace });
  }

  async getStateHistory(threadId: string, options?: HistoryOptions): Promise<Array<StateSnapshot<S>>> {
    return getHistory(this.#stored(), threadId, options);
  }

  async updateState(threadId: string, update: U, asNode?: string | null): Promise<Config> {
    const checkpointer = this.#stored();
    const number = typeof asNode === "string" ? this.#definition.numberOf(asNode) : undefined;
    if (asNode !== undefined && asNode !== null && number === undefined) {
      const what = typeof asNode === "string" ? quote(asNode) : show(asNode);
      throw new ForkpointError("INVALID_ARGUMENT", `asNode must be a node of the graph, and is ${what}`);
    }
    const place = { threadId: requireId(threadId, "threadId"), namespace: [] };
    const mode = { kind: "update", asNode: number } as const;
    const plan = { place, runId: newRunId(), mode, checkpointer, durability: "sync", update } as const;
    const { checkpointId } = await this.#start(plan);
    return { ...place, checkpointId: checkpointId! };
  }

  async bulkUpdateState(
    threadId: string,
    updates: ReadonlyArray<{ update: U; asNode?: string | null }>,
  ): Promise<Config> {
    const list: typeof updates = updates;
    if (!isArray(updates)) throw typeError(`updates must be an array, and is ${show(updates)}`);
    const all = readingArgument("updates", () =>
      Array.from(list, (given) => {
        refuseUnknown(given, ["update", "asNode"], "updates");
        return { update: given.update, asNode: given.asNode };
      }),
    );
    if (all.length === 0) throw new ForkpointError("INVALID_ARGUMENT", "updates is empty: give at least one update");
    let config: Config | undefined;
    for (const { update, asNode } of all) config = await this.updateState(threadId, update, asNode);
    return config!;
  }

  async forkState(
    sourceThreadId: string,
    checkpointId: string | null | undefined,
    targetThreadId: string,
  ): Promise<Config> {
    const from = { threadId: requireId(sourceThreadId, "sourceThreadId"), namespace: [] };
    const to = { threadId: requireId(targetThreadId, "targetThreadId"), namespace: [] };
    return fork(this.#stored(), from, checkpointId ?? undefined, to);
  }

  #stored(): GraphCheckpointer<S> {
    if (this.#checkpointer === undefined)
      throw new ForkpointError("INVALID_ARGUMENT", "the graph has no checkpointer: pass one to its constructor");
    return this.#checkpointer;
  }

  async #run(input: unknown, options: GraphRunOptions | undefined, tell?: Tell): Promise<GraphResult<S>> {
    const read = readRecord(options, "options", runOptions) as GraphRunOptions;
    const { threadId, checkpointId, namespace = [], runId = newRunId(), durability, signal, drain } = read;
    if (threadId === undefined && this.#checkpointer !== undefined)
      throw typeError("options.threadId is missing: a graph with a checkpointer needs the id of a thread");
    const place: Place = { threadId: threadId ?? runId, namespace };
    const plan: GraphPlan = {
      place,
      runId,
      checkpointer: this.#checkpointer,
      durability: durability ?? this.#durability,
      ...(signal !== undefined && { signal }),
      ...(drain !== undefined && { drain }),
      ...(input === null || isCommand(input)
        ? this.#continue(input ?? new Command({}), checkpointId ?? undefined)
        : { mode: { kind: "input" }, input }),
    };
    if (plan.mode.kind === "input" && checkpointId !== undefined && checkpointId !== null)
      throw typeError("a run from options.checkpointId takes a Command or null, because its state is stored");
    return this.#start(plan, tell);
  }

  #continue(command: Command<any>, from: string | undefined): Pick<GraphPlan, "mode" | "update" | "goto" | "answer"> {
    this.#stored();
    const { goto, update, resume, answers } = command;
    const all = Object.hasOwn(command, "resume");
    if (answers !== undefined && all) throw typeError("a Command has either resume or answers");
    const which = all ? "all" : answers === undefined ? "none" : { tasks: Object.keys(answers) };
    const updates = update !== undefined && update !== null;
    return {
      mode: { kind: "continue", from, update: updates, goto: [], answers: which },
      ...(updates && { update }),
      goto,
      answer: ({ name, storedId }) => (all ? resume : answers![Object.hasOwn(answers!, storedId) ? storedId : name]),
    };
  }

  async #start(plan: GraphPlan, tell?: Tell): Promise<GraphResult<S>> {
    const { threadId, namespace } = plan.place;
    const own = plan.checkpointer && handleOf(plan.checkpointer);
    const identity = own?.identity ?? plan.checkpointer ?? plan;
    const release = reserve(identity, JSON.stringify([threadId, namespace]), `thread ${quote(threadId)}`);
    const lease = this.#leaseMs === undefined ? undefined : new RunLease(own!, this.#leaseMs);
    try {
      const ns = namespace.length === 0 ? "" : JSON.stringify(namespace);
      await lease?.take({ space: tinyagents.name, run: threadId, ns });
      const leased = lease === undefined ? plan : { ...plan, lease: lease.held, signal: lease.with(plan.signal) };
      return await new GraphExecution(this.#parts, leased, tell, own?.format).start();
    } finally {
      await lease?.release();
      release();
    }
  }
}

function isCommand(input: unknown): input is Command<any> {
  return readingArgument("input", () => input instanceof Command);
}

function newRunId(): string {
  return `run-${Date.now()}-${randomUUID().slice(-12)}`;
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
] as const;

function readCheckpointer(value: unknown): GraphCheckpointer<any> | undefined {
  if (value === undefined || value === null) return undefined;
  const methods = ["put", "get", "getTuple", "putWrites"] as const;
  const given = (typeof value === "object" ? value : {}) as Record<string, unknown>;
  if (methods.every((method) => typeof given[method] === "function")) return value as GraphCheckpointer<any>;
  throw typeError(`checkpointer must have the methods ${methods.join(", ")}, and is ${show(value)}`);
}

const readDurability: OptionParser<Durability> = (value, name) => {
  if (durabilities.includes(value as Durability)) return value as Durability;
  throw typeError(`${name} must be "sync", "async" or "exit", and is ${show(value)}`);
};

const runOptions: Record<keyof GraphRunOptions, OptionParser<unknown>> = {
  threadId: requireId,
  runId: requireId,
  checkpointId: (value, name) => (value === null ? null : requireId(value, name)),
  namespace: strings,
  durability: readDurability,
  signal: signalOption,
  drain: (value, name) => {
    const { waitForDrain } = (value ?? {}) as { waitForDrain?: unknown };
    if (typeof waitForDrain !== "function") throw typeError(`${name} must be a DrainController, and is ${show(value)}`);
    return value;
  },
};
