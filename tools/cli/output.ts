/**
 * Writes the output of a command. The answer goes to stdout. Notes, questions, progress and errors go to stderr.
 *
 * An answer is buffered until the command has succeeded, so that a failed command leaves stdout empty. Only streaming
 * commands write immediately.
 */

import { safeJson, safeJsonPieces, safeText } from "../../ts/bridge/json-form/json-text.js";
import { BrokenPipeError, type Shown } from "./errors.js";
import { Progress } from "./progress.js";
import { redact } from "./secrets.js";
import { type ColorMode, type Style, styleFor } from "./style.js";
import { wrapped } from "./wrap.js";

/** The buffered text is written when it reaches this many characters. */
const BATCH = 1 << 16;

export class Output {
  readonly json: boolean;
  /** The style of the answer. */
  readonly style: Style;
  /** The style of stderr. */
  readonly noteStyle: Style;
  /** Whether stderr can show a question and stdin can answer it. */
  readonly interactive: boolean;
  readonly progress: Progress;
  #kept: Array<string | { json: unknown }> = [];
  #batch = "";
  #notes: string[] = [];
  #hints: string[] = [];

  constructor(json: boolean, mode: ColorMode) {
    this.json = json;
    this.style = styleFor(process.stdout, json ? "never" : mode);
    this.noteStyle = styleFor(process.stderr, json ? "never" : mode);
    this.interactive = process.stdin.isTTY === true && process.stderr.isTTY === true;
    this.progress = new Progress(process.stderr, !json && process.stderr.isTTY === true, this.noteStyle);
  }

  /** The width of the terminal. Infinity if stdout is not a terminal and the environment has no `COLUMNS`. */
  get width(): number {
    return widthOf(process.stdout);
  }

  /** Buffers a line of the answer until the command succeeds. A line that is wider than the terminal is wrapped. */
  print(line: string): void {
    const most = this.width;
    for (const each of line.split("\n")) this.#kept.push(...wrapped(each, most));
  }

  /** Buffers the answer as one line of JSON. */
  printJson(value: unknown): void {
    this.#kept.push({ json: value });
  }

  /** Buffers the answer: with `--json` as JSON, else as lines. */
  answer(value: unknown, lines: () => readonly string[] | Generator<string>): void {
    if (this.json) this.printJson(value);
    else for (const line of lines()) this.print(line);
  }

  /** Writes a part of the answer. Parts are buffered, so that a long text takes few writes. */
  async stream(text: string): Promise<void> {
    this.#batch += text;
    if (this.#batch.length >= BATCH) await this.flush();
  }

  /** Writes the text so far, and waits for the reader. */
  async flush(): Promise<void> {
    this.#showNotes();
    let text = this.#batch;
    const kept = this.#kept;
    [this.#batch, this.#kept] = ["", []];
    const add = async (piece: string) => {
      text += piece;
      if (text.length < BATCH) return;
      await write(text);
      text = "";
    };
    for (const line of kept) {
      if (typeof line === "string") await add(`${line}\n`);
      else {
        // A large value is written in pieces, because its text can be several times as large.
        for (const piece of safeJsonPieces(line.json)) await add(piece);
        await add("\n");
      }
    }
    if (text !== "") await write(text);
  }

  /** Writes bytes of the answer as they are. */
  async raw(bytes: Uint8Array): Promise<void> {
    await this.flush();
    await write(bytes);
  }

  /**
   * Writes a line for the user to stderr. With `--json`, an error must be the only line there, so notes are buffered
   * until the command has succeeded.
   */
  note(text: string): void {
    this.#notes.push(redact(text));
    if (!this.json) this.#showNotes();
  }

  /** Buffers a line for stderr that follows the answer. Ignored with `--json`. */
  hint(text: string): void {
    if (!this.json) this.#hints.push(this.noteStyle("dim", redact(text)));
  }

  /** Writes the complete answer, then the hints. */
  async finish(): Promise<void> {
    await this.flush();
    this.#notes.push(...this.#hints);
    this.#showNotes();
  }

  #showNotes(): void {
    if (this.#notes.length === 0) return;
    this.progress.clear();
    const most = noteWidth();
    const lines = this.#notes.flatMap((note) => note.split("\n").flatMap((line) => wrapped(line, most)));
    process.stderr.write(lines.map((line) => `${line}\n`).join(""));
    this.#notes = [];
  }

  /** Writes an error to stderr. Drops the buffered answer. */
  fail(error: Shown): void {
    this.progress.clear();
    [this.#kept, this.#notes] = [[], []];
    const message = redact(error.message);
    if (this.json) {
      process.stderr.write(`${safeJson({ error: { ...error, message } })}\n`);
      return;
    }
    const [first = "", ...others] = message.split("\n").map(safeText);
    const lines = [`${this.noteStyle("red", "error:")} ${first}`, ...others.map((line) => `  ${line}`)];
    const most = noteWidth();
    process.stderr.write(`${lines.flatMap((line) => wrapped(line, most, "  ")).join("\n")}\n`);
  }
}

/** Returns the width of a terminal. For other streams, uses the environment, so that a pager can wrap lines. */
function widthOf({ isTTY, columns }: { isTTY?: boolean; columns?: number }): number {
  const named = Number(process.env["COLUMNS"]);
  const given = Number.isSafeInteger(named) && named > 0 ? named : undefined;
  return isTTY ? columns || given || 80 : (given ?? Number.POSITIVE_INFINITY);
}

/** Notes and errors are wrapped only in a terminal, because programs search their texts. */
function noteWidth(): number {
  return process.stderr.isTTY ? widthOf(process.stderr) : Number.POSITIVE_INFINITY;
}

/**
 * Writes to stdout, then lets the event loop turn. A pipe with a fast reader would take each write without a turn, and
 * signals are only handled in a turn.
 */
function write(text: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(text, (error) => {
      if (error == null) return void setImmediate(resolve);
      const { code } = error as NodeJS.ErrnoException;
      reject(code === "EPIPE" || code === "ERR_STREAM_DESTROYED" ? new BrokenPipeError() : error);
    });
  });
}

/** Each write reports its own errors. Without these handlers, an error would also end the process. */
export function ignoreStreamErrors(): void {
  process.stdout.on("error", () => {});
  process.stderr.on("error", () => {});
}
