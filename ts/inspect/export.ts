/**
 * Writes runs as JSON Lines: the same lines from every backend. Serialised values are copied and not understood.
 *
 * The checkpoints of a run stand in the order in which they were saved. A log (the messages of a Helix session) stands as it
 * was when the next checkpoint was saved: `from` says how many records of the line before stay, and `records` follow them.
 */

import { createHash } from "node:crypto";
import { ForkpointError, isArray, quote, typeError } from "../bridge/errors.js";
import { flag, readRecord, signalOption, whole } from "../store/options.js";
import type { Exact, Part } from "../bridge/wire.js";
import { type Context, SESSIONS, readKey, readSpace, refOf } from "./context.js";
import { everyRow } from "./every-row.js";
import { safeJson } from "../bridge/json-form/json-text.js";
import { namespacesOf } from "./remove.js";
import { infoOf, newestOf, readPages } from "./rows.js";
import { contractsOf } from "./runs.js";
import { type FoundRun, type Key, type Row, inspect, openRecords, openStored } from "./wire.js";
import type { Space } from "./views.js";

/** The version of the format. */
export const VERSION = 1;

/** A serialised value: as text if it is UTF-8, and otherwise in base64. */
export type Bytes = { text: string } | { base64: string };

/** A part of a checkpoint. `same` is the id of the earlier checkpoint that has the same bytes under this name. */
export type ExportedPart = { name: string; tag: string } & (Bytes | { same: string });

/** What stands in the lines of a run, besides `run` and `end`. */
export interface ExportedCheckpoint {
  id: string;
  parent: string | null;
  group: string;
  label: string;
  rank: string;
  at: number | null;
  savedAt: number;
  ageOffset: number;
  dependsOnParent: boolean;
  exempt: boolean;
  logs: Array<[log: string, length: number]>;
  meta: Bytes;
  parts: ExportedPart[];
}

export type ExportedWrite = {
  checkpoint: string;
  task: string;
  index: Exact;
  name: string;
  owner: string | null;
  tag: string;
} & Bytes;

export interface ExportedLog {
  name: string;
  /** How many records of the log stay. */
  from: number;
  records: Array<{ key: string | null; tag: string } & Bytes>;
}

/** The name of a run in an export. `of` is the contract that holds it, if its space has several. */
export interface ExportedRun {
  space: string;
  run: string;
  ns: string | null;
  group: string | null;
  of?: string;
}

const exportOptions = {
  runs: (value: unknown, name: string) => {
    if (!isArray(value)) throw typeError(`${name} must be a list of runs`);
    return value.map(readKey);
  },
  space: (value: unknown) => readSpace(value),
  since: whole(-Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, "milliseconds"),
  values: flag,
  signal: signalOption,
};

interface ExportOptions {
  runs?: Key[];
  space?: Space;
  since?: number;
  values?: boolean;
  signal?: AbortSignal;
}

/** Yields the lines of an export. */
export async function* exportLines(
  context: Context,
  given: unknown,
  closing: () => boolean,
): AsyncGenerator<string, void, void> {
  const { runs, space, since, values = true, signal } = readRecord(given, "options", exportOptions) as ExportOptions;
  const stop = () => {
    if (closing()) throw new ForkpointError("CLOSED", "the store was closed before the export ended");
    signal?.throwIfAborted();
  };
  const done = { runs: 0, checkpoints: 0, writes: 0 };
  yield safeJson({ forkpoint: "export", version: VERSION, at: Date.now(), ...(!values && { values }) });
  for (const key of await chosen(context, runs, space)) {
    stop();
    const rows: Row[] = [];
    for await (const row of everyRow(context, key)) rows.push(row);
    const logs = rows.length > 0 ? [] : await inspect.call(context.engine.native, "logs", { of: key });
    if (rows.length === 0 && logs.every(([, length]) => length === 0)) continue;
    if (since !== undefined && !rows.some(({ savedAt }) => savedAt >= since)) continue;
    const lines = new RunLines(
      context,
      key,
      rows.toSorted((a, b) => a.seq - b.seq),
      values,
    );
    for await (const line of lines) {
      stop();
      yield line;
    }
    done.runs += 1;
    done.checkpoints += lines.counts.checkpoints;
    done.writes += lines.counts.writes;
  }
  yield safeJson({ done });
}

