/** `recover` for LangGraph: resumes threads that a crash interrupted, and passes answers to waiting threads. */

import { isDeepStrictEqual } from "node:util";
import { ForkpointError, quote, show, typeError } from "../../bridge/errors.js";
import type { StoreHandle } from "../../store/handle.js";
import { callback, object, readRecord, signalOption, type Parsed } from "../../store/options.js";
import { type ProgramShape, shapeHash } from "../../store/compare-programs.js";
import { decodeMark } from "../../store/mark.js";
import type { HeldLease } from "../../store/lease.js";
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
  type RunStatus,
} from "../shared/recover-options.js";
import { identify, nameOf, type RecoverableThreads } from "./mark.js";
import { positionAt, positionOf } from "./position.js";
import { nothingRan } from "./running-nothing.js";
import { shapeOfGraph } from "./shape.js";
import { type NodeError, type Standing, standing, type ThreadStatus } from "./status.js";
import { type Context, outline } from "./tasks.js";
import { type Found, langgraph, openFound } from "./wire.js";
import type { ForkpointSaver } from "./forkpoint-saver.js";

/** The agent that {@link recover} needs. LangChain's `createAgent` returns such agents. */
export interface RecoverableAgent {
  invoke(input: any, config?: any): Promise<unknown>;
  graph: RecoverableThreads;
}

/** A thread that waits for a human. */
export interface WaitingThread {
  threadId: string;
  /** The id of the checkpoint at which the thread waits. */
  checkpointId: string;
  /** The nodes that run when the thread continues. */
  next: string[];
  /** The questions of `interrupt()`. The list is empty at a breakpoint (`interruptBefore`, `interruptAfter`). */
  interrupts: ThreadStatus["interrupts"];
}

/** A thread in which a node threw an error. */
export interface FailedThread {
  threadId: string;
  checkpointId: string;
  /** The nodes that a retry runs. */
  next: string[];
  /** The error of the node. If several nodes failed, one of their errors. */
  error: NodeError;
}

/** A thread that does not fit this version of its program. */
export interface ChangedThread extends ChangedRun {
  threadId: string;
}

/** The options of {@link recover}. */
export interface LanggraphRecoverOptions extends RecoverOptions<RecoveredThread, ChangedThread> {
  /**
   * Returns the input for a waiting thread: `new Command({ resume: answer })`, or null to continue from a breakpoint.
   * Without a function or a return value, the thread keeps waiting.
   *
   * If the thread asks the same question again, it did not accept the answer, and keeps waiting.
   */
  onWaiting?: (thread: WaitingThread) => unknown;
  /**
   * Decides what to do with a failed thread. `"retry"` runs the failed nodes again, once. Default: `"leave"`.
   * @example
   * ```ts
   * await recover(graph, saver, { onFailed: ({ error }) => (error.message.includes("429") ? "retry" : "leave") });
   * ```
   */
  onFailed?: (thread: FailedThread) => "retry" | "leave" | undefined | Promise<"retry" | "leave" | undefined>;
  /**
   * The ids of the threads to recover. A named thread is recovered even if a tool made it, or if its program is
   * unknown. Default: all threads of this program.
   */
  threads?: readonly string[];
  /**
   * The config for `graph.invoke`. `thread_id` is filled in. LangGraph's `durability`, which decides when a step is
   * saved, is `"sync"` unless you set it. The store's option with that name is {@link SaverOptions.durability}. Repeat
   * the `interruptBefore` and `interruptAfter` of the thread's run here.
   */
  config?: {
    configurable?: Record<string, unknown>;
    interruptBefore?: readonly string[] | "*" | undefined;
    interruptAfter?: readonly string[] | "*" | undefined;
    /** Ends the work on all threads, as `graph.invoke` does. A stop of one thread ends the work on it without this signal. */
    signal?: AbortSignal | undefined;
    [key: string]: unknown;
  };
}

