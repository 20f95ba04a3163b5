/** Refuses writes to threads of other programs. */

import type { CheckpointTuple, Config } from "@langchain/langgraph-checkpoint";
import { quote } from "../../bridge/errors.js";
import type { MaybePromise } from "../../bridge/maybe-promise.js";
import { decodeMark } from "../../store/mark.js";
import { type OwnProgram, isOther, otherProgram } from "../../store/owner.js";
import { forced, idInConfig } from "./config.js";
import { identityIn } from "./mark.js";
import { nextNodesOf } from "./next.js";
import { type Context, nextNodes, outline } from "./tasks.js";
import { beginsRun, isRun } from "./run-config.js";
import type { Found } from "./wire.js";

export class Owner {
  readonly #own: OwnProgram | undefined;

  /** `own` is the option `program` of the saver. Without it, the program is that of the call's config. */
  constructor(own: OwnProgram | undefined) {
    this.#own = own;
  }

  /** Throws for a wrong `force` in the config of a run, before the run takes a lease. */
  check(config: Config): void {
    if (beginsRun(config) !== undefined) forced(config);
  }

  /**
   * Throws if a run begins in a thread whose newest checkpoint another program has made. `found` is the checkpoint at
   * which the run begins. `release` releases the lease of a refused run.
   */
  async begin(
    context: Context,
    config: Config,
    { header, isLatest }: Found,
    { checkpoint }: CheckpointTuple,
    release: (() => Promise<void>) | undefined,
  ): Promise<void> {
    const threadId = beginsRun(config);
    if (threadId === undefined || this.#nameIn(config) === undefined) return;
    try {
      const newest =
        idInConfig(config) === undefined || isLatest === true ? null : await outline(context, threadId, "");
      if (newest !== null) await this.#require(config, newest.header, () => nextNodes(context, newest));
      else await this.#require(config, header, () => nextNodesOf(checkpoint));
    } catch (error) {
      await release?.();
      throw error;
    }
  }

  /**
   * Stores something. Throws before a write outside of a run, such as `updateState`, if the thread belongs to another
   * program. Reads the thread for this if the program has a name.
   */
  write<T>(context: Context, config: Config, threadId: string, store: () => Promise<T>): Promise<T> {
    if (isRun(config) || this.#nameIn(config) === undefined) return store();
    return outline(context, threadId, "")
      .then((newest) => newest && this.#require(config, newest.header, () => nextNodes(context, newest)))
      .then(store);
  }

  /** The name of the program that makes a call. Undefined: it has none, or it takes over the threads of others. */
  #nameIn(config: Config): string | undefined {
    if (this.#own?.force === true || forced(config)) return undefined;
    return this.#own?.name ?? identityIn(config).program;
  }

  async #require(
    config: Config,
    { threadId, mark }: Pick<Found["header"], "threadId" | "mark">,
    next: () => MaybePromise<string[] | null>,
  ): Promise<void> {
    const own = this.#nameIn(config);
    const { program: made } = decodeMark(mark);
    if (!isOther(made, own)) return;
    // Agents of different names may share a conversation. While no node is left to run, nothing is lost.
    const isAgent = this.#own === undefined && identityIn(config).shape === undefined;
    if (isAgent && (await next())?.length === 0) return;
    throw otherProgram(`thread ${quote(threadId)}`, made, own!, "set force: true in config.configurable");
  }
}
