/**
 * Reads and changes the rows of agents' memory: messages, threads and resources. A change made from a row expects this
 * row, so that it never undoes another change. `put` and `remove` expect nothing, as in Mastra's stores. Messages expect
 * their thread, if this store has seen it.
 */

import { ForkpointError, isOvertaken, isOwnError, quote } from "../../bridge/errors.js";
import { type Serialized, deserializeValue } from "../../bridge/serializer.js";
import type { Part } from "../../bridge/wire.js";
import type { Engine } from "../../store/engine.js";
import { batches } from "../../store/page.js";
import { Seen } from "../../store/seen.js";
import { newVersion, nextNumber } from "../shared/version.js";
import { Turns } from "../shared/turns.js";
import { type FoundRow, type Position, type Seen as Expected, type Source, type Table, memory } from "./wire.js";

/** A row that was read. */
export interface Row extends Omit<FoundRow, "parts"> {
  table: Table;
  part: Part;
}

/** A row to save. Left-out fields keep their values in the existing row, if there is one. */
export interface Draft {
  table: Table;
  id: string;
  lineage: string;
  group: string;
  meta: object;
  part: Serialized;
  /** In ms since the epoch. */
  createdAt: number;
  savedAt: number;
}

export type Direction = "ASC" | "DESC";

/** The rows of a listing to read. */
export interface Selection {
  direction: Direction;
  /** Only rows that were created at this time or later, in ms since the epoch. */
  from?: number | undefined;
  /** Only rows that were created before this time. */
  before?: number | undefined;
  skip?: number;
  limit?: number;
  /** If true, all rows of the source are counted. */
  count?: boolean;
}

/** The number of messages whose positions stay in memory. */
const KEPT = 10_000;
/** The number of rows that a call reads or removes. */
const PAGE = 500;

