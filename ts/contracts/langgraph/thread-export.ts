/** Writes a thread into another saver, reads it back and compares it. */

import type { ChannelVersions, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import { ForkpointError, isForkpointError, quote, show, textOf, typeError } from "../../bridge/errors.js";
import type { Checkpointer } from "./checkpointer.js";
import { configOf } from "./config.js";
import { headers } from "./list-checkpoints.js";
import { keyOf } from "./outline.js";
import { type SaverContext, byCodePoint, find, shownWrites, tupleOf } from "./tuples.js";
import { type TaskWrites, byTask, compareTuples } from "./tuple-comparison.js";

/** A thread that the other saver does not have completely. */
export interface UnexportedThread {
  threadId: string;
  /**
   * `"differs"`: the thread was written, but the other saver returns it differently, because it cannot hold a value or
   * keeps only the newest checkpoint. `"changed in both"`: both savers have continued the thread. `"refused"`: a call
   * of the other saver failed. `"damaged"`: this store cannot read the thread.
   */
  why: "differs" | "changed in both" | "refused" | "damaged";
  /** The difference or the failure. */
  message: string;
}

/** An export into another saver. */
export interface Exporting {
  context: SaverContext;
  to: Checkpointer;
  throwIfStopped(): void;
}

/** The number of checkpoints and writes of an exported thread. */
export interface Exported {
  checkpoints: number;
  writes: number;
}

interface Place {
  namespace: string;
  id: string;
  parent: string | null;
}

/** The error of a call of the other saver. */
class Refused extends Error {}

export class ThreadExport {
  readonly #exporting: Exporting;
  readonly #threadId: string;
  /** The checkpoints of the thread by their keys. Parents come before their children. */
  #places = new Map<string, Place>();
  /** The newest checkpoint of each namespace. */
  readonly #newest = new Map<string, string>();
  /** The namespaces in which two checkpoints have the same parent. */
  readonly #forked = new Set<string>();
  /** The channel versions of the checkpoints whose children come next. */
  readonly #versions = new Map<string, ChannelVersions>();
  /** The first value that the other saver returns differently. */
  #differs: string | undefined;

  constructor(exporting: Exporting, threadId: string) {
    this.#exporting = exporting;
    this.#threadId = threadId;
  }

  async run(): Promise<Exported | UnexportedThread> {
    const threadId = this.#threadId;
    try {
      await this.#outline();
      const { isNew, isAhead } = await this.#look();
      if (isAhead && !(await this.#hasAll())) {
        const message =
          `thread ${quote(threadId)} has changed here and in the other saver, so it was left as it is: keep it there, or delete it ` +
          "there and export again";
        return { threadId, why: "changed in both", message };
      }
      const { written, writes } = await this.#write(isNew);
      await this.#verify(written, isNew, isAhead);
      if (this.#differs === undefined) return { checkpoints: this.#places.size, writes };
      const message =
        `thread ${quote(threadId)} is not the same in the other saver: ${this.#differs}. Nothing that the other saver has was ` +
        "replaced";
      return { threadId, why: "differs", message };
    } catch (error) {
      if (error instanceof Refused) return { threadId, why: "refused", message: error.message };
      if (!(error instanceof ForkpointError) || error.code !== "CORRUPT") throw error;
      return { threadId, why: "damaged", message: error.message };
    }
  }

  /** Reads the list of the thread's checkpoints. */
  async #outline(): Promise<void> {
    const found: Place[] = [];
    for await (const { namespace, id, parent } of headers(this.#exporting.context, this.#threadId)) {
      found.push({ namespace, id, parent: parent || null });
      if (!this.#newest.has(namespace)) this.#newest.set(namespace, id);
    }
    const all = new Map(
      found
        .toSorted((a, b) => byCodePoint(a.id, b.id) || byCodePoint(a.namespace, b.namespace))
        .map((place) => [keyOf(place), place]),
    );
    const parents = new Set<string>();
    for (const place of all.values()) {
      const before = beforeOf(place);
      if (before === undefined) continue;
      if (parents.has(before)) this.#forked.add(place.namespace);
      parents.add(before);
    }
    // If the clock was set back, a child's id is smaller than its parent's.
    const ordered = new Map<string, Place>();
    for (const [key, place] of all) {
      const line: Array<[string, Place]> = [];
      let next: [string, Place] | undefined = [key, place];
      while (next !== undefined && !ordered.has(next[0]) && !line.some(([one]) => one === next![0])) {
        line.push(next);
        const before = beforeOf(next[1]);
        const parent: Place | undefined = before === undefined ? undefined : all.get(before);
        next = parent && [before!, parent];
      }
      for (const [one, its] of line.toReversed()) ordered.set(one, its);
    }
    this.#places = ordered;
  }

  /** Reads whether the other saver has the thread, and whether it has continued it. */
  async #look(): Promise<{ isNew: boolean; isAhead: boolean }> {
    const oldest = new Map<string, string>();
    for (const { namespace, id } of this.#places.values()) {
      const before = oldest.get(namespace);
      if (before === undefined || byCodePoint(id, before) < 0) oldest.set(namespace, id);
    }
    let [isNew, isAhead] = [true, false];
    for (const [namespace, id] of oldest) {
      const newest = await this.#theirs({ namespace });
      if (newest === undefined) continue;
      isNew = false;
      const newestId = idOf(newest);
      isAhead ||= !this.#places.has(keyOf({ namespace, id: newestId })) && byCodePoint(newestId, id) > 0;
    }
    return { isNew, isAhead };
  }

  async #hasAll(): Promise<boolean> {
    for (const place of this.#places.values()) if ((await this.#theirs(place)) === undefined) return false;
    return true;
  }

  /** Writes what the other saver lacks. Returns the checkpoints that were written to, and the number of all writes. */
  async #write(isNew: boolean): Promise<{ written: Set<string>; writes: number }> {
    const { to, context } = this.#exporting;
    const written = new Set<string>();
    let writes = 0;
    const children = new Map<string, number>();
    for (const place of this.#places.values()) {
      const before = beforeOf(place);
      if (before !== undefined) children.set(before, (children.get(before) ?? 0) + 1);
    }
    for (const [key, place] of this.#places) {
      const { tuple: ours, paths } = await this.#ours(place);
      writes += ours.pendingWrites!.length;
      if (children.has(key)) this.#versions.set(key, ours.checkpoint.channel_versions);
      const theirs = isNew ? undefined : await this.#theirs(place);
      let lacks = byTask(this.#isSpecial, ours);
      if (theirs === undefined) {
        const versions = await this.#newVersions(place, ours);
        const { parent, namespace } = place;
        const config = {
          configurable: {
            thread_id: this.#threadId,
            checkpoint_ns: namespace,
            ...(parent && { checkpoint_id: parent }),
          },
        };
        await this.#asking("put()", place, () => to.put(config, ours.checkpoint, ours.metadata!, versions));
        written.add(key);
      } else {
        const difference = await compareTuples(context.serde, this.#isSpecial, ours, theirs);
        this.#tellChanged(place, difference.changed);
        lacks = difference.lacks;
      }
      if (lacks.size > 0) written.add(key);
      for (const [task, all] of lacks) await this.#putWrites(place, task, all, paths.get(task));
      const before = beforeOf(place);
      if (before === undefined) continue;
      const left = children.get(before)! - 1;
      children.set(before, left);
      if (left === 0) this.#versions.delete(before);
    }
    return { written, writes };
  }

  async #putWrites(
    place: Place,
    task: string,
    { regular, special }: TaskWrites,
    path: string | undefined,
  ): Promise<void> {
    const config = configOf({ threadId: this.#threadId, ...place });
    // Savers replace the stored writes only if all writes of the call are to LangGraph's own channels.
    for (const writes of [regular, [...special]]) {
      if (writes.length === 0) continue;
      await this.#asking("putWrites()", place, () => {
        const { to } = this.#exporting;
        return path ? to.putWrites(config, writes, task, path) : to.putWrites(config, writes, task);
      });
    }
  }

  /** Reads back what was written, and the newest checkpoint of each namespace. */
  async #verify(written: Set<string>, isNew: boolean, isAhead: boolean): Promise<void> {
    if (written.size === 0) return;
    const { serde } = this.#exporting.context;
    for (const [key, place] of this.#places) {
      if (!written.has(key)) continue;
      const theirs = await this.#theirs(place);
      if (theirs === undefined) {
        this.#tell(place, (it) => `${it} is missing: the other saver may keep only the newest one`);
        continue;
      }
      const { tuple: ours } = await this.#ours(place);
      const { changed, lacks, more } = await compareTuples(serde, this.#isSpecial, ours, theirs);
      this.#tellChanged(place, changed);
      for (const { special, regular } of lacks.values()) {
        const channel = [...special.keys(), ...regular.map(([each]) => each)][0]!;
        this.#tell(place, (it) => `a write to channel ${quote(channel)} of ${it} is missing`);
      }
      if (more && isNew) this.#tell(place, (it) => `${it} has more writes there`);
    }
    if (isAhead) return;
    for (const [namespace, id] of this.#newest) {
      const theirs = await this.#theirs({ namespace });
      if (theirs === undefined || idOf(theirs) !== id) {
        this.#tell({ namespace, id }, (it) => `${it} is the newest one here, but not there`);
      }
    }
  }

  #tellChanged(place: Place, what: string | undefined): void {
    if (what !== undefined) this.#tell(place, (it) => `${what} of ${it} reads back differently`);
  }

  /** Keeps the first difference for the result. */
  #tell({ namespace, id }: Pick<Place, "namespace" | "id">, say: (checkpoint: string) => string): void {
    const where = namespace === "" ? "" : ` in namespace ${quote(namespace)}`;
    this.#differs ??= say(`checkpoint ${quote(id)}${where}`);
  }

  /**
   * The channels whose values the other saver must store. If it keeps values by version, two branches can use one
   * version for different values. A checkpoint of a namespace with branches therefore carries all values.
   */
  async #newVersions(place: Place, { checkpoint }: CheckpointTuple): Promise<ChannelVersions> {
    const versions = checkpoint.channel_versions ?? {};
    const before = beforeOf(place);
    if (before === undefined || !this.#places.has(before) || this.#forked.has(place.namespace)) return versions;
    const inherited = this.#versions.get(before)!;
    return Object.fromEntries(Object.entries(versions).filter(([channel, version]) => inherited[channel] !== version));
  }

  async #ours({ namespace, id }: Place): Promise<{ tuple: CheckpointTuple; paths: Map<string, string> }> {
    const { context, throwIfStopped } = this.#exporting;
    throwIfStopped();
    const found = await find(context, this.#threadId, namespace, id);
    if (found === null) {
      throw new ForkpointError(
        "CONFLICT",
        `checkpoint ${quote(id)} of thread ${quote(this.#threadId)} was removed while it was exported: export again`,
      );
    }
    const paths = new Map(shownWrites(found.writes).map(({ task, path = "" }) => [task, path]));
    return { tuple: await tupleOf(context, found), paths };
  }

  #theirs({ namespace, id }: { namespace: string; id?: string }): Promise<CheckpointTuple | undefined> {
    const newest = { configurable: { thread_id: this.#threadId, checkpoint_ns: namespace } };
    const config = id === undefined ? newest : configOf({ threadId: this.#threadId, namespace, id });
    return this.#asking("getTuple()", { id }, async () => {
      const tuple = await this.#exporting.to.getTuple(config);
      if (tuple === undefined || tuple === null) return undefined;
      if (typeof tuple.checkpoint === "object" && tuple.checkpoint !== null) return tuple;
      const given: unknown = typeof tuple === "object" ? tuple.checkpoint : tuple;
      throw typeError(`it returned ${show(given)} instead of a checkpoint`);
    });
  }

  async #asking<T>(call: string, { id }: { id?: string | undefined }, ask: () => Promise<T>): Promise<T> {
    this.#exporting.throwIfStopped();
    try {
      return await ask();
    } catch (error) {
      const where = `thread ${quote(this.#threadId)}${id === undefined ? "" : `, checkpoint ${quote(id)}`}`;
      const text = isForkpointError(error) ? `${error.code}: ${error.message}` : textOf(error);
      throw new Refused(`${where}: ${call} of the other saver failed: ${text}`);
    }
  }

  readonly #isSpecial = (channel: string): boolean =>
    Object.hasOwn(this.#exporting.context.peer.WRITES_IDX_MAP, channel);
}

/** Returns the key of a checkpoint's parent. */
function beforeOf({ namespace, parent }: Place): string | undefined {
  return parent === null ? undefined : keyOf({ namespace, id: parent });
}

function idOf({ config, checkpoint }: CheckpointTuple): string {
  const id = (config?.configurable as Partial<Record<string, string>> | undefined)?.["checkpoint_id"];
  return id ?? checkpoint.id;
}
