/** Reads and checks the options of stores and methods, targets and paths. */

import { fileURLToPath } from "node:url";
import { isArray, messageOf, quote, rangeError, readingArgument, show, typeError } from "../bridge/errors.js";
import { requireId, text } from "./ids.js";
import { distance } from "./distance.js";
import { labelsOption } from "./labels.js";
import type { ServerOptions } from "../bridge/native.js";
import { type Format, formatOf, type Serializer } from "../bridge/serializer.js";

export { text };

/** The options of a store. Every option has a default. */
export interface StoreOptions {
  /**
   * The failures that a resolved save survives. Default: `"full"`.
   *
   * - `"full"`: survives power loss.
   * - `"normal"`: survives the kill of the process. Power loss may lose the newest saves, but never corrupts the file.
   * - `"off"`: survives the kill of the process. Power loss may corrupt the file.
   *
   * This is the store's durability. Some frameworks have another option of this name, for the time when a step is
   * saved: see their guides.
   */
  durability?: "full" | "normal" | "off";
  /**
   * The serializer that turns values into bytes. Default: `"v8"`.
   *
   * - `"v8"`: structured clone. If a value has a `toJSON` method, the method is called.
   * - `"json"`: JSON text.
   * - An object: your own {@link Serializer}.
   *
   * Each record carries the name of its serializer. A store reads the records of both built-in serializers.
   */
  serializer?: "v8" | "json" | Serializer;
  /**
   * How long a call waits, in ms, while another process holds the database. After this time the call rejects with
   * `BUSY`. Default: 30,000.
   */
  busyTimeoutMs?: number;
  /**
   * The maximum size in bytes of a serialized checkpoint, message, pending write, or part of a session's state. Saving
   * a larger one rejects with `INVALID_ARGUMENT`. Reading one that is larger than this and than 64 MiB rejects with
   * `UNSUPPORTED`. Default: 64 MiB. At most 900 MiB.
   */
  maxPayloadBytes?: number;
  /**
   * The maximum number of bytes that wait to be written: the snapshots of saves that have not settled. Above this
   * number, a save rejects with `BUSY` before it takes a snapshot. If no save is waiting, a save is always accepted.
   * Default: 256 MiB.
   */
  maxQueueBytes?: number;
  /**
   * The size of the payload cache in bytes. The cache prefers the newest payload of each run. Reads of a cached payload
   * skip decompression, and a save that stores a delta against it skips reading it. Default: 64 MiB. 0 switches the
   * cache off. `memory:` ignores this option.
   */
  cacheBytes?: number;
  /**
   * Whether deleted data is overwritten with zeros in a database file and removed from its log, before the deleting
   * call resolves. Backups, forks and other databases still have the data. Deletes of large states write up to twice as
   * much. Only for database files: other targets reject with `UNSUPPORTED`. Default: false.
   */
  secureDelete?: boolean;
  /**
   * Whether the store is opened for reading only. No file is created or changed, no table is made or upgraded, and each
   * call that writes rejects with `UNSUPPORTED`. A database in a read-only folder or with mode 0444 can be read. Reads
   * return checkpoints that other processes save later. A database that does not exist is `NOT_FOUND`. On Postgres, a
   * replica can be read. Default: false.
   */
  readOnly?: boolean;
  /**
   * The maximum number of checkpoints to keep for each run. The newest checkpoints are kept. Each save removes the
   * run's other checkpoints in the save's own transaction, but never removes the checkpoint that it stores. Default: no
   * limit. Null, 0 and Infinity also mean no limit.
   */
  keepLastN?: number | null;
  /**
   * How long a checkpoint is kept after its save, in ms. An expired checkpoint is removed even if it is the newest of
   * its run, unless the run is leased or waits for a person. Expired checkpoints are removed in the background, after
   * later saves, so they may stay visible for a while. `prune()` removes expired checkpoints immediately. Default: no
   * limit. Null, 0 and Infinity also mean no limit.
   */
  ttlMs?: number | null;
  /**
   * How long a run that waits for a person is kept after its last save, in ms: at least `ttlMs`, which it needs.
   * Default: until it is answered. Null, 0 and Infinity also mean no limit.
   */
  waitingTtlMs?: number | null;
  /**
   * The maximum number of stored bytes of all checkpoints together. Above this limit, the checkpoints that were saved
   * first are removed in the background, after later saves. The newest checkpoint of a run is never removed. Default:
   * no limit. Null, 0 and Infinity also mean no limit.
   */
  maxBytes?: number | null;
  /**
   * The maximum share of time for the background deletes of `ttlMs` and `maxBytes`, from 0.01 to 1. On Postgres, the
   * store deletes over a separate connection, so saves do not wait. Only one store of a schema deletes at a time.
   * Default: 0.25.
   */
  pruneShare?: number;
  /**
   * Labels for the runs that this store begins: texts by key, by which `runs()` of `forkpoint/inspect` finds a run.
   * Existing runs keep their labels. At most 32 labels, with keys of up to 100 and values of up to 500 characters.
   * Stored as plain text. Default: none.
   */
  labels?: Record<string, string>;
  /**
   * The schema of the tables on a Postgres server: a lowercase letter or an underscore, followed by at most 30 more of
   * these or digits. Other targets reject this option. Default: `"forkpoint"`.
   */
  schema?: string;
  /**
   * A prefix for the names of the tables and indexes on a Postgres server. Use it if another program has tables in the
   * schema. Other targets reject this option. Default: empty.
   */
  prefix?: string;
  /**
   * What the store may do to its tables when it opens. `"create"` creates a missing database, and uses an older format
   * as it is. `"auto"` also upgrades an older format: see {@link Store.migrate}. `"never"` creates and upgrades
   * nothing, and a missing database is `NOT_FOUND`. On Postgres, use it for a role that may not create tables: see
   * {@link postgresSchema}. Default: `"create"`.
   */
  migrate?: "create" | "auto" | "never";
  /**
   * Returns the password of the role on a Postgres server, in place of the password in the URL. It is called at each
   * connect, so the password may change while the store is open. Other targets reject this option.
   */
  password?: () => string | Promise<string>;
}