export class Rows {
  readonly #turns = new Turns();
  /** The threads that this store has saved or read. A late message must not recreate a part of a deleted thread. */
  readonly #threads = new Seen();
  /** The positions of messages, as last seen. A save expects the seen position, so an outdated one does no harm. */
  readonly #positions = new Map<string, Position>();
  /** Saves messages. Replaces those with the same ids, in their positions in the thread. */
  async saveMessages(engine: Engine, drafts: readonly Draft[]): Promise<void> {
    const numbers = drafts.map(() => nextNumber());
    const known = new Map(drafts.map(({ id }) => [id, this.#positions.get(id)]));
    for (;;) {
      const seen = drafts.map(({ id }): Expected => (known.get(id) === undefined ? "none" : { at: known.get(id)! }));
      const positions = drafts.map(({ id, createdAt }, at) => {
        const { createdAt: first = createdAt, number = numbers[at]! } = known.get(id) ?? {};
        return { createdAt: first, number, version: newVersion() };
      });
      if (await this.save(engine, drafts, positions, seen)) return;
      for (const { id } of drafts) known.set(id, undefined);
      const ids = [...known.keys()];
      for (const { id, position } of await this.find(engine, "messages", ids)) known.set(id, position);
    }
  }

  /**
   * Saves rows at their positions, all or none. Sets the time of the change on the messages' threads. Returns false if
   * another writer was faster.
   */
  async save(
    engine: Engine,
    drafts: readonly Draft[],
    positions: readonly Position[],
    seen: readonly Expected[],
    touch = threadsOf(drafts),
  ): Promise<boolean> {
    const rows = drafts.map(({ table, id, lineage, group, meta, savedAt, part: { tag } }, at) => {
      const fields = { table, id, lineage, group, meta: JSON.stringify(meta), savedAt };
      return { ...fields, position: positions[at]!, seen: seen[at]!, part: { name: "content", tag } };
    });
    const buffers = drafts.map(({ part }) => part.bytes);
    const saved = new Set(rows.filter(({ table }) => table === "threads").map(({ id }) => id));
    const stored = threadsOf(drafts).filter((thread) => !saved.has(thread) && this.#threads.has(thread));
    try {
      await memory.call(engine.native, "save", { rows, touch, stored, savedAt: Date.now() }, buffers);
    } catch (error) {
      for (const { id } of drafts) this.#positions.delete(id);
      if (isOvertaken(error)) return false;
      if (!isOwnError(error) || error.code !== "NOT_FOUND") throw error;
      throw new ForkpointError("CONFLICT", `${error.message}: saveThread() makes a new one with this id`);
    }
    for (const { table, id, position } of rows) if (table === "messages") this.#keep(id, position);
    for (const thread of saved) this.#threads.note(thread);
    return true;
  }

  /** Saves a row. Replaces any row with the same id. */
  put(engine: Engine, draft: Draft): Promise<boolean> {
    const position = { createdAt: draft.createdAt, number: nextNumber(), version: newVersion() };
    return this.#turns.alone(nameOf(draft), () => this.save(engine, [draft], [position], ["any"]));
  }

  /** Adds new rows without changing their threads. Returns false if a row exists. */
  add(engine: Engine, drafts: readonly Draft[]): Promise<boolean> {
    const positions = drafts.map(({ createdAt }) => ({ createdAt, number: nextNumber(), version: newVersion() }));
    return this.save(
      engine,
      drafts,
      positions,
      drafts.map(() => "none"),
      [],
    );
  }

  /** Reads a row, decides, and saves the resulting row. Repeats if another writer was faster. */
  change<T>(
    engine: Engine,
    of: { table: Table; id: string },
    decide: (found: Row | undefined) => { result: T; draft?: Draft },
  ): Promise<T> {
    return this.#turns.alone(nameOf(of), async () => {
      for (;;) {
        const [found] = await this.find(engine, of.table, [of.id]);
        const { result, draft } = decide(found);
        if (draft === undefined || (await this.replace(engine, [[found, draft]]))) return result;
      }
    });
  }

  /** Replaces rows by rows made from them. Returns false if another writer was faster. */
  replace(
    engine: Engine,
    all: ReadonlyArray<[found: Row | undefined, draft: Draft]>,
    touch?: string[],
  ): Promise<boolean> {
    const positions = all.map(([found, { createdAt }]) => {
      return { createdAt, number: found?.position.number ?? nextNumber(), version: newVersion() };
    });
    const seen = all.map(([found]): Expected => (found === undefined ? "none" : { at: found.position }));
    const drafts = all.map(([, draft]) => draft);
    return this.save(engine, drafts, positions, seen, touch ?? threadsOf(drafts));
  }

  /** Reads rows, in the order of their ids. Leaves out missing rows. */
  async find(engine: Engine, table: Table, ids: readonly string[]): Promise<Row[]> {
    const rows: Row[] = [];
    for (let at = 0; at < ids.length; at += PAGE) {
      const fields = { table, ids: ids.slice(at, at + PAGE) };
      const found = await memory.find(engine.native, "find", fields, (all, part) => all.map(rowOf(table, part)));
      rows.push(...(found ?? []));
    }
    if (table === "threads") for (const { id } of rows) this.#threads.note(id);
    return rows;
  }

  /** Reads a row, after the pending changes of this store. */
  read(engine: Engine, table: Table, id: string): Promise<Row | undefined> {
    return this.#turns.shared(nameOf({ table, id }), async () => {
      const [found] = await this.find(engine, table, [id]);
      // A caller who looks for a thread and finds none may begin it.
      if (table === "threads" && found === undefined) this.#threads.forget(id);
      return found;
    });
  }

  /** Reads rows of a listing. */
  async list(
    engine: Engine,
    source: Source,
    { direction, from = -Infinity, before = Infinity, skip = 0, limit = Infinity, count = false }: Selection,
  ): Promise<{ rows: Row[]; count: number | undefined }> {
    const newestFirst = direction === "DESC";
    const begin = newestFirst ? before : from;
    const rows: Row[] = [];
    const has = ({ position }: Row) => position.createdAt >= from && position.createdAt < before;
    let total: number | undefined;
    let after: string | undefined;
    do {
      const isFirst = after === undefined;
      const fields = {
        ...listed(source),
        newestFirst,
        after,
        from: isFirst && Number.isFinite(begin) ? begin : undefined,
        skip: isFirst ? skip : 0,
        limit: Math.min(PAGE, limit - rows.length),
        count: isFirst && count,
      };
      const page = await memory.find(engine.native, "list", fields, ({ rows: found, ...rest }, part) => {
        return { ...rest, found: found.map(rowOf(source.table, part)) };
      });
      // A row that was changed in between has a different position.
      const isAgain = rows.length > 0 && page!.found[0]?.id === rows.at(-1)!.id;
      rows.push(...page!.found.slice(Number(isAgain)));
      total ??= page!.count ?? undefined;
      after = page!.next ?? undefined;
    } while (after !== undefined && rows.length < limit && has(rows.at(-1)!));
    return { rows: rows.filter(has), count: total };
  }

