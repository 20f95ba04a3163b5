/** Imports a thread of another saver: finds and stores what the store lacks. */

import { ForkpointError, isOvertaken, isOwnError, quote } from "../../bridge/errors.js";
import type { HeldLease } from "../../store/lease.js";
import { fenced } from "../../store/lease.js";
import { decodeMark } from "../../store/mark.js";
import { type Difference, compare, hasAll } from "./comparison.js";
import { type Plan, type Send, ThreadWriter } from "./copying.js";
import { headers } from "./list-checkpoints.js";
import { Fingerprint, type Imported, type SourceOutline, keyOf } from "./outline.js";
import type { Source, SourceThread } from "./import-source.js";
import { type SaverContext, current, find } from "./tuples.js";
import type { Header } from "./wire.js";

/** A thread that was left as it was. */
export interface SkippedThread {
  threadId: string;
  /**
   * `"changed in both"`: each database has checkpoints or writes of the thread that the other lacks. `"at work"`:
   * another process holds the lease of the thread. Only a saver with `lease` checks that.
   */
  why: "changed in both" | "at work";
  /** A sentence for people: what to do. */
  message: string;
}

/** An import into a saver. */
export interface Importing {
  context: SaverContext;
  source: Source;
  /** Takes the lease of a thread. Returns undefined if the saver takes no leases. */
  leaseOf(threadId: string): Promise<HeldLease> | undefined;
  /** True if the store removes checkpoints by itself. */
  prunes: boolean;
  throwIfAborted(): void;
}

/** A thread of the source. */
export interface WholeThread {
  threadId: string;
  outline: SourceOutline;
  /** The pages of the thread. Undefined for a large thread, which is read again each time. */
  pages: SourceThread[] | undefined;
}

/** Stores the threads of a page in order. */
export interface Turn {
  /** Resolves when the threads before this one have been sent to the engine. */
  begin: Promise<unknown>;
  /** Lets the next thread begin. */
  end(): void;
}

/** How many times an import retries a thread that a program changes during the import. */
const ATTEMPTS = 5;

export class ThreadImport {
  readonly #importing: Importing;
  readonly #thread: WholeThread;

  constructor(importing: Importing, thread: WholeThread) {
    this.#importing = importing;
    this.#thread = thread;
  }

