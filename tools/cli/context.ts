/** What every command gets: its output, its database, and the signal that asks it to stop. */

import { type Database, chooseDatabase, refuseMissing } from "./database.js";
import type { Output } from "./output.js";
import { loadSerializers } from "./serializers.js";
import { redact } from "./secrets.js";
import type { Inspector } from "../../ts/inspect/inspector.js";
import type { Store } from "../../ts/store/store.js";

export interface CommonOptions {
  db?: string;
  json?: boolean;
  color?: "auto" | "always" | "never";
  serializer?: string[];
}

export class Context {
  readonly output: Output;
  /** Aborts when the process is asked to end. */
  readonly signal: AbortSignal;
  /** What a command that is stopped has done so far, for the user. */
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

  /** Opens the database to look into it. With `write`, also to change it. Never creates it. Closes what was open. */
  async open({ write = false } = {}): Promise<Inspector> {
    const { database } = this;
    refuseMissing(database);
    // A process cannot have a database open to look into it, and again to change it.
    await this.close();
    return this.inspect(database.target, write);
  }

  /**
   * Opens the database to say what a command would change. The inspector takes the calls that write, if they are dry runs.
   * Below it is a store that cannot change anything.
   */
  async openForDryRun(): Promise<Inspector> {
    const { database } = this;
    refuseMissing(database);
    await this.close();
    const { openStore } = await import("../../ts/index.js");
    const store = await openStore(database.target, { readOnly: true });
    this.#opened.push(store);
    return this.inspect(store, true);
  }

  /** Opens any target. It is closed when the command ends. */
  async inspect(target: string | Store, write = false): Promise<Inspector> {
    // This loads the addon, so commands that open nothing do not load it.
    const { openInspector } = await import("../../ts/inspect/index.js");
    const serializers = await loadSerializers(this.#options.serializer ?? []);
    const inspector = await openInspector(target, { write, serializers });
    this.#opened.push(inspector);
    return inspector;
  }

  /** Writes a remark for the user. */
  note(text: string): void {
    this.output.note(this.output.noteStyle("dim", redact(text)));
  }

  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = [];
    for (const resource of opened.toReversed()) await resource[Symbol.asyncDispose]();
  }
}
