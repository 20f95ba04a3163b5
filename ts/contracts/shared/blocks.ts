/**
 * Lists of entries with ids, which nobody can guess. A row is a block of consecutive entries, so many small entries are
 * stored in little space. The last block grows. The number of a block is the position of its first entry.
 */

import type { Engine } from "../../store/engine.js";
import type { StoreHandle } from "../../store/handle.js";
import { ID, type Row, type Rows, newId, repeated, valueOf } from "./rows.js";

/** A block with this many entries or bytes gets no further entry. */
const [MOST, BYTES] = [64, 8_192];
/** The number of blocks in a read. */
const PAGE = 64;
const entryId = new RegExp(`^(${ID})\\.(0|[1-9]\\d?)$`);

/** An entry. `at` is the time at which it was stored, in ms since the epoch. */
type Entry = [at: number, value: unknown];

/** The lists of a run. Each is a namespace. */
export class Blocks {
  readonly #rows: Rows;
  readonly #run: string;
  readonly #limits: { ttlMs: number | null; keep: number | null };

  /** Entries that are older than `ttlMs`, or are not among the last `keep` of their list, are unknown. */
  constructor(rows: Rows, run: string, limits: { ttlMs: number | null; keep: number | null }) {
    [this.#rows, this.#run, this.#limits] = [rows, run, limits];
  }

  /** Appends an entry to a list. Returns its id. */
  append(engine: Engine, ns: string, value: unknown): Promise<string> {
    const run = this.#run;
    return repeated(async () => {
      const last = await this.#rows.newest(engine, run, ns);
      const before = last ? valueOf<Entry[]>(engine, last) : [];
      const end = (last?.place.number ?? 0) + before.length;
      const fits = last !== undefined && before.length < MOST && last.parts[0]!.bytes.byteLength < BYTES;
      const { id, number } = fits ? last.place : { id: newId(), number: end };
      if (!fits) await this.#trim(engine, ns, end + 1);
      const entries: Entry[] = [...(fits ? before : []), [Date.now(), value]];
      const expect = last ? { newest: last.place } : "none";
      const label = `${entries.length} entries`;
      await this.#rows.put(engine, { run, ns, number, id, expect, label, lasting: false }, entries);
      return `${id}.${entries.length - 1}`;
    });
  }

  /** Removes the blocks that have no entry to keep in a list with `end` entries. */
  async #trim(engine: Engine, ns: string, end: number): Promise<void> {
    const { keep } = this.#limits;
    if (keep === null) return;
    const { rows } = await this.#rows.page(engine, { run: this.#run, ns, limit: PAGE });
    const gone = rows.filter((_, at) => (rows[at + 1]?.place.number ?? end) <= end - keep).map(({ place }) => place);
    if (gone.length > 0) await this.#rows.call(engine.native, "remove", { rows: gone });
  }

  /** Finds an entry: its block, and its index in it. Undefined: it is unknown. */
  async find(engine: Engine, given: string): Promise<{ row: Row; index: number } | undefined> {
    const [, id, digits] = entryId.exec(given) ?? [];
    const row = id === undefined ? null : await this.#rows.row(engine, id);
    if (row?.run !== this.#run) return undefined;
    const [index, { ttlMs, keep }] = [Number(digits), this.#limits];
    const entry = valueOf<Entry[]>(engine, row)[index];
    if (entry === undefined || (ttlMs !== null && Date.now() - entry[0] >= ttlMs)) return undefined;
    if (keep === null) return { row, index };
    const last = await this.#rows.newest(engine, row.run, row.ns);
    const end = last ? last.place.number + valueOf<Entry[]>(engine, last).length : 0;
    return row.place.number + index < end - keep ? undefined : { row, index };
  }

  /** Reads the entries after another one, page by page. Holds nothing between two pages. */
  async *after(handle: StoreHandle, { row, index }: { row: Row; index: number }): AsyncGenerator<[string, unknown]> {
    let from: { number: number; id?: string } = { number: row.place.number };
    for (let more = true; more;) {
      const { run, ns } = row;
      const page = await handle.run(async (engine) => {
        const { rows, more } = await this.#rows.page(engine, { run, ns, from, limit: PAGE });
        return { blocks: rows.map(({ place }, at) => ({ place, entries: valueOf<Entry[]>(engine, rows[at]!) })), more };
      });
      for (const { place, entries } of page.blocks) {
        const first = place.id === row.place.id ? index + 1 : 0;
        for (let at = first; at < entries.length; at++) yield [`${place.id}.${at}`, entries[at]![1]];
        from = place;
      }
      more = page.more;
    }
  }
}