  /** Returns the ids of a message and of its neighbors, in order. With `resource`, only those of this resource. */
  async around(
    engine: Engine,
    { id, lineage }: Row,
    before: number,
    after: number,
    resource?: string,
  ): Promise<string[]> {
    for (let factor = 1; ; factor *= 2) {
      const wanted = { before: before * factor, after: after * factor };
      const [older, newer] = await memory.call(engine.native, "around", { thread: lineage, id, ...wanted });
      const [previous, next] = [older, newer].map((all) => all.filter(({ group }) => group === (resource ?? group)));
      const isEnough =
        (previous!.length >= before || older.length < wanted.before) &&
        (next!.length >= after || newer.length < wanted.after);
      if (!isEnough) continue;
      const chosen = [...previous!.slice(Math.max(0, previous!.length - before)), { id }, ...next!.slice(0, after)];
      return chosen.map((one) => one.id);
    }
  }

  /** Lists the lineages of a table. */
  async *lineages(engine: Engine, table: Table): AsyncGenerator<string> {
    await this.#turns.settled();
    const read = (before: number | undefined, limit: number) =>
      memory.call(engine.native, "lineages", { table, before, limit });
    for await (const lineages of batches(read)) for (const { lineage } of lineages) yield lineage;
  }

  /** Removes rows by id, and entire lineages. */
  async remove(
    engine: Engine,
    {
      table,
      ids = [],
      lineages = [],
      touch = [],
    }: { table: Table | readonly Table[]; ids?: string[]; lineages?: string[]; touch?: string[] },
  ): Promise<void> {
    const tables = [table].flat() as Table[];
    const clear = lineages.flatMap((lineage) => tables.map((one) => ({ table: one, lineage })));
    const rows = ids.map((id) => ({ table: tables[0]!, id }));
    await this.#turns.settled();
    await memory.call(engine.native, "remove", { clear, rows, touch, savedAt: Date.now() });
  }

  /** Returns a function that removes rows created before a time, at most `limit` per call. */
  older(engine: Engine, table: Table, than: number): (limit: number) => Promise<number> {
    const lineages = this.lineages(engine, table);
    let lineage: string | undefined;
    return async (limit) => {
      for (let removed = 0; ;) {
        lineage ??= (await lineages.next()).value;
        if (lineage === undefined || removed >= limit) return removed;
        const ids = await memory.call(engine.native, "older", { table, lineage, than, limit: limit - removed });
        if (ids.length === 0) lineage = undefined;
        else await this.remove(engine, { table, ids });
        removed += ids.length;
      }
    };
  }

  /** Lets messages begin any thread. */
  forgetThreads(): void {
    this.#threads.clear();
  }

  #keep(id: string, position: Position): void {
    this.#positions.delete(id);
    this.#positions.set(id, position);
    if (this.#positions.size > KEPT) this.#positions.delete(this.#positions.keys().next().value!);
  }
}

/** Compares rows by creation. */
export const oldestFirst = (a: Row, b: Row): number =>
  a.position.createdAt - b.position.createdAt || Number(a.position.number) - Number(b.position.number);

/** Reads the value of a row. */
export function valueOf(engine: Engine, { table, id, part }: Row): any {
  const what = `${{ messages: "message", threads: "thread", resources: "resource" }[table]} ${quote(id)}`;
  if (part === undefined) throw new ForkpointError("CORRUPT", `the content of ${what} is missing: restore a backup`);
  return deserializeValue(engine.format, part.tag, part.bytes, what);
}

const rowOf =
  (table: Table, part: (packed: FoundRow["parts"][number]) => Part) =>
  ({ parts, ...rest }: FoundRow): Row => ({ ...rest, table, part: parts.map(part)[0]! });

const listed = ({ table, thread, resource }: Source) => ({ table, thread, resource });
const threadsOf = (drafts: readonly Draft[]) => [
  ...new Set(drafts.filter(({ table }) => table === "messages").map(({ lineage }) => lineage)),
];
const nameOf = ({ table, id }: { table: Table; id: string }) => `${table} ${id}`;