/** The retention limits of a store. Null means no limit. */
export interface Retention {
  keepLastN: number | null;
  ttlMs: number | null;
  waitingTtlMs: number | null;
  maxBytes: number | null;
  pruneShare: number;
}

/** A store's options with all defaults filled in. */
export interface Settings extends Retention {
  server: ServerOptions;
  durability: "full" | "normal" | "off";
  busyTimeoutMs: number;
  maxPayloadBytes: number;
  maxQueueBytes: number;
  cacheBytes: number;
  secureDelete: boolean;
  readOnly: boolean;
  labels: Record<string, string>;
  format: Format;
}

/** Returns the checked value of an option, or throws if it is wrong. `name` is used in the message. */
export type OptionParser<T> = (value: unknown, name: string) => T;

/** The result type of a table of option parsers. */
export type Parsed<P> = { [K in keyof P]?: P[K] extends OptionParser<infer T> ? T : never };

/** Renamed options: the old name and the current one. */
const renamed: Record<string, string> = { busyTimeout: "busyTimeoutMs", ttl: "ttlMs" };

/** Accepts any value. The caller checks it. */
export const anything = (value: unknown): unknown => value;

export const flag: OptionParser<boolean> = (value, name) => {
  if (typeof value !== "boolean") throw typeError(`${name} must be true or false, but is ${show(value)}`);
  return value;
};

export function callback<F extends (...given: never[]) => unknown>(value: unknown, name: string): F {
  if (typeof value !== "function") throw typeError(`${name} must be a function, but is ${show(value)}`);
  return value as F;
}

export function oneOf<T extends string>(...words: T[]): OptionParser<T> {
  return (value, name) => {
    if (words.includes(value as T)) return value as T;
    const near = typeof value === "string" ? hint(value, words) : "";
    const known = words
      .map(quote)
      .join(", ")
      .replace(/, ([^,]*)$/, " or $1");
    throw typeError(`${name} must be ${known}, but is ${shown(value)}${near === "" ? "" : `.${near}`}`);
  };
}

/** Formats a wrong value for a message. Quotes strings, so use it only for options with a few allowed words. */
export function shown(value: unknown): string {
  return typeof value === "string" ? quote(value) : show(value);
}

export function object(value: unknown, name: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null && !isArray(value)) return value as Record<string, unknown>;
  throw typeError(`${name} must be an object, but is ${show(value)}`);
}

