/** The options of a run, and the functions that make its states. */

import { show, typeError } from "../../../bridge/errors.js";
import type { Format } from "../../../bridge/serializer.js";
import type { StoreHandle } from "../../../store/handle.js";
import type { ProgramShape } from "../../../store/compare-programs.js";
import type { HeldLease } from "../../../store/lease.js";
import type { RunEffects } from "../../shared/once.js";
import type { GraphDefinition } from "./definition.js";
import type { BoundaryTask, Loaded, ThreadRef, GraphCheckpointer } from "./recorder.js";
import type { GraphMode, Durability } from "./wire.js";
import { type Command, Send } from "../command.js";
import type { Namespace } from "../contract.js";
import type { MemoryHooks } from "./node.js";
import { type Given, SEND, Snapshot, UPDATE, given } from "./values.js";

export interface GraphRunOptions {
  /** The thread. Needed if the graph has a checkpointer. */
  threadId?: string;
  /** The run's id. Its checkpoints carry it. Default: a generated id. */
  runId?: string;
  /** The namespace of the graph in the thread. Default: `[]`. */
  namespace?: Namespace;
  /** Continues from this checkpoint, if the input is a {@link Command} or null. Default: the latest. */
  checkpointId?: string | null;
  /** When checkpoints are stored. Default: the graph's durability. Not the store's option with this name. */
  durability?: Durability;
  /** Aborting this signal ends the run immediately. The run rejects with the signal's reason. */
  signal?: AbortSignal;
  /** When a drain is requested, the superstep is finished and stored, and the run rejects with `RunDrainedError`. */
  drain?: { readonly drained: boolean; waitForDrain(): Promise<void> };
  /**
   * If true, continues a thread that another version of the graph made even if it does not fit this version, and takes
   * over a thread of a graph with another name. If false, the run rejects with `CONFLICT`. Default: false. See
   * docs/changes.md.
   */
  force?: boolean;
}

export interface GraphParts {
  definition: GraphDefinition;
  shape: ProgramShape;
  reducer: (state: any, update: any) => any;
  input: ((current: any, input: any) => any) | undefined;
  memory: Partial<MemoryHooks> | undefined;
}

export interface GraphPlan extends Pick<GraphRunOptions, "signal" | "drain" | "force"> {
  thread: ThreadRef;
  runId: string;
  mode: GraphMode;
  checkpointer: GraphCheckpointer<any> | undefined;
  durability: Durability;
  lease?: HeldLease | undefined;
  /** The shape of the graph, and the store for it. Undefined in a subgraph, and in a store of another package. */
  program?: { handle: StoreHandle; shape: ProgramShape } | undefined;
  /** The effects of a subgraph's outer graph. */
  effects?: RunEffects;
  /** The update of the state, in the modes `continue` and `update`. */
  update?: Given;
  /** The argument of the function `input` or, without it, the state. */
  input?: Given;
  answer?: (task: BoundaryTask) => Snapshot;
  goto?: unknown;
  loaded?: Loaded;
}

/** Keeps the input of a run as it is now. */
export function inputOf({ input: read }: GraphParts, input: unknown, format: Format): Given {
  return read === undefined ? Snapshot.of(input, format, "state") : given(input, format, "input");
}

/** Reads a command that continues a thread. Keeps its values as they are now. */
export function continued(
  command: Command<any>,
  from: string | undefined,
  format: Format,
): Pick<GraphPlan, "mode" | "update" | "goto" | "answer"> {
  const { goto, update, resume, answers } = command;
  const all = Object.hasOwn(command, "resume");
  if (answers !== undefined && all) throw typeError("a Command has either resume or answers");
  const kept = (value: unknown) => Snapshot.of(value, format, "the answer");
  const one = all ? kept(resume) : undefined;
  const each = new Map(
    Object.entries(answers === undefined ? {} : answers).map(([task, value]) => [task, kept(value)]),
  );
  const which = all ? "all" : answers === undefined ? "none" : { tasks: [...each.keys()] };
  const updates = update !== undefined && update !== null;
  return {
    mode: { kind: "continue", from, update: updates, goto: [], answers: which },
    ...(updates && { update: given(update, format, UPDATE) }),
    goto: keptSends(goto, format),
    answer: ({ name, storedId }) => one ?? (each.get(storedId) ?? each.get(name))!,
  };
}

function keptSends(goto: unknown, format: Format): unknown {
  const targets = [goto ?? []].flat() as unknown[];
  return targets.map((target) =>
    target instanceof Send ? new Send(target.node, Snapshot.of(target.arg, format, SEND)) : target,
  );
}

/** Returns the initial state of a run, or its snapshot. `current` is the loaded state, or null. */
export function enter({ reducer, input: read }: GraphParts, plan: GraphPlan, current: unknown): unknown {
  const { mode, input, update } = plan;
  if (mode.kind === "input") return read === undefined ? input : settled(read(current, input!.fresh()), "input");
  return update === undefined ? current : settled(reducer(current, update.fresh()), "reducer");
}

/** Returns the result of a synchronous function of the user. */
export function settled(value: unknown, what: string): unknown {
  if (typeof (value as { then?: unknown } | null | undefined)?.then === "function") {
    (value as Promise<unknown>).then(undefined, () => {});
    throw typeError(`${what} must return the new state, but returned a promise: it is called synchronously`);
  }
  if (value === undefined) throw typeError(`${what} must return the new state, but returned ${show(value)}`);
  return value;
}
