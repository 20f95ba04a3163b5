/** The context of every command: its output, its database, and its stop signal. */

import { type Database, chooseDatabase, refuseMissing } from "./database.js";
import type { Output } from "./output.js";
import { pricesIn } from "./usage.js";
import { loadSerializers } from "./serializers.js";
import { redact } from "./secrets.js";
import type { Inspector } from "../../ts/inspect/inspector.js";
import type { Store } from "../../ts/store/store.js";

export interface CommonOptions {
  db?: string;
  json?: boolean;
  color?: "auto" | "always" | "never";
  serializer?: string[];
  maxPayloadBytes?: number;
  /** The file of `--prices`, for commands that have this flag. */
  prices?: string;
}

export class Context {
  readonly output: Output;
  /** Aborts when the process is asked to end. */
  readonly signal: AbortSignal;
  /** A report of finished work, shown if the command is stopped. */
  done: string | undefined;
  readonly #options: CommonOptions;
  #database: Database | undefined;
  #opened: AsyncDisposable[] = [];

  constructor(options: CommonOptions, output: Output, signal: AbortSignal) {
    this.#options = options;
    this.output = output;
    this.signal = signal;
  }

  get database(): Database {
    if (this.#database === undefined) {
      this.#database = chooseDatabase(this.#options.db);
      const { guessed, shown } = this.#database;
      if (guessed) this.note(`using ${JSON.stringify(shown)}`);
    }
    return this.#database;
  }

  /** The options of a read-only store. */
  get reading(): { readOnly: true; maxPayloadBytes?: number } {
    const { maxPayloadBytes } = this.#options;
    return { readOnly: true, ...(maxPayloadBytes !== undefined && { maxPayloadBytes }) };
  }

  /** Opens the database, read-only or with `write`. Never creates it. Closes the previously opened one. */
  async open({ write = false } = {}): Promise<Inspector> {
    const { database } = this;
    refuseMissing(database);
    // A process cannot have a database open read-only and for writing at the same time.
    await this.close();
    return this.inspect(database.target, write);
  }

  /**
   * Opens the database to show what a command would change. The inspector accepts dry runs of writing calls. The store
   * is read-only.
   */
  async openForDryRun(): Promise<Inspector> {
    const { database } = this;
    refuseMissing(database);
    await this.close();
    const { openStore } = await import("../../ts/index.js");
    const store = await openStore(database.target, this.reading);
    this.#opened.push(store);
    return this.inspect(store, true);
  }

  /** Opens any target, and closes it when the command ends. */
  async inspect(target: string | Store, write = false): Promise<Inspector> {
    // This loads the addon. Commands without a store never get here.
    const { openInspector } = await import("../../ts/inspect/index.js");
    const serializers = await loadSerializers(this.#options.serializer ?? []);
    const { maxPayloadBytes, prices: file } = this.#options;
    const prices = file === undefined ? undefined : await pricesIn(file);
    const inspector = await openInspector(target, { write, serializers, maxPayloadBytes, prices });
    this.#opened.push(inspector);
    return inspector;
  }

  /** Writes a note for the user. */
  note(text: string): void {
    this.output.note(this.output.noteStyle("dim", redact(text)));
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = [];
    for (const resource of opened.toReversed()) await resource[Symbol.asyncDispose]();
  }
}