const parsers = {
  durability: oneOf("full", "normal", "off"),
  serializer: (value: unknown) => formatOf(value as "v8" | "json" | Serializer),
  busyTimeoutMs: whole(0, 2 ** 31 - 1, "milliseconds"),
  secureDelete: flag,
  readOnly: flag,
  maxPayloadBytes: whole(1, 900 * 2 ** 20, "bytes"),
  maxQueueBytes: whole(1, 2 ** 40, "bytes"),
  cacheBytes: whole(0, 2 ** 40, "bytes"),
  keepLastN: atMost("checkpoints"),
  ttlMs: atMost("milliseconds"),
  waitingTtlMs: atMost("milliseconds"),
  maxBytes: atMost("bytes"),
  pruneShare: share,
  labels: labelsOption,
  schema: text,
  prefix: text,
  migrate: oneOf("create", "auto", "never"),
  password: (value: unknown, name: string) => {
    if (typeof value !== "function") throw typeError(`${name} must be a function that returns a password`);
    return value as () => string | Promise<string>;
  },
} satisfies Record<keyof StoreOptions, OptionParser<unknown>>;

/** Checks the options of `openStore` and fills in the defaults. */
export function readOptions(options: unknown): Settings {
  const { serializer, schema, prefix, migrate, password, ...given } = readRecord(options, "options", parsers);
  checkTtls(given.ttlMs, given.waitingTtlMs);
  return {
    durability: "full",
    busyTimeoutMs: 30_000,
    maxPayloadBytes: 64 * 2 ** 20,
    maxQueueBytes: 256 * 2 ** 20,
    cacheBytes: 64 * 2 ** 20,
    secureDelete: false,
    readOnly: false,
    keepLastN: null,
    ttlMs: null,
    waitingTtlMs: null,
    maxBytes: null,
    pruneShare: 0.25,
    labels: {},
    ...given,
    format: serializer ?? formatOf("v8"),
    server: { schema, prefix, migrate, password } as ServerOptions,
  };
}

/** Checks an options object. Throws for unknown keys. A key whose value is `undefined` is treated as missing. */
export function readRecord<P extends Record<string, OptionParser<unknown>>>(
  options: unknown,
  what: string,
  known: P,
): Parsed<P> {
  if (options === undefined) return {};
  const given = object(options, what);
  const keys = readingArgument(what, () => {
    refuseUnknown(given, Object.keys(known));
    return Object.keys(given);
  });
  const read: Record<string, unknown> = { __proto__: null };
  for (const key of keys) {
    const name = `option "${key}"`;
    readingArgument(name, () => {
      const value = given[key];
      if (value !== undefined) read[key] = known[key]!(value, name);
    });
  }
  return read as Parsed<P>;
}

/** Throws for a key that is not one of the names. `where` names the options object in the message. */
export function refuseUnknown(given: object, names: string[], where = ""): void {
  const key = Object.keys(given).find((each) => !names.includes(each));
  if (key === undefined) return;
  const place = where === "" ? "" : `${where}: `;
  throw typeError(`${place}Unknown option ${quote(key)}.${hint(key, names)} Known options: ${names.join(", ")}`);
}

/**
 * Returns a sentence that suggests the known option with the most similar name. Returns an empty string if no name is
 * similar.
 */
export function hint(key: string, names: readonly string[]): string {
  const today = Object.hasOwn(renamed, key) ? renamed[key] : undefined;
  if (today !== undefined && names.includes(today)) return ` It is called "${today}" now.`;
  const [short, all] = [key.toLowerCase(), names.map((name) => [name, name.toLowerCase()] as const)];
  const near = (all.find(([, name]) => distance(name, short) <= 2) ??
    all.find(([, name]) => short.length > 3 && name.startsWith(short)))?.[0];
  return near === undefined ? "" : ` Did you mean "${near}"?`;
}

export function whole(least: number, most: number, unit: string): OptionParser<number> {
  return (value, name) => {
    if (typeof value !== "number") throw typeError(`${name} must be a number of ${unit}, but is ${show(value)}`);
    if (!Number.isInteger(value) || value < least || value > most) {
      throw rangeError(`${name} must be a whole number of ${unit} from ${least} to ${most}, but is ${value}`);
    }
    return value;
  };
}

