/** Stores what an export has written. Everything is checked before it counts. */

import { createHash } from "node:crypto";
import { ForkpointError, isArray, quote, typeError } from "../bridge/errors.js";
import { flag, readRecord, signalOption } from "../store/options.js";
import { type Context, SESSIONS, readSpace } from "./context.js";
import {
  type Bytes,
  type ExportedCheckpoint,
  type ExportedLog,
  type ExportedRun,
  type ExportedWrite,
  VERSION,
} from "./export.js";
import { newestOf, readPages } from "./rows.js";
import { type Key, type Restore, inspect, openStored } from "./wire.js";

/** What an import has stored. */
export interface ImportReport {
  runs: number;
  checkpoints: number;
  writes: number;
  /** Runs that were there already. */
  skipped: number;
  verified: true;
}

const conflicts = ["fail", "skip", "replace"] as const;

const importOptions = {
  onConflict: (value: unknown, name: string) => {
    if (!conflicts.includes(value as "fail")) throw typeError(`${name} must be one of ${conflicts.join(", ")}`);
    return value;
  },
  dryRun: flag,
  signal: signalOption,
  onProgress: (value: unknown, name: string) => {
    if (typeof value !== "function") throw typeError(`${name} must be a function`);
    return value;
  },
};

interface ImportOptions {
  onConflict?: (typeof conflicts)[number];
  dryRun?: boolean;
  signal?: AbortSignal;
  onProgress?: (progress: Omit<ImportReport, "skipped" | "verified">) => void;
}

/** Imports the lines of an export. */
export async function importLines(
  context: Context,
  lines: AsyncIterable<string>,
  given: unknown,
  closing: () => boolean,
): Promise<ImportReport> {
  const options = readRecord(given, "options", importOptions) as ImportOptions;
  const reader = new Importer(context, options, closing);
  try {
    for await (const line of lines) if (line.trim() !== "") await reader.add(line);
    return reader.finish();
  } catch (error) {
    await reader.undo();
    throw error;
  }
}

function torn(why: string): ForkpointError {
  return new ForkpointError("CORRUPT", `the export cannot be imported: ${why}. Export again`);
}

/** The run that is being read. */
interface Current {
  key: Key;
  /** Null: the run is left out. */
  stored: boolean;
  /** True if the next step begins the run. */
  begins: boolean;
  hash: ReturnType<typeof createHash>;
  checkpoints: number;
  writes: number;
  /** The checkpoints, to find the parts that later ones share. */
  parts: Map<string, Map<string, Uint8Array>>;
}

class Importer {
  readonly #context: Context;
  readonly #options: ImportOptions;
  readonly #closing: () => boolean;
  readonly #report: ImportReport = { runs: 0, checkpoints: 0, writes: 0, skipped: 0, verified: true };
  #line = 0;
  #current: Current | undefined;
  #begun = false;
  #done = false;

  constructor(context: Context, options: ImportOptions, closing: () => boolean) {
    this.#context = context;
    this.#options = options;
    this.#closing = closing;
  }

