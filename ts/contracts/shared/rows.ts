/** Rows: small values of a run, in an order. `engine/src/contract/rows.rs` declares the calls. */

import type { CallsOf } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { crypto } from "../../bridge/crypto.js";
import { isArray, isOvertaken, isOwnError, show, typeError } from "../../bridge/errors.js";
import { deserializeValue, isCustom } from "../../bridge/serializer.js";
import { Contract, type Unpacked } from "../../bridge/wire.js";
import type { Held } from "../../store/backlog.js";
import type { Engine } from "../../store/engine.js";
import { StoreHandle } from "../../store/handle.js";
import { type OptionParser, type Parsed, splitOptions } from "../../store/options.js";
import { type DeleteOptions, forced, removing } from "../../store/removing.js";
import type { Store } from "../../store/store.js";

/** The place of a row in its run, and its version. */
export type Place = engine.rows.Place;

/** A stored row. */
export type Row = Unpacked<engine.rows.FoundRow>;

type Calls = CallsOf<engine.rows.Call, engine.rows.Responses>;

interface Page {
  /** Left out: all runs. */
  run?: string | undefined;
  ns?: string;
  /** The first row: the one with this number or the next one. With `id`, the one after this row. */
  from?: { number: number; id?: string } | undefined;
  newestFirst?: boolean;
  limit: number;
}

type NewRow = Omit<Parameters<Calls["put"]>[0], "place" | "savedAt" | "part"> & { number: number; id: string };

/** The rows of a contract. */
export class Rows extends Contract<Calls> {
  constructor(name: string) {
    super(name, {
      kinds: { put: "save", remove: "prune", clear: "prune" },
      subject: ({ run, ns, id, place }) => ({ run, ns, id: id ?? place?.id }),
      counts: { page: ({ rows }) => rows.length, remove: (_, { rows }) => rows.length },
    });
  }

  /** Reads a row. Null: there is none. */
  row({ native }: Engine, id: string): Promise<Row | null> {
    return this.find(native, "get", { id }, (row, part) => ({ ...row, parts: row.parts.map(part) }));
  }

  /** Reads a page of a run, or of all runs. */
  page({ native }: Engine, { run, ns = "", from, newestFirst = false, limit }: Page) {
    const fields = { run, ns, from: from && { number: from.number, id: from.id }, newestFirst, limit };
    return this.find(native, "page", fields, ({ rows, more }, part) => ({
      rows: rows.map((row): Row => ({ ...row, parts: row.parts.map(part) })),
      more,
    }));
  }

  /** Reads the newest row of a run. */
  async newest(engine: Engine, run: string, ns = ""): Promise<Row | undefined> {
    return (await this.page(engine, { run, ns, newestFirst: true, limit: 1 })).rows[0];
  }

  /** Saves a row with a JSON value. */
  put({ native, format }: Engine, { run, ns, number, id, expect, label, lasting }: NewRow, value: unknown) {
    const { tag, bytes } = isCustom(format)
      ? format.serialize(value, "value")
      : { tag: "json", bytes: Buffer.from(JSON.stringify(value)) };
    const place = { number, id, version: crypto().randomInt(2 ** 47) };
    const [part, savedAt] = [{ name: "value", tag }, Date.now()];
    return this.call(native, "put", { run, ns, place, expect, label, lasting, savedAt, part }, [bytes]);
  }

  /** Removes the rows of all runs that a function selects, except those that have changed since they were read. */
  async sweep(engine: Engine, isGone: (row: Row) => boolean): Promise<void> {
    let from: Place | undefined;
    for (let more = true; more;) {
      const page = await this.page(engine, { from, limit: 256 });
      for (const { place } of page.rows.filter(isGone)) {
        await this.call(engine.native, "remove", { rows: [place] }).catch((error: unknown) => {
          if (!isOwnError(error) || error.code !== "CONFLICT") throw error;
        });
      }
      [from, more] = [page.rows.at(-1)?.place, page.more];
    }
  }
}

/** Opens a store whose data are rows. `parsers` are those of its own options. */
export function openRows<P extends Record<string, OptionParser<unknown>>>(
  rows: Rows,
  parsers: P,
  target: string | URL | Store,
  options: object | undefined,
): { handle: StoreHandle; own: Parsed<P> } {
  const { own, others } = splitOptions(options, parsers);
  return { handle: StoreHandle.of(target, others, rows), own };
}

/** Removes all rows of a run. */
export function clearRun(handle: StoreHandle, rows: Rows, run: string, options?: DeleteOptions): Promise<unknown> {
  return handle.run(({ native }) => {
    const owned = removing(native, { space: rows.name, run, ns: "" }, forced(options));
    return rows.call(owned, "clear", { run });
  });
}

/** Makes the id of a new row. Nobody can guess it. */
export const newId = (): string => crypto().randomBytes(16).toString("hex");

/** Matches the ids of {@link newId} in a regular expression. */
export const ID = String.raw`[\da-f]{32}`;

/** Returns the value of a row. */
export function valueOf<T>({ format }: Pick<Engine, "format">, { parts: [part], place }: Row): T {
  return deserializeValue(format, part?.tag ?? "", part?.bytes ?? new Uint8Array(), `row ${place.id}`) as T;
}

/** Repeats a change while other writers are faster. */
export async function repeated<T>(change: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await change();
    } catch (error) {
      if (!isOvertaken(error)) throw error;
    }
  }
}

/**
 * Copies a JSON value. Fields that are undefined are left out, as in JSON. Throws a TypeError for any other value that
 * JSON does not have.
 */
export function jsonCopy<T>(value: T, what: string, held: Held): T {
  const text = JSON.stringify(value, function (this: Record<string, unknown>, key: string, item: unknown) {
    const given = this[key];
    const isJson =
      given === undefined
        ? key !== "" && !isArray(this)
        : typeof given === "number"
          ? Number.isFinite(given)
          : typeof given === "object"
            ? given === null || /^\[object (Object|Array)\]$/.test(Object.prototype.toString.call(given))
            : typeof given === "string" || typeof given === "boolean";
    if (!isJson)
      throw typeError(`${what} must be JSON, but ${key === "" ? "it" : JSON.stringify(key)} is ${show(given)}`);
    return item;
  });
  held.add(text.length);
  return JSON.parse(text) as T;
}
