/** `recover` for LangGraph: resumes threads that a crash cut off, and passes the answers that threads wait for. */

import { isDeepStrictEqual } from "node:util";
import type {
  ForkpointSaver,
  RecoverableAgent,
  RecoverableThreads,
  RecoveredThread,
  ThreadOutcome,
  ThreadStatus,
  recover as recoverContract,
} from "../../../langgraph.js";
import type { UnrecoveredRun } from "../../../recovery.js";
import { ForkpointError, quote, show, typeError } from "../../bridge/errors.js";
import type { StoreHandle } from "../../store/handle.js";
import { handleOf } from "../../store/handles.js";
import { isForeign, noLeases } from "../shared/run-lease.js";
import { type Settings, callback, ids, readSettings, recoverAll, underLease } from "../shared/recovery.js";
import type { Lease } from "../../store/lease.js";
import { type Claimant, refusal } from "../shared/origin.js";
import { identify, identityOf, missingOf } from "./mark.js";
import { type Standing, standing } from "./status.js";
import { threadLeasesOf } from "./thread-leases.js";
import { langgraph } from "./wire.js";

type Agent = Parameters<typeof recoverContract>[0];
type Options = NonNullable<Parameters<typeof recoverContract>[2]>;

const ownOptions = { onWaiting: callback, onFailed: callback, threads: ids, config: object };

export const recover: typeof recoverContract = async (agent, saver, options) => {
  const { settings, own } = readSettings(options, ownOptions);
  const graph = graphOf(agent);
  if (typeof agent?.invoke !== "function" || typeof graph?.nodes !== "object") {
    throw typeError(`graph must be a compiled graph of LangGraph or an agent of LangChain, and is ${show(agent)}`);
  }
  const handle = handleOf(saver);
  if (handle === undefined && isForeign(saver, "getTuple")) throw noLeases("recover", "ForkpointSaver");
  if (handle === undefined) throw typeError(`saver must be a ForkpointSaver, and is ${show(saver)}`);
  if (graph.checkpointer !== saver) {
    throw typeError("graph was compiled with another checkpointer than saver: pass the saver that compile() got");
  }
  const identity = saver.program === undefined ? identityOf(graph) : { program: saver.program };
  identify(graph, identity);
  const claimant = { identity, named: own["threads"] !== undefined, idleMs: settings.idleMs };
  const recovery = new Recovery({ agent, graph, claimant, saver, handle, settings, options: own as Options });
  return recoverAll(recovery.candidates(), settings, (threadId) => recovery.recover(threadId));
};

/** Returns the graph itself, or the graph inside of an agent of LangChain. */
function graphOf(agent: Agent): RecoverableThreads | undefined {
  return typeof (agent as RecoverableThreads | undefined)?.nodes === "object"
    ? (agent as RecoverableThreads)
    : (agent as RecoverableAgent | undefined)?.graph;
}

function object(value: unknown, name: string): object {
  if (typeof value !== "object" || value === null) throw typeError(`${name} must be an object, and is ${show(value)}`);
  return value;
}

/** A thread with something left to do. A thread at a breakpoint waits, and has no interrupts. */
interface Position extends Standing {
  status: "waiting" | "failed" | "unfinished";
}

interface Parts {
  agent: Agent;
  graph: RecoverableThreads;
  claimant: Claimant;
  saver: ForkpointSaver;
  handle: StoreHandle;
  settings: Settings;
  options: Options;
}

class Recovery {
  readonly #agent: Agent;
  readonly #graph: RecoverableThreads;
  readonly #claimant: Claimant;
  readonly #saver: ForkpointSaver;
  readonly #handle: StoreHandle;
  readonly #settings: Settings;
  readonly #options: Options;

  constructor({ agent, graph, claimant, saver, handle, settings, options }: Parts) {
    this.#agent = agent;
    this.#graph = graph;
    this.#claimant = claimant;
    this.#saver = saver;
    this.#handle = handle;
    this.#settings = settings;
    this.#options = options;
  }

