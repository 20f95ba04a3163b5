/** The names that a store object has saved or read, so that it notices deletions by others. */

import type { Exact } from "../bridge/wire.js";

/** The maximum number of names in each of the two maps. */
const MOST = 8_192;

/**
 * Remembers names of stored data: runs, threads, checkpoints. This memory may be out of date. It only decides what a
 * save expects, and the database checks the expectation in the save's own transaction.
 *
 * It keeps at least the last 8,192 names. Saves expect nothing about other names.
 */
export class Seen {
  #young = new Map<string, Exact | undefined>();
  #old = new Map<string, Exact | undefined>();

  /**
   * Records that data with this name is stored. `incarnation` is the incarnation of its run, which changes if the run
   * is deleted and begun again. Missing or null: the remembered incarnation, if any.
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

  /** The last known incarnation of the run. Undefined: unknown. */
  incarnation(name: string): Exact | undefined {
    return this.#young.get(name) ?? this.#old.get(name);
  }

  /**
   * Records the result of a caller's read. The caller continues with this incarnation, even if another one was known
   * before. If nothing was found (null), the caller may begin the run.
   */
  looked(name: string, found: { incarnation?: Exact | null | undefined } | null): void {
    this.forget(name);
    if (found !== null) this.note(name, found.incarnation);
  }

  /** Records that the store object has deleted the data, so that a later save may begin it again. */
  forget(name: string): void {
    this.#young.delete(name);
    this.#old.delete(name);
  }

  /** Forgets a run with its namespaces, whose names begin with it. */
  forgetRun(run: string): void {
    for (const names of [this.#young, this.#old]) {
      for (const name of names.keys()) if (name === run || name.startsWith(`${run}\0`)) names.delete(name);
    }
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