  async add(line: string): Promise<void> {
    this.#options.signal?.throwIfAborted();
    if (this.#closing()) throw new ForkpointError("CLOSED", "the store was closed before the import ended");
    this.#line += 1;
    const value = this.#parse(line);
    if (this.#done) throw torn(`line ${this.#line} follows the last line`);
    if (!this.#begun) return this.#begin(value);
    if ("run" in value) return this.#run(value["run"] as ExportedRun, line);
    if ("done" in value) return this.#end(value["done"] as Partial<ImportReport>);
    const current = this.#current;
    if (current === undefined) throw torn(`line ${this.#line} belongs to no run`);
    if ("end" in value)
      return this.#endRun(current, value["end"] as { checkpoints: number; writes: number; sha256: string });
    current.hash.update(line).update("\n");
    if ("checkpoint" in value) return this.#checkpoint(current, value["checkpoint"] as ExportedCheckpoint);
    if ("write" in value) return this.#write(current, value["write"] as ExportedWrite);
    if ("log" in value) return this.#log(current, value["log"] as ExportedLog);
    throw torn(`line ${this.#line} has no known kind`);
  }

  #parse(line: string): Record<string, unknown> {
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch {
      throw torn(`line ${this.#line} is no JSON`);
    }
    if (typeof value === "object" && value !== null && !isArray(value)) return value as Record<string, unknown>;
    throw torn(`line ${this.#line} is no object`);
  }

  #begin(value: Record<string, unknown>): void {
    if (value["forkpoint"] !== "export") throw torn("its first line is not that of an export of Forkpoint");
    if (value["version"] !== VERSION) {
      const message = `the export has version ${JSON.stringify(value["version"])}, and this forkpoint reads ${VERSION}: upgrade forkpoint`;
      throw new ForkpointError("UNSUPPORTED", message);
    }
    if (value["values"] === false) {
      throw new ForkpointError("UNSUPPORTED", "the export was made without values, so there is nothing to import");
    }
    this.#begun = true;
  }

  async #run(named: ExportedRun, line: string): Promise<void> {
    if (this.#current !== undefined) throw torn(`line ${this.#line} begins a run before the one before it has ended`);
    if (typeof named !== "object" || named === null || typeof named.run !== "string")
      throw torn(`line ${this.#line} names no run`);
    const space = named.of === SESSIONS ? SESSIONS : readSpace(named.space);
    const key: Key = { space, run: named.run, ns: named.ns ?? "" };
    const [page] = await readPages(this.#context, [newestOf(key)]);
    const logs = await inspect.call(this.#context.engine.native, "logs", { of: key });
    const exists = page!.checkpoints > 0 || logs.some(([, length]) => length > 0);
    const { onConflict = "fail", dryRun = false } = this.#options;
    if (exists && onConflict === "fail") {
      const message = `run ${quote(named.run)} of ${named.space} exists already: skip it or replace it with onConflict, or remove it first`;
      throw new ForkpointError("CONFLICT", message);
    }
    const stored = !dryRun && !(exists && onConflict === "skip");
    if (exists && onConflict === "skip") this.#report.skipped += 1;
    if (exists && stored)
      await inspect.call(this.#context.engine.native, "remove", { of: key, ids: undefined, reopen: [] });
    const hash = createHash("sha256").update(line).update("\n");
    this.#current = { key, stored, begins: true, hash, checkpoints: 0, writes: 0, parts: new Map() };
  }

  async #step(current: Current, step: Omit<Restore, "begins">, buffers: Uint8Array[]): Promise<void> {
    if (!current.stored) return;
    const begins = current.begins && step.checkpoint !== null;
    await inspect.call(this.#context.engine.native, "restore", { of: current.key, step: { ...step, begins } }, buffers);
    if (begins) current.begins = false;
  }

  async #checkpoint(current: Current, checkpoint: ExportedCheckpoint): Promise<void> {
    const { id, parent, group, label, rank, savedAt, ageOffset, dependsOnParent, exempt, logs } = checkpoint;
    const known = new Map<string, Uint8Array>();
    const parts = checkpoint.parts.map((part) => {
      const name = JSON.stringify([part.name, part.tag]);
      const bytes = "same" in part ? current.parts.get(part.same)?.get(name) : this.#bytes(part);
      if (bytes === undefined) throw torn(`line ${this.#line} shares a part with a checkpoint that is not there`);
      known.set(name, bytes);
      return { name: part.name, tag: part.tag, bytes };
    });
    current.parts.set(id, known);
    const stored = { id, parent, group, label, rank, savedAt, ageOffset, dependsOnParent, exempt, logs };
    const named = parts.map(({ name, tag }) => ({ name, tag }));
    const buffers = [this.#bytes(checkpoint.meta), ...parts.map(({ bytes }) => bytes)];
    await this.#step(current, { log: null, checkpoint: { stored, parts: named }, writes: [] }, buffers);
    current.checkpoints += 1;
    this.#options.onProgress?.(this.#progress(current));
  }

  #progress({ checkpoints, writes }: Current) {
    const { runs, checkpoints: before, writes: written } = this.#report;
    return { runs, checkpoints: before + checkpoints, writes: written + writes };
  }

  async #write(
    current: Current,
    { checkpoint, task, index, name, owner, tag, ...value }: ExportedWrite,
  ): Promise<void> {
    // Earlier versions wrote the lowest integer of 64 bits as a number. A double holds this integer, and rounds its digits.
    const slot = Number.isInteger(index) ? BigInt(index).toString() : index;
    const write = { checkpoint, write: { task, index: slot, owner }, part: { name, tag } };
    await this.#step(current, { log: null, checkpoint: null, writes: [write] }, [this.#bytes(value)]);
    current.writes += 1;
  }

  async #log(current: Current, { name, from, records }: ExportedLog): Promise<void> {
    const log = { name, length: from, records: records.map(({ key, tag }): [string | null, string] => [key, tag]) };
    await this.#step(
      current,
      { log, checkpoint: null, writes: [] },
      records.map((record) => this.#bytes(record)),
    );
  }

  #bytes(value: Bytes | { same: string }): Uint8Array {
    if ("text" in value && typeof value.text === "string") return Buffer.from(value.text);
    if ("base64" in value && typeof value.base64 === "string") return Buffer.from(value.base64, "base64");
    throw torn(`line ${this.#line} has a value without bytes`);
  }

  async #endRun(current: Current, end: { checkpoints: number; writes: number; sha256: string }): Promise<void> {
    const { checkpoints, writes, hash } = current;
    if (end.checkpoints !== checkpoints || end.writes !== writes || end.sha256 !== hash.digest("hex")) {
      throw torn(`run ${quote(current.key.run)} does not match its checksum`);
    }
    if (current.stored) await this.#verify(current);
    if (current.stored || this.#options.dryRun === true) {
      this.#report.runs += 1;
      this.#report.checkpoints += checkpoints;
      this.#report.writes += writes;
    }
    this.#current = undefined;
  }

  /** Reads back what was stored. */
  async #verify({ key, parts }: Current): Promise<void> {
    for (const [id, expected] of parts) {
      const found = await inspect.find(this.#context.engine.native, "stored", { of: key, id }, openStored);
      const same = found?.parts.every(({ name, tag, bytes }) => {
        const known = expected.get(JSON.stringify([name, tag]));
        return known !== undefined && Buffer.compare(known, bytes) === 0;
      });
      if (same !== true) throw torn(`checkpoint ${quote(id)} was not stored as it was read`);
    }
  }

  #end(done: Partial<ImportReport>): void {
    if (this.#current !== undefined) throw torn("its last run has no end");
    if (typeof done !== "object" || done === null || typeof done.runs !== "number")
      throw torn("its last line is damaged");
    this.#done = true;
  }

  finish(): ImportReport {
    if (!this.#begun) throw torn("it is empty");
    if (!this.#done) throw torn("its last line is missing, so it is not whole");
    return this.#report;
  }

  /** Takes out the run that was being stored. */
  async undo(): Promise<void> {
    const current = this.#current;
    if (current === undefined || !current.stored) return;
    await inspect
      .call(this.#context.engine.native, "remove", { of: current.key, ids: undefined, reopen: [] })
      .catch(() => {});
  }
}