  /** Stores what the store lacks. Returns undefined if the store then has the complete thread. */
  async run(turn: Turn): Promise<SkippedThread | undefined> {
    try {
      const plan = await this.#plan();
      if (plan === "complete") return undefined;
      if (plan === "conflict") return this.#skipped();
      const { leaseOf, context } = this.#importing;
      let lease: HeldLease | undefined;
      try {
        lease = await leaseOf(this.#thread.threadId);
      } catch (error) {
        if (!isOwnError(error) || !error.lease) throw error;
        return { threadId: this.#thread.threadId, why: "at work", message: error.message };
      }
      if (lease === undefined) return await this.#store(context, plan, turn);
      try {
        // A run may have ended before the lease was taken.
        const now = await this.#plan();
        if (now === "complete") return undefined;
        if (now === "conflict") return this.#skipped();
        return await this.#store({ ...context, native: fenced(context.native, lease) }, now, turn);
      } finally {
        await lease.release().catch(() => {});
      }
    } finally {
      turn.end();
    }
  }

  /** Returns the reason why the thread cannot be imported. Stores nothing. */
  async check(): Promise<SkippedThread | undefined> {
    return (await this.#plan()) === "conflict" ? this.#skipped() : undefined;
  }

  #skipped(): SkippedThread {
    const { threadId } = this.#thread;
    const message =
      `thread ${quote(threadId)} has changed in both databases, so it was left as it is: keep it, or delete it here and ` +
      "import again to take it from the old database";
    return { threadId, why: "changed in both", message };
  }

  async *#pages(): AsyncGenerator<SourceThread> {
    const { threadId, pages } = this.#thread;
    if (pages !== undefined) yield* pages;
    else for await (const [page] of this.#importing.source.pages([threadId])) yield page!;
  }

  async #store(context: SaverContext, first: Plan, turn: Turn): Promise<SkippedThread | undefined> {
    let plan: Plan | "complete" | "conflict" = first;
    for (let attempt = 0; attempt < ATTEMPTS && typeof plan === "object"; attempt++) {
      if (await this.#write(context, plan, turn)) {
        await this.#verify();
        return undefined;
      }
      plan = await this.#plan();
    }
    return plan === "complete" ? undefined : this.#skipped();
  }

  /** Returns false if a program has continued the thread. */
  async #write(context: SaverContext, plan: Plan, turn: Turn): Promise<boolean> {
    const { source, throwIfAborted } = this.#importing;
    const { threadId, outline } = this.#thread;
    const send: Send = async (store, last, large) => {
      throwIfAborted();
      await turn.begin;
      const stored = store();
      // A large checkpoint may be stored late, so the next thread waits.
      if (last && !large) turn.end();
      await stored;
    };
    const writer = new ThreadWriter(context, source, threadId, outline, plan, send);
    try {
      for await (const page of this.#pages()) await writer.add(page);
      return true;
    } catch (error) {
      await writer.undo();
      if (isOvertaken(error)) return false;
      throw error;
    }
  }

  /** Compares the source with the store, and decides what to do. */
  async #plan(): Promise<Plan | "complete" | "conflict"> {
    const { context } = this.#importing;
    const { threadId, outline } = this.#thread;
    const { stored, newest, base } = await this.#stored();
    const plan = { replace: false, newest, stored: new Set(stored.keys()) };
    if (stored.size === 0) return { ...plan, have: new Map(), toBeClaimed: new Set() };
    const now = outline.imported;
    // The old database has nothing new.
    if (base?.checkpoints === now.checkpoints && base.orphans === now.orphans) return "complete";
    const have = new Map<string, Difference | null>();
    const toBeClaimed = new Set<string>();
    const fingerprint = new Fingerprint();
    let [lacks, changed, other, more] = [false, false, false, false];
    for await (const { checkpoints } of this.#pages()) {
      const compared = await Promise.all(checkpoints.map((row) => compare(context, threadId, row)));
      for (const [at, row] of checkpoints.entries()) {
        const { namespace, id, parent } = row;
        const difference = compared[at];
        if (difference === undefined) {
          lacks = true;
          if (parent) toBeClaimed.add(keyOf({ namespace, id: parent }));
          continue;
        }
        stored.delete(keyOf(row));
        have.set(keyOf(row), hasAll(difference) ? null : difference);
        fingerprint.add(namespace, id, parent, difference.stored);
        lacks ||= difference.lacks.length > 0;
        changed ||= difference.changed.length > 0;
        other ||= difference.other;
        more ||= difference.more;
      }
    }
    // The remaining checkpoints are not in the source.
    more ||= stored.size > 0;
    if (!lacks && !changed && !other) {
      const early = !more && outline.hasOrphans && base?.orphans !== now.orphans;
      return early ? { ...plan, have, toBeClaimed } : "complete";
    }
    // The store has nothing of its own: an earlier import was killed.
    if (!more && !changed && !other) return { ...plan, have, toBeClaimed };
    if (base === undefined) return "conflict";
    await this.#addAll(fingerprint, stored.values());
    if (String(fingerprint) !== base.checkpoints) return "conflict";
    // The thread is as it was imported, and only the old database has changed it.
    if (!more && !other) return { ...plan, have, toBeClaimed };
    // The old database has removed the thread and begun it again.
    return { ...plan, replace: true, have: new Map(), toBeClaimed: new Set() };
  }

  async #addAll(fingerprint: Fingerprint, some: Iterable<Header>): Promise<void> {
    const { context } = this.#importing;
    for (const { threadId, namespace, id, parent } of some) {
      const found = await find(context, threadId, namespace, id);
      fingerprint.add(namespace, id, parent, current(found?.writes ?? []));
    }
  }

  /** Reads the headers of the stored thread. */
  async #stored(): Promise<{
    stored: Map<string, Header>;
    newest: Map<string, string>;
    base: Imported | undefined;
  }> {
    const stored = new Map<string, Header>();
    const newest = new Map<string, string>();
    let base: Imported | undefined;
    // The newest id comes first.
    for await (const header of headers(this.#importing.context, this.#thread.threadId)) {
      stored.set(keyOf(header), header);
      if (!newest.has(header.namespace)) newest.set(header.namespace, header.id);
      base ??= decodeMark(header.mark).imported;
    }
    return { stored, newest, base };
  }

  /**
   * Reads the thread back and compares it. A program may already have continued the thread, so additional writes, and
   * different writes to LangGraph's own channels, are allowed.
   */
  async #verify(): Promise<void> {
    const { context, prunes } = this.#importing;
    const { threadId } = this.#thread;
    for await (const { checkpoints } of this.#pages()) {
      const compared = await Promise.all(checkpoints.map((row) => compare(context, threadId, row)));
      const at = compared.findIndex((difference) => {
        if (difference === undefined) return !prunes;
        const { other, lacks, changed } = difference;
        return other || lacks.length > 0 || changed.some(({ part }) => !part.name.startsWith("__"));
      });
      if (at < 0) continue;
      throw new ForkpointError(
        "CORRUPT",
        `checkpoint ${quote(checkpoints[at]!.id)} of thread ${quote(threadId)} cannot be read back unchanged after its ` +
          "import. Please report this",
      );
    }
  }
}