/** The outcome of a thread that this process worked on. */
export type ThreadOutcome =
  | {
      /** The thread was resumed to its end. */
      outcome: "finished";
      /** The result of `graph.invoke`. */
      output: unknown;
    }
  | {
      /** The thread waits for a human. */
      outcome: "waiting";
      checkpointId: string;
      next: string[];
      interrupts: ThreadStatus["interrupts"];
    }
  | {
      /** A node threw an error and was not retried, or failed again. */
      outcome: "failed";
      checkpointId: string;
      next: string[];
      /** The error of the node. If several nodes failed, one of their errors. */
      error: NodeError;
    };

/** The outcome of a thread. */
export type RecoveredThread = { threadId: string } & (ThreadOutcome | UnrecoveredRun);

type Agent = RecoverableThreads | RecoverableAgent;

const parsers = {
  ...sharedOptions,
  onWaiting: callback<NonNullable<LanggraphRecoverOptions["onWaiting"]>>,
  onFailed: callback<NonNullable<LanggraphRecoverOptions["onFailed"]>>,
  threads: ids,
  config: object,
};

/** See recover.ts. */
export async function recover(
  graph: RecoverableThreads | RecoverableAgent,
  saver: ForkpointSaver,
  options?: LanggraphRecoverOptions,
): Promise<RecoverReport<RecoveredThread>> {
  const own = readRecord(options, "options", parsers);
  const inner = graphOf(graph);
  if (typeof graph?.invoke !== "function" || typeof inner?.nodes !== "object") {
    throw typeError(`graph must be a compiled graph of LangGraph or an agent of LangChain, but is ${show(graph)}`);
  }
  const otherwise = { name: "ForkpointSaver", message: `saver must be a ForkpointSaver, but is ${show(saver)}` };
  const handle = handleToRecover(saver, "getTuple", otherwise);
  if (inner.checkpointer !== saver) {
    throw typeError("graph was compiled with another checkpointer than saver: pass the saver that compile() got");
  }
  const program = saver.program ?? nameOf(inner);
  const shape = shapeOfGraph(inner, saver.version);
  const given = own.config?.["signal"];
  if (given !== undefined && given !== null) signalOption(given, "options.config.signal");
  if (own.dryRun !== true) identify(inner, { ...(program !== undefined && { program }), shape: shapeHash(shape) });
  const recovery = new Recovery({ agent: graph, graph: inner, shape, saver, handle, options: own });
  return recoverRuns({
    space: langgraph.name,
    noun: "thread",
    handle,
    program,
    shape,
    options: own,
    asks: { waiting: own.onWaiting !== undefined, failed: own.onFailed !== undefined },
    named: own.threads,
    candidates: () => candidates(saver, own.maxAgeMs ?? Infinity),
    look: (threadId) => recovery.look(threadId),
    work: (threadId, lease) => recovery.work(threadId, lease),
    earlier: (threadId) => recovery.earlier(threadId),
    forksInPlace: true,
    fork: (threadId, { from }) => recovery.fork(threadId, from),
  });
}

const OPEN: RunStatus[] = ["waiting", "failed", "unfinished", "stopped", "unknown"];

async function* candidates(saver: ForkpointSaver, maxAgeMs: number): AsyncGenerator<string> {
  let cursor: string | null | undefined;
  while (cursor !== null) {
    const page = await saver.listThreads({ limit: 1_000, cursor, status: OPEN, withNext: false });
    for (const { threadId, updatedAt } of page.threads) {
      // The list is sorted by activity, so all later threads are too old too.
      if (Date.now() - updatedAt > maxAgeMs) return;
      yield threadId;
    }
    cursor = page.cursor;
  }
}

function graphOf(agent: Agent): RecoverableThreads | undefined {
  return typeof (agent as RecoverableThreads | undefined)?.nodes === "object"
    ? (agent as RecoverableThreads)
    : (agent as RecoverableAgent | undefined)?.graph;
}

