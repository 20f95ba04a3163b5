/** `forkpoint export`: writes runs as JSON Lines. */

import { createHash } from "node:crypto";
import { type FileHandle, open, stat, unlink } from "node:fs/promises";
import { resolve } from "node:path";
import { createReadStream } from "node:fs";
import { ForkpointError, quote } from "../../../ts/bridge/errors.js";
import { safeText } from "../../../ts/bridge/json-form/json-text.js";
import { command, parsed, runsArgument, spaceOption } from "../command.js";
import { compressedFor } from "../compression.js";
import type { Context } from "../context.js";
import { type RunOptions, findRun, refOf } from "../find.js";
import { number, parseDuration, plural, size } from "../units.js";

interface Options extends RunOptions {
  out?: string;
  since?: number;
  values: boolean;
}

/** What an export holds: its last line. */
interface Done {
  runs: number;
  checkpoints: number;
  writes: number;
}

/** The size in characters from which lines are written. */
const BATCH = 1 << 20;

export const exportRuns = () =>
  command<Options>("export", "writes runs as JSON Lines, which `import` reads", run, "itself")
    .addArgument(runsArgument())
    .option("--out <file>", "writes a new file that only its owner can read; .zst compresses it (default: stdout)")
    .addOption(spaceOption())
    .option("--ns <ns>", "the namespace of the runs")
    .addOption(parsed("--since <duration>", "only runs that were active in this time: 90s, 15m, 2h, 7d", parseDuration))
    .option("--no-values", "leaves the states out; such a file cannot be imported");

async function run(context: Context, options: Options, ...ids: Array<string | undefined>): Promise<void> {
  const { out, since, values, space } = options;
  const inspector = await context.open();
  const named = ids.filter((id) => id !== undefined);
  const runs = [];
  for (const id of named) runs.push(refOf(await findRun(context, inspector, id, options)));
  const lines = inspector.export({
    ...(named.length > 0 ? { runs } : { space }),
    since: since === undefined ? undefined : Date.now() - since,
    values,
    signal: context.signal,
  });
  const { output } = context;
  const counted = counting(lines, context);
  if (out === undefined) {
    for await (const line of counted) await output.stream(`${line}\n`);
    return;
  }
  const written = await writeFile(resolve(out), counted);
  output.progress.clear();
  if (output.json) {
    output.printJson({ ...written.done, skipped: 0, verified: true, path: written.path, bytes: written.bytes });
    return;
  }
  const { runs: runCount, checkpoints, writes } = written.done;
  const what = [
    plural(runCount, "run"),
    plural(checkpoints, "checkpoint"),
    plural(writes, "write"),
    size(written.bytes),
  ];
  output.print(`${output.style("green", "✓ wrote")} ${safeText(written.path)}: ${what.join(", ")}`);
}

/** Yields lines, and says how many checkpoints have passed. */
async function* counting(lines: AsyncIterable<string>, context: Context): AsyncGenerator<string> {
  let checkpoints = 0;
  for await (const line of lines) {
    context.signal.throwIfAborted();
    if (line.startsWith('{"checkpoint":')) {
      checkpoints += 1;
      context.done = `${plural(checkpoints, "checkpoint")} were read, and the export is not complete`;
      context.output.progress.show(`${number(checkpoints)} checkpoints`);
    }
    yield line;
  }
}

/** Writes lines into a new file, and reads it again. A file that is not complete is removed. */
async function writeFile(path: string, lines: AsyncIterable<string>) {
  const file = await create(path);
  try {
    const { hash, done } = await writeLines(file, path, lines);
    await file.sync();
    await file.close();
    const { size: bytes } = await stat(path);
    if ((await hashOf(path)) !== hash) {
      throw new ForkpointError("CORRUPT", `${quote(path)} does not hold what was written to it: the device is damaged`);
    }
    return { path, bytes, done };
  } catch (error) {
    await file.close().catch(() => {});
    await unlink(path).catch(() => {});
    throw error;
  }
}

async function create(path: string): Promise<FileHandle> {
  try {
    return await open(path, "wx", 0o600);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw new ForkpointError("CONFLICT", `there is a file at ${quote(path)} already: give the path of a new file`);
  }
}

async function writeLines(
  file: FileHandle,
  path: string,
  lines: AsyncIterable<string>,
): Promise<{ hash: string; done: Done }> {
  const hash = createHash("sha256");
  const last = { line: "" };
  for await (const bytes of compressedFor(path, inBatches(lines, last))) {
    hash.update(bytes);
    await file.writeFile(bytes);
  }
  const { done } = JSON.parse(last.line) as { done: Done };
  return { hash: hash.digest("hex"), done };
}

/** Joins lines to larger pieces. Sets `last` to the last line. */
async function* inBatches(lines: AsyncIterable<string>, last: { line: string }): AsyncGenerator<Buffer> {
  let batch = "";
  for await (const line of lines) {
    last.line = line;
    batch += `${line}\n`;
    if (batch.length < BATCH) continue;
    yield Buffer.from(batch);
    batch = "";
  }
  yield Buffer.from(batch);
}

async function hashOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const bytes of createReadStream(path)) hash.update(bytes as Buffer);
  return hash.digest("hex");
}