/** Returns the runs to export. A run comes after the one that it was forked from. */
async function chosen(context: Context, runs: Key[] | undefined, space: Space | undefined): Promise<Key[]> {
  if (runs === undefined) return allRuns(context, space);
  const keys: Key[] = [];
  for (const run of runs) {
    const parts = run.space === "helix" ? [run, { ...run, space: SESSIONS }] : await namespacesOf(context, run);
    const pages = await readPages(context, parts.map(newestOf));
    if (pages.every(({ checkpoints }) => checkpoints === 0)) {
      throw new ForkpointError("NOT_FOUND", `there is no run ${quote(run.run)} in ${run.space}: list the runs`);
    }
    keys.push(...parts);
  }
  return keys;
}

/** The number of runs that one call lists. */
const PAGE = 1000;

/** Returns all runs, the first begun first. A run is always begun after the one that it was forked from. */
async function allRuns({ engine }: Context, space: Space | undefined): Promise<Key[]> {
  const found: FoundRun[] = [];
  for (const contract of contractsOf(space)) {
    let before: number | undefined;
    for (;;) {
      const page = await inspect.call(engine.native, "began", { space: contract, group: "", before, limit: PAGE });
      found.push(...page);
      if (page.length < PAGE) break;
      before = page.at(-1)!.position;
    }
  }
  const sorted = found.toSorted((a, b) => a.position - b.position);
  const keys = sorted.map((run): Key => ({ space: run.space, run: run.run, ns: run.ns ?? "" }));
  // A session is in two contracts. The one of its checkpoints also has its messages, and comes first.
  const seen = new Set<string>();
  return keys.flatMap((key) => {
    if (key.space !== "helix" && key.space !== SESSIONS) return [key];
    if (seen.has(key.run)) return [];
    seen.add(key.run);
    return [
      { ...key, space: "helix" },
      { ...key, space: SESSIONS },
    ];
  });
}

/** The lines of one run. */
class RunLines {
  readonly counts = { checkpoints: 0, writes: 0 };
  readonly #context: Context;
  readonly #key: Key;
  readonly #rows: readonly Row[];
  readonly #values: boolean;
  readonly #hash = createHash("sha256");
  /** The checkpoint that first had a part with these bytes, by the name of the part and a hash. */
  readonly #known = new Map<string, string>();
  /** The pieces of each log as the lines before have it. */
  readonly #logs = new Map<string, Array<[branch: number, to: number]>>();