/** The position of a thread that can continue. A thread at a breakpoint waits and has no interrupts. */
interface Position extends Standing {
  status: "waiting" | "failed" | "unfinished";
  /** The stored status of a thread that may be at a breakpoint, or that has an answer. */
  stored: "unfinished" | undefined;
}

interface Parts {
  agent: Agent;
  graph: RecoverableThreads;
  shape: ProgramShape;
  saver: ForkpointSaver;
  handle: StoreHandle;
  options: Parsed<typeof parsers>;
}

class Recovery {
  readonly #parts: Parts;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  async look(threadId: string): Promise<Candidate | undefined> {
    const standing = await this.#position(threadId);
    if (standing === undefined) return undefined;
    const { checkpointId: newest, updatedAt: at, mark, answered, found } = standing;
    const position = () => this.#run((context) => positionOf(context, found, this.#parts.shape));
    // A thread with an answer has stopped. No process works on it, even if the process that ran it is still alive.
    const status = answered ? "waiting" : standing.status;
    return { newest, at, mark, position, status, stored: standing.stored };
  }

  async *earlier(threadId: string): AsyncGenerator<Earlier> {
    const newest = await this.#run((context) => outline(context, threadId, ""));
    let id = newest?.header.parent;
    while (id) {
      const place = { threadId, namespace: "", id };
      const found: Found | null = await this.#run(({ native }) => langgraph.find(native, "get", place, openFound));
      if (found === null) return;
      const position = () => this.#run((context) => positionAt(context, found));
      yield { id, mark: decodeMark(found.header.mark), position };
      id = found.header.parent;
    }
  }

  /** Makes a fork in the same thread: a copy of the checkpoint becomes the newest one. */
  async fork(threadId: string, checkpointId: string): Promise<void> {
    const { graph, options } = this.#parts;
    if (typeof graph.updateState !== "function") throw typeError("graph has no updateState(), so it cannot be forked");
    const given = options.config?.["configurable"] as Record<string, unknown> | undefined;
    const configurable = { ...given, thread_id: threadId, checkpoint_id: checkpointId };
    await graph.updateState({ configurable }, null);
  }

  #run<T>(work: (context: Context) => Promise<T>): Promise<T> {
    return this.#parts.handle.run(({ native }) => work({ native, serde: this.#parts.saver.serde }));
  }

  /** Returns the state of a thread. Undefined if the thread is finished, or if its status is unknown. */
  async #position(threadId: string): Promise<Position | undefined> {
    const found = await this.#run((context) => standing(context, threadId));
    const isNamed = this.#parts.options.threads !== undefined;
    if (found === null) {
      if (!isNamed) return undefined;
      throw new ForkpointError("NOT_FOUND", `thread ${quote(threadId)} not found: nothing to recover`);
    }
    const { status, next } = found;
    const stored = status === "unfinished" ? status : undefined;
    if (status === "finished") return undefined;
    if (status === "unknown") {
      if (!isNamed) return undefined;
      const why = "the checkpoint does not say which nodes run next: resume it with graph.invoke(null, config)";
      throw new ForkpointError("INVALID_ARGUMENT", `thread ${quote(threadId)} cannot be recovered, because ${why}`);
    }
    return status === "unfinished" && !found.answered && this.#mayBeAtBreakpoint(next)
      ? { ...found, status: "waiting", interrupts: [], stored }
      : { ...found, status, stored };
  }

  /**
   * A graph at a breakpoint looks like a crashed one: the checkpoint contains the next nodes, but not the previous
   * nodes.
   */
  #mayBeAtBreakpoint(next: string[]): boolean {
    const { interruptBefore, interruptAfter } = { ...this.#parts.graph, ...definedOf(this.#parts.options.config) };
    if (interruptAfter !== undefined && interruptAfter.length > 0) return true;
    return interruptBefore === "*" || next.some((node) => (interruptBefore ?? []).includes(node));
  }

  /** Continues a thread until it ends, or until somebody stops it. */
  async work(threadId: string, lease: HeldLease): Promise<ThreadOutcome> {
    let output: unknown;
    let retried = false;
    let asked: ThreadStatus["interrupts"] | undefined;
    let resumed: string | undefined;
    for (;;) {
      const position = await this.#position(threadId);
      if (position === undefined) return { outcome: "finished", output };
      const { status, checkpointId, next, interrupts } = position;
      const isStopped = () => {
        // A thread that asks a question waits, although it was stopped.
        if (status !== "waiting" || position.stored !== undefined || lease.lost) lease.signal.throwIfAborted();
        return lease.stop !== undefined;
      };
      const stopped = isStopped();
      let input: unknown = null;
      if (status === "unfinished") {
        // LangGraph runs nothing and throws nothing if the next nodes are missing from the graph.
        if (resumed === checkpointId) throw nothingRan(threadId, next);
        resumed = checkpointId;
      }
      if (status === "waiting") {
        const values = interrupts.map(({ value }) => value);
        // A graph that asks the same question again did not accept the answer.
        const again = asked !== undefined && isDeepStrictEqual(asked, values);
        const ask = async () => this.#parts.options.onWaiting?.({ threadId, checkpointId, next, interrupts });
        input = again || stopped ? undefined : await ask();
        if (input === undefined || isStopped()) return { outcome: "waiting", checkpointId, next, interrupts };
        if (input === null && interrupts.length > 0) {
          throw typeError(
            `onWaiting must return a Command or undefined for a thread with interrupts, but returned null`,
          );
        }
        if (position.partly) input = byIds(input, interrupts);
        asked = values;
      } else if (status === "failed") {
        const failed = { checkpointId, next, error: position.error! };
        if (retried || !(await asksForRetry(this.#parts.options.onFailed, { threadId, ...failed }))) {
          return { outcome: "failed", ...failed };
        }
        retried = true;
      }
      isStopped();
      output = await this.#resume(threadId, input, lease);
    }
  }

  /** Resumes a thread. LangGraph stores an error of a node, and the thread has failed then. */
  async #resume(threadId: string, input: unknown, lease: HeldLease): Promise<unknown> {
    const config: NonNullable<LanggraphRecoverOptions["config"]> = this.#parts.options.config ?? {};
    const signal = config.signal ? AbortSignal.any([config.signal, lease.signal]) : lease.signal;
    const configurable = { ...config.configurable, thread_id: threadId };
    try {
      return await this.#parts.agent.invoke(input, { durability: "sync", ...config, signal, configurable });
    } catch (error) {
      // The thread may have ended nevertheless, or may ask a question.
      if (lease.stop !== undefined && !lease.lost) return undefined;
      const position = await this.#position(threadId);
      if (position?.status !== "failed") throw error;
      return undefined;
    }
  }
}

/**
 * Adds the questions' ids to a Command's answer. Without ids, LangGraph gives the answer to every task, also to a task
 * that already has an answer and asks again.
 */
function byIds(input: unknown, interrupts: ThreadStatus["interrupts"]): unknown {
  const { resume } = (input ?? {}) as { resume?: unknown };
  const isNamed = typeof resume === "object" && resume !== null && Object.keys(resume).every(isId);
  if (resume === undefined || resume === null || isNamed || !interrupts.every(({ id }) => isId(id))) return input;
  const named = Object.fromEntries(interrupts.map(({ id }) => [id!, resume]));
  return Object.assign(Object.create(Object.getPrototypeOf(input) as object) as object, input, { resume: named });
}

const isId = (id: string | undefined): boolean => id !== undefined && /^[0-9a-f]{32}$/.test(id);

function definedOf<T extends object>(given: T | undefined): Partial<T> {
  return Object.fromEntries(Object.entries(given ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>;
}
