/** Writes a run to one HTML file that shows it without Forkpoint: `forkpoint export <run> --html <file>`. */

import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { resolve } from "node:path";
import { ForkpointError, messageOf, quote } from "../../ts/bridge/errors.js";
import { safeText } from "../../ts/bridge/json-form/json-text.js";
import type { Context } from "./context.js";
import { UsageError, describe } from "./errors.js";
import { findRun, refOf } from "./find.js";
import type { ChoiceOptions } from "./moving.js";
import { plural, size } from "./units.js";
import type { TakenFile } from "../studio/take.js";

export interface HtmlOptions {
  html?: string;
  last?: number;
  leaveOut?: string[];
}

export async function exportHtml(
  context: Context,
  { html = "", last, leaveOut = [], since, ...where }: HtmlOptions & ChoiceOptions,
  ids: ReadonlyArray<string | undefined>,
): Promise<void> {
  const { output, signal } = context;
  const [id, ...more] = ids;
  if (html === "") throw new UsageError("--html: expected the path of a file");
  if (id === undefined || more.length > 0)
    throw new UsageError("--html takes one run: forkpoint export <run> --html <file>");
  if (since !== undefined) throw new UsageError("--since needs --out");
  const path = resolve(html);
  const inspector = await context.open();
  const ref = refOf(await findRun(context, inspector, id, where));
  const { take } = await import("../studio/take.js");
  const onProgress = (done: number, of: number) => output.progress.show("reading", done, of);
  const options = { format: "html", last, leaveOut, signal, onProgress } as const;
  const file = await take(inspector, ref, options).catch((error: unknown) => {
    const { code, message } = describe(error);
    throw code === "INVALID_ARGUMENT" && leaveOut.length > 0 ? new UsageError(`--leave-out: ${message}`) : error;
  });
  output.progress.clear();
  const bytes = write(path, file);
  const { checkpoints, damaged, leftOut } = file;
  for (const [pattern, count] of Object.entries(leftOut)) {
    if (count === 0)
      context.note(`nothing matches --leave-out ${safeText(pattern)}: look at the file before you share it`);
  }
  if (damaged > 0) context.note(`${plural(damaged, "checkpoint")} could not be read: run forkpoint verify`);
  const what = `${plural(checkpoints, "checkpoint")}, ${size(bytes)}${leftOutText(leftOut)}`;
  const answer = { path, checkpoints, bytes, damaged, leftOut };
  output.answer(answer, () => [`${output.style("green", "✓")} wrote ${safeText(path)}: ${what}`]);
}

function leftOutText(leftOut: Record<string, number>): string {
  const total = Object.values(leftOut).reduce((sum, count) => sum + count, 0);
  return Object.keys(leftOut).length === 0 ? "" : `; ${plural(total, "value")} left out`;
}

/** Writes a new file that only its owner can read. Never replaces a file. Returns the size in bytes. */
function write(path: string, { pieces }: TakenFile): number {
  let file: number;
  try {
    file = openSync(path, "wx", 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") {
      throw new ForkpointError("CONFLICT", `${quote(path)} exists already and is not overwritten: pass another path`);
    }
    const isMissing = code === "ENOENT" || code === "ENOTDIR";
    const why = isMissing ? "its folder does not exist" : messageOf(error);
    const message = `cannot create ${quote(path)}: ${why}`;
    throw new ForkpointError(isMissing ? "NOT_FOUND" : "UNAVAILABLE", message, { cause: error });
  }
  let bytes = 0;
  let isWritten = false;
  try {
    for (const piece of batches(pieces)) {
      const chunk = Buffer.from(piece);
      for (let at = 0; at < chunk.length;) at += writeSync(file, chunk, at);
      bytes += chunk.length;
    }
    isWritten = true;
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code === "ENOSPC" ? "FULL" : "UNAVAILABLE";
    throw new ForkpointError(code, `cannot write ${quote(path)}: ${messageOf(error)}`, { cause: error });
  } finally {
    closeSync(file);
    // A partial file would show nothing.
    if (!isWritten) rmSync(path, { force: true });
  }
  return bytes;
}

function* batches(pieces: Iterable<string>): Generator<string> {
  let batch = "";
  for (const piece of pieces) {
    batch += piece;
    if (batch.length < 2 ** 20) continue;
    yield batch;
    batch = "";
  }
  yield batch;
}
