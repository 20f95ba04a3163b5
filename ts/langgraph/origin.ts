/** Decides whether a thread may be recovered: only by the program that made it, and only if no living process runs it. */

import type { RecoverableThreads } from "../../langgraph.js";
import type { UnrecoveredRun } from "../../recovery.js";
import { ForkpointError, quote } from "../errors.js";
import { livingProcess } from "../holder.js";
import { skipped } from "../recovery.js";
import type { Identity, Mark } from "./mark.js";
import type { Standing } from "./status.js";

/** What a thread may have that its graph does not list. */
const INTERNAL = /^__/;

export class Origin {
  readonly #graph: RecoverableThreads;
  readonly #identity: Identity;
  /** True if the caller has named the threads. */
  readonly #named: boolean;
  readonly #idleMs: number | undefined;

  constructor(
    graph: RecoverableThreads,
    identity: Identity,
    { named, idleMs }: { named: boolean; idleMs: number | undefined },
  ) {
    this.#graph = graph;
    this.#identity = identity;
    this.#named = named;
    this.#idleMs = idleMs;
  }

  /**
   * Returns why a thread with something left to do is left alone, or undefined if it may be recovered. A caller who names
   * a thread has asked for it. Only a thread of another program is then refused.
   */
  refuses(threadId: string, { mark, status, next, nodes, channels }: Standing): UnrecoveredRun | undefined {
    const thread = `thread ${quote(threadId)}`;
    const named = `recover it with threads: [${quote(threadId)}]`;
    const { program } = this.#identity;
    if (mark.program !== undefined && mark.program !== program) {
      const message = `${thread} was made by the program ${quote(mark.program)}, and this is ${this.#name()}: recover it with that program`;
      return this.#refuse("other program", mark, message);
    }
    const stranger = next.find((node) => !this.#has("nodes", node));
    if (stranger !== undefined && (this.#named || mark.program !== undefined)) {
      const message = `${thread} cannot be recovered, because the graph has no node ${quote(stranger)}: recover it with the graph that it ran on`;
      throw new ForkpointError("INVALID_ARGUMENT", message);
    }
    if (!this.#named) {
      if (mark.program === undefined && program !== undefined) {
        const message =
          `the store does not say which program made ${thread}, and this is ${this.#name()}. If it is a thread of this ` +
          `program, ${named}. To mark all threads, create the saver with { program: ${quote(program)} }`;
        return skipped("unknown origin", undefined, message);
      }
      if (mark.program === undefined && !this.#fits(mark, [...nodes, ...next], channels)) {
        const message = `${thread} ran on a graph with other nodes or channels: recover it with that graph. If it is an earlier version of this graph, ${named}`;
        return skipped("other program", undefined, message);
      }
      if (mark.branch === true) {
        const message = `the command line or the studio made the newest checkpoint of ${thread}: to run the branch, ${named}`;
        return skipped("branch", mark.program, message);
      }
    }
    const pid = status === "unfinished" && this.#idleMs === undefined ? livingProcess(mark.by ?? "") : undefined;
    if (pid === undefined) return undefined;
    const message =
      `process ${pid}, which has not ended, runs ${thread} or has left it: end that process. To recover the threads that no ` +
      "process works on any more, give idleMs, greater than the time that a node takes";
    return skipped("at work", mark.program, message);
  }

  #refuse(why: "other program", mark: Mark, message: string): UnrecoveredRun {
    if (this.#named) throw new ForkpointError("INVALID_ARGUMENT", message);
    return skipped(why, mark.program, message);
  }

  #name(): string {
    const { program } = this.#identity;
    return program === undefined ? "a graph without a name" : quote(program);
  }

  /** True if the thread, as far as it is stored, may have run on this graph without a name. */
  #fits({ shape }: Mark, nodes: string[], channels: string[]): boolean {
    if (shape !== undefined) return shape === this.#identity.shape;
    return (
      nodes.every((node) => this.#has("nodes", node)) && channels.every((channel) => this.#has("channels", channel))
    );
  }

  #has(kind: "nodes" | "channels", name: string): boolean {
    const names = this.#graph[kind];
    return names === undefined || INTERNAL.test(name) || Object.hasOwn(names, name);
  }
}
