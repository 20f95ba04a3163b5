/** What a store object has saved or read, so that it notices when somebody has deleted it. */

import type { Exact } from "../bridge/wire.js";

/** How many names one of the two maps holds. */
const MOST = 8_192;

/**
 * Remembers names of what was stored: runs, threads, checkpoints. A memory may be out of date, so it only decides what a save
 * expects: the database checks it, in the save's own transaction.
 *
 * It remembers the last 8,192 names at least. A name that is not remembered is expected by no save.
 */
export class Seen {
  #young = new Map<string, Exact | undefined>();
  #old = new Map<string, Exact | undefined>();

  /**
   * Something with this name is stored. `incarnation` is that of its run: a run that is deleted and begun again has another
   * one. Missing or null: the one that is remembered, if there is one.
   */
  note(name: string, incarnation?: Exact | null): void {
    const known = incarnation ?? this.incarnation(name);
    if (this.#young.has(name)) {
      if (known !== this.#young.get(name)) this.#young.set(name, known);
      return;
    }
    if (this.#young.size >= MOST) [this.#old, this.#young] = [this.#young, new Map()];
    this.#young.set(name, known);
  }

  has(name: string): boolean {
    if (this.#young.has(name)) return true;
    if (!this.#old.has(name)) return false;
    this.note(name);
    return true;
  }

  /** The incarnation of the run, when the name was noted last. Undefined: it is not known. */
  incarnation(name: string): Exact | undefined {
    return this.#young.get(name) ?? this.#old.get(name);
  }

  /**
   * A caller has looked for it. What a caller finds is what the caller works on from now on, also if it is another incarnation than
   * before. A caller who finds nothing (null) may begin it.
   */
  looked(name: string, found: { incarnation?: Exact | null | undefined } | null): void {
    this.forget(name);
    if (found !== null) this.note(name, found.incarnation);
  }

  /** The store object has deleted it. So a later save may begin it again. */
  forget(name: string): void {
    this.#young.delete(name);
    this.#old.delete(name);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