  constructor(context: Context, key: Key, rows: readonly Row[], values: boolean) {
    this.#context = context;
    this.#key = key;
    this.#rows = rows;
    this.#values = values;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string, void, void> {
    const { space, run, ns } = refOf(this.#key);
    const group = this.#rows[0]?.group ?? null;
    yield this.#line({ run: { space, run, ns, group, ...(this.#key.space === SESSIONS && { of: SESSIONS }) } });
    const writes: string[] = [];
    for (const row of this.#rows) {
      if (!this.#values) {
        yield this.#line({ checkpoint: infoOf(this.#context, row, undefined) });
        this.counts.checkpoints += 1;
        continue;
      }
      const lines = await this.#checkpoint(row);
      // It was removed meanwhile.
      if (lines === null) continue;
      yield* lines.before;
      yield lines.checkpoint;
      writes.push(...lines.writes);
    }
    if (this.#values) yield* await this.#currentLogs();
    for (const write of writes) yield this.#count(write);
    const { checkpoints } = this.counts;
    yield safeJson({ end: { checkpoints, writes: writes.length, sha256: this.#hash.digest("hex") } });
  }

  #line(value: unknown): string {
    return this.#count(safeJson(value));
  }

  #count(line: string): string {
    this.#hash.update(line).update("\n");
    return line;
  }

  async #checkpoint(row: Row): Promise<{ before: string[]; checkpoint: string; writes: string[] } | null> {
    const { native } = this.#context.engine;
    const found = await inspect.find(native, "stored", { of: this.#key, id: row.id }, openStored);
    if (found === null) return null;
    const { stored, meta, parts, writes } = found;
    const { id, parent, group, label, rank, savedAt, ageOffset, dependsOnParent, exempt, logs } = stored;
    const before: string[] = [];
    for (const [log] of logs) before.push(...(await this.#log(log, id)));
    const checkpoint: ExportedCheckpoint = {
      id,
      parent,
      group,
      label,
      rank,
      at: row.at,
      savedAt,
      ageOffset,
      dependsOnParent,
      exempt,
      logs,
      meta: bytesOf(meta.bytes),
      parts: parts.map((part) => this.#part(part, id)),
    };
    this.counts.checkpoints += 1;
    this.counts.writes += writes.length;
    return {
      before,
      checkpoint: this.#line({ checkpoint }),
      writes: writes.map(([{ task, index, owner }, { name, tag, bytes }]) => {
        const write: ExportedWrite = { checkpoint: id, task, index, name, owner, tag, ...bytesOf(bytes) };
        return safeJson({ write });
      }),
    };
  }

  #part({ name, tag, bytes }: Part, id: string): ExportedPart {
    const hash = createHash("sha256").update(name).update("\0").update(tag).update("\0").update(bytes).digest("base64");
    const same = this.#known.get(hash);
    if (same !== undefined) return { name, tag, same };
    this.#known.set(hash, id);
    return { name, tag, ...bytesOf(bytes) };
  }

  /** Writes the lines that turn a log into what a checkpoint names. Undefined: into what it is now. */
  async #log(log: string, at: string | undefined): Promise<string[]> {
    const { native } = this.#context.engine;
    const of = this.#key;
    const pieces = await inspect.call(native, "logRuns", { of, log, at });
    const [from, before] = [sharedLength(this.#logs.get(log) ?? [], pieces), lengthOf(this.#logs.get(log) ?? [])];
    const length = lengthOf(pieces);
    this.#logs.set(log, pieces);
    if (from === before && from === length) return [];
    const lines: string[] = [];
    let skip = from;
    do {
      const read = await inspect.find(native, "records", { of, log, at, skip, limit: RECORDS }, openRecords);
      const records = read.map(([key, { tag, bytes }]) => Object.assign({ key, tag }, bytesOf(bytes)));
      const exported: ExportedLog = { name: log, from: skip, records };
      lines.push(this.#line({ log: exported }));
      skip += records.length;
      if (records.length === 0) break;
    } while (skip < length);
    return lines;
  }

  async #currentLogs(): Promise<string[]> {
    const lines: string[] = [];
    for (const [log] of await inspect.call(this.#context.engine.native, "logs", { of: this.#key })) {
      lines.push(...(await this.#log(log, undefined)));
    }
    return lines;
  }
}

/** The number of records that one line has. */
const RECORDS = 500;

function lengthOf(pieces: ReadonlyArray<[branch: number, to: number]>): number {
  return pieces.at(-1)?.[1] ?? 0;
}

/** Returns how many records two logs share. They share their pieces of one branch up to the lower end. */
function sharedLength(one: ReadonlyArray<[number, number]>, other: ReadonlyArray<[number, number]>): number {
  let length = 0;
  for (const [at, [branch, to]] of one.entries()) {
    const [otherBranch, otherTo] = other[at] ?? [];
    if (branch !== otherBranch) break;
    length = Math.min(to, otherTo!);
    if (to !== otherTo) break;
  }
  return length;
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Writes bytes as text if they are text, so that people can read an export. */
export function bytesOf(bytes: Uint8Array): Bytes {
  try {
    return { text: decoder.decode(bytes) };
  } catch {
    return { base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64") };
  }
}