export function share(value: unknown, name: string): number {
  if (typeof value !== "number") throw typeError(`${name} must be a number from 0.01 to 1, but is ${show(value)}`);
  if (!(value >= 0.01 && value <= 1)) throw rangeError(`${name} must be a number from 0.01 to 1, but is ${value}`);
  return value;
}

/**
 * Splits the options of a contract's store. `own` are the parsed options of the contract. `others` are the options of
 * the store itself, or undefined if there are none.
 */
export function splitOptions<P extends Record<string, OptionParser<unknown>>>(
  options: unknown,
  known: P,
): { own: Parsed<P>; others: StoreOptions | undefined } {
  if (options === undefined) return { own: {}, others: undefined };
  const given = Object.entries(readingArgument("options", () => ({ ...object(options, "options") })));
  const own = given.filter(([key]) => Object.hasOwn(known, key));
  const others = given.filter(([key]) => !Object.hasOwn(known, key));
  return {
    own: readRecord(Object.fromEntries(own), "options", known),
    others: others.length === 0 ? undefined : Object.fromEntries(others),
  };
}

export const signalOption: OptionParser<AbortSignal> = (value, name) => {
  if (!(value instanceof AbortSignal)) throw typeError(`${name} must be an AbortSignal, but is ${show(value)}`);
  return value;
};

/** Parses a limit: an integer above 0. Returns null for null, 0 and Infinity, which mean no limit. */
export function atMost(unit: string): OptionParser<number | null> {
  return (value, name) => {
    if (value === null || value === 0 || value === Number.POSITIVE_INFINITY) return null;
    if (typeof value !== "number") {
      throw typeError(`${name} must be a number of ${unit}, or null for no limit, but is ${show(value)}`);
    }
    if (!Number.isSafeInteger(value) || value < 0) {
      throw rangeError(`${name} must be a positive whole number of ${unit}, but is ${value}`);
    }
    return value;
  };
}

/** Throws if runs that wait would expire before others. */
export function checkTtls(ttlMs: number | null | undefined, waitingTtlMs: number | null | undefined): void {
  if (typeof waitingTtlMs !== "number") return;
  if (typeof ttlMs !== "number") throw typeError('option "waitingTtlMs" needs "ttlMs"');
  if (waitingTtlMs < ttlMs) {
    throw rangeError(`option "waitingTtlMs" must be at least "ttlMs", which is ${ttlMs}, but is ${waitingTtlMs}`);
  }
}

/** Converts a target to the text that the engine expects. */
export function readTarget(target: unknown): string {
  return readingArgument("target", () => readText(target));
}

function readText(target: unknown): string {
  // Mark the target as a path, so that the engine looks for no other scheme in it.
  if (target instanceof URL) {
    return target.protocol === "file:" ? `sqlite://${pathOfUrl(target, "target")}` : target.href;
  }
  if (typeof target !== "string") {
    throw typeError(`target must be a path, a URL or an open store, but is ${show(target)}`);
  }
  if (/^file:/i.test(target)) return `sqlite://${pathOfUrl(target, "target")}`;
  if (target === "")
    throw typeError(
      'target is empty: pass a file path, "sqlite:<path>", "jsonl:<folder>", "postgres://<host>/<database>" or "memory:"',
    );
  if (!target.isWellFormed()) {
    throw typeError("target contains an unpaired surrogate (invalid Unicode), which a path cannot contain");
  }
  return target;
}

/** Returns the path of a file that is given as a path or URL. */
export function pathOf(file: unknown, what: string): string {
  return readingArgument(what, () => {
    if (typeof file === "string" && file !== "") {
      if (!file.includes("\0") && file.isWellFormed()) return file;
      throw typeError(`${what} contains a NUL character or an unpaired surrogate, which a path cannot contain`);
    }
    if (file instanceof URL) return pathOfUrl(file, what);
    throw typeError(`${what} must be the path of a file or a file: URL, but is ${show(file)}`);
  });
}

function pathOfUrl(url: string | URL, what: string): string {
  try {
    return fileURLToPath(url);
  } catch (error) {
    throw typeError(`${what} is not the URL of a file on this machine: ${messageOf(error)}`);
  }
}

export const programOption: OptionParser<string> = (value, name) => {
  if (requireId(value, name) !== "") return value as string;
  throw typeError(`${name} is empty: pass the name of the program, or leave it out`);
};
