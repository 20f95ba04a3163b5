/** What a store object has saved or read, so that it notices when somebody has deleted it. */

/** How many names one of the two sets holds. */
const MOST = 8_192;

/**
 * Remembers names of what was stored: runs, threads, checkpoints. A memory may be out of date, so it only decides what a save
 * expects: the database checks it, in the save's own transaction.
 *
 * It remembers the last 8,192 names at least. A name that is not remembered is expected by no save.
 */
export class Seen {
  #young = new Set<string>();
  #old = new Set<string>();

  note(name: string): void {
    if (this.#young.has(name)) return;
    if (this.#young.size >= MOST) [this.#old, this.#young] = [this.#young, new Set()];
    this.#young.add(name);
  }

  has(name: string): boolean {
    if (this.#young.has(name)) return true;
    if (!this.#old.has(name)) return false;
    this.note(name);
    return true;
  }

  /** The store object has deleted it, or has looked for it and found nothing. So a later save may begin it again. */
  forget(name: string): void {
    this.#young.delete(name);
    this.#old.delete(name);
  }

  clear(): void {
    this.#young.clear();
    this.#old.clear();
  }
}