  async *candidates(): AsyncGenerator<string> {
    if (this.#options.threads !== undefined) {
      yield* this.#options.threads;
      return;
    }
    let cursor: string | null | undefined;
    while (cursor !== null) {
      const page = await this.#saver.listThreads({ limit: 1_000, cursor, withStatus: false });
      for (const { threadId, updatedAt } of page.threads) {
        // The threads after this one were active even earlier.
        if (Date.now() - updatedAt > this.#settings.maxAgeMs) return;
        yield threadId;
      }
      cursor = page.cursor;
    }
  }

  /** Recovers a thread. Returns undefined if the thread needs no recovery. */
  async recover(threadId: string): Promise<RecoveredThread | undefined> {
    const newest = async () => {
      const position = await this.#position(threadId);
      const age = Date.now() - (position?.updatedAt ?? 0);
      if (position === undefined || age < (this.#settings.idleMs ?? 0)) return null;
      return this.#refusal(threadId, position) ?? position.checkpointId;
    };
    const of = { space: langgraph.name, run: threadId, ns: "" };
    const work = async (lease: Lease) => {
      const giveBack = threadLeasesOf(this.#handle)?.lend(threadId, lease);
      try {
        return await this.#work(threadId);
      } finally {
        giveBack?.();
      }
    };
    const ended = await underLease(this.#handle, of, this.#settings, newest, work);
    return ended && { threadId, ...ended };
  }

  /** Returns why a thread is left alone, or undefined if it may be recovered. */
  #refusal(threadId: string, { mark, status, next }: Position): UnrecoveredRun | undefined {
    return refusal(this.#claimant, {
      run: `thread ${quote(threadId)}`,
      naming: `threads: [${quote(threadId)}]`,
      mark,
      missing: missingOf(this.#graph.nodes, next),
      unfinished: status === "unfinished",
    });
  }

  /** Returns where a thread stands. Returns undefined if nothing is left to do, or if the checkpoint does not say it. */
  async #position(threadId: string): Promise<Position | undefined> {
    const found = await this.#handle.run(({ native }) => standing({ native, serde: this.#saver.serde }, threadId));
    const isNamed = this.#options.threads !== undefined;
    if (found === null) {
      if (!isNamed) return undefined;
      throw new ForkpointError("NOT_FOUND", `thread ${quote(threadId)} not found: nothing to recover`);
    }
    const { status, next } = found;
    if (status === "finished") return undefined;
    if (status === "unknown") {
      if (!isNamed) return undefined;
      const why = "the checkpoint does not say which nodes run next: resume it with graph.invoke(null, config)";
      throw new ForkpointError("INVALID_ARGUMENT", `thread ${quote(threadId)} cannot be recovered, because ${why}`);
    }
    return status === "unfinished" && this.#mayBeAtBreakpoint(next)
      ? { ...found, status: "waiting", interrupts: [] }
      : { ...found, status };
  }

  /**
   * A graph that stopped at a breakpoint looks like one that crashed. The checkpoint tells the nodes that come next, and
   * not those that came before.
   */
  #mayBeAtBreakpoint(next: string[]): boolean {
    const { interruptBefore, interruptAfter } = { ...this.#graph, ...definedOf(this.#options.config) };
    if (interruptAfter !== undefined && interruptAfter.length > 0) return true;
    return interruptBefore === "*" || next.some((node) => (interruptBefore ?? []).includes(node));
  }

  async #work(threadId: string): Promise<ThreadOutcome> {
    let output: unknown;
    let retried = false;
    let asked: ThreadStatus["interrupts"] | undefined;
    for (;;) {
      const position = await this.#position(threadId);
      if (position === undefined) return { outcome: "finished", output };
      const { status, checkpointId, next, interrupts } = position;
      let input: unknown = null;
      if (status === "waiting") {
        const values = interrupts.map(({ value }) => value);
        // A graph that asks the same question again did not accept the answer.
        const again = asked !== undefined && isDeepStrictEqual(asked, values);
        input = again ? undefined : await this.#options.onWaiting?.({ threadId, checkpointId, next, interrupts });
        if (input === undefined) return { outcome: "waiting", checkpointId, next, interrupts };
        if (input === null && interrupts.length > 0) {
          throw typeError(
            `onWaiting must return a Command or undefined for a thread with interrupts, and returned null`,
          );
        }
        asked = values;
      } else if (status === "failed") {
        if (retried || !(await this.#retries(threadId, position))) {
          return { outcome: "failed", checkpointId, next };
        }
        retried = true;
      }
      output = await this.#resume(threadId, input);
    }
  }

  async #retries(threadId: string, { checkpointId, next }: Position): Promise<boolean> {
    const decision = await this.#options.onFailed?.({ threadId, checkpointId, next });
    if (decision === undefined || decision === "leave") return false;
    if (decision === "retry") return true;
    throw typeError(`onFailed must return "retry", "leave" or nothing, and returned ${show(decision)}`);
  }

  /** Resumes a thread. An error of a node is stored by LangGraph, and the thread then counts as failed. */
  async #resume(threadId: string, input: unknown): Promise<unknown> {
    const { configurable, ...config } = { configurable: {}, ...this.#options.config };
    const sync = { durability: "sync", ...config, configurable: { ...configurable, thread_id: threadId } };
    try {
      return await this.#agent.invoke(input, sync);
    } catch (error) {
      const position = await this.#position(threadId);
      if (position?.status !== "failed") throw error;
      return undefined;
    }
  }
}

/** Leaves out the keys whose values are undefined. */
function definedOf<T extends object>(given: T | undefined): Partial<T> {
  return Object.fromEntries(Object.entries(given ?? {}).filter(([, value]) => value !== undefined)) as Partial<T>;
}
