/** Imports uploaded files: a database, or the folder of an export. */

import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, open, readdir, rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { once } from "node:events";
import { finished } from "node:stream/promises";
import { quote } from "../../ts/bridge/errors.js";
import { type Imported, MOST_FILES, MOST_IMPORTED, type SentFiles } from "./import-form.js";
import type { Query } from "./query.js";
import { Refusal, invalid } from "./refusal.js";
import type { Inspector } from "../../ts/inspect/inspector.js";

/** The maximum length of the line with the files' names, in bytes. */
const MAX_HEAD = 4 * 2 ** 20;

/** The first bytes of a database, and the offset and value of the number that marks Forkpoint databases. */
const SQLITE = "SQLite format 3\0";
const APPLICATION_ID = { offset: 68, value: 0x466b7074 };

/** The file that marks a folder of text files. */
const JOURNAL = "order.jsonl";

/** Imports the body of a request, like `forkpoint import`. Keeps the files in a private folder until the end. */
export async function importRuns(inspector: Inspector, request: IncomingMessage, query: Query): Promise<Imported> {
  const onConflict = query.oneOf("onConflict", ["fail", "skip", "replace"]) ?? "fail";
  const folder = await mkdtemp(join(tmpdir(), "forkpoint-import-"));
  try {
    const names = await receive(request, folder);
    const { lineages, checkpoints, effects, writes, skipped } = await inspector.importFrom(
      await targetOf(folder, names),
      {
        onConflict,
      },
    );
    return { runs: lineages, checkpoints, effects, writes, skipped, verified: true };
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Writes the files of a body into a folder. Returns their names. */
async function receive(request: IncomingMessage, folder: string): Promise<string[]> {
  const body = new Body(request);
  const files = filesOf(await body.line());
  for (const { name, size } of files) {
    const path = join(folder, name);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    const file = createWriteStream(path, { flags: "wx", mode: 0o600 });
    for await (const chunk of body.take(size)) if (!file.write(chunk)) await once(file, "drain");
    file.end();
    await finished(file);
  }
  return files.map(({ name }) => name);
}

/** Reads a body in pieces. */
class Body {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(request: IncomingMessage) {
    this.#chunks = (request as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  }

  async #next(): Promise<Buffer> {
    if (this.#rest.length > 0) {
      const rest = this.#rest;
      this.#rest = Buffer.alloc(0);
      return rest;
    }
    const { done, value } = await this.#chunks.next();
    if (done === true) throw invalid("the body ends before the last file");
    return value;
  }

  async line(): Promise<string> {
    let head = Buffer.alloc(0);
    for (;;) {
      head = Buffer.concat([head, await this.#next()]);
      const end = head.indexOf(10);
      if (end === -1 && head.length <= MAX_HEAD) continue;
      if (end === -1 || end > MAX_HEAD) throw invalid("the body must begin with a line that names the files");
      this.#rest = head.subarray(end + 1);
      return head.toString("utf8", 0, end);
    }
  }

  async *take(size: number): AsyncGenerator<Buffer> {
    for (let left = size; left > 0;) {
      const chunk = await this.#next();
      const part = chunk.subarray(0, left);
      this.#rest = chunk.subarray(part.length);
      left -= part.length;
      yield part;
    }
  }
}

/** Reads the line with the names and sizes of the files. A name cannot lead out of the folder. */
function filesOf(line: string): SentFiles {
  let list: unknown;
  try {
    list = JSON.parse(line);
  } catch {
    list = undefined;
  }
  if (!Array.isArray(list) || list.length === 0) throw invalid("the body must begin with a list of files");
  if (list.length > MOST_FILES)
    throw invalid(`these are ${list.length} files, more than ${MOST_FILES}: use forkpoint import`);
  const seen = new Set<string>();
  let total = 0;
  for (const each of list as Array<Partial<SentFiles[number]> | null>) {
    const { name, size } = each ?? {};
    if (typeof name !== "string" || !isInside(name) || seen.has(name.toLowerCase())) {
      throw invalid(`the name of a file is wrong: ${quote(String(name))}`);
    }
    seen.add(name.toLowerCase());
    if (!Number.isSafeInteger(size) || size! < 0) throw invalid(`the size of ${quote(name)} is wrong`);
    total += size!;
  }
  if (total <= MOST_IMPORTED) return list as SentFiles;
  const message = `the files have more than ${MOST_IMPORTED / 2 ** 30} GiB: use forkpoint import`;
  throw new Refusal(413, "TOO_LARGE", message, { Connection: "close" });
}

const isName = (part: string): boolean =>
  part !== "" && part !== "." && part !== ".." && Buffer.byteLength(part) <= 255;

/** Returns true for the relative path of a file, such as `runs/<framework>/run-1.jsonl`. */
function isInside(name: string): boolean {
  const parts = name.split("/");
  // oxlint-disable-next-line no-control-regex -- such characters are in no name of a file of Forkpoint
  return parts.length <= 8 && parts.every(isName) && !/[\\:\u0000-\u001f]/.test(name);
}

/** Returns the target of the files for `copyStore`. */
async function targetOf(folder: string, names: readonly string[]): Promise<string> {
  const journals = names.filter((name) => name === JOURNAL || name.endsWith(`/${JOURNAL}`));
  if (journals.length === 1) return `jsonl:${join(folder, dirname(journals[0]!))}`;
  if (journals.length > 1) throw invalid("these are several exports: import one folder at a time");
  const databases = names.filter((name) => !/-(?:wal|shm|journal)$/.test(name));
  if (databases.length !== 1) {
    throw invalid("choose one database, or the folder of an export, in which there is a file order.jsonl");
  }
  const path = join(folder, databases[0]!);
  if (await isDatabase(path)) return path;
  const isShown = /\.(?:html?|json)$/i.test(path);
  throw invalid(
    isShown
      ? "an HTML or JSON file only shows a run: import a database, or the folder that forkpoint export --out has made"
      : `${quote(databases[0]!)} is no database of Forkpoint`,
  );
}

async function isDatabase(path: string): Promise<boolean> {
  const file = await open(path);
  try {
    const head = Buffer.alloc(100);
    const { bytesRead } = await file.read(head, 0, head.length, 0);
    const isSqlite = bytesRead === head.length && head.toString("latin1", 0, SQLITE.length) === SQLITE;
    // If the first page of a database is still in its log, the file has no number yet.
    const hasLog = (await readdir(dirname(path))).some((name) => name.endsWith("-wal"));
    return isSqlite && (hasLog || head.readUInt32BE(APPLICATION_ID.offset) === APPLICATION_ID.value);
  } finally {
    await file.close();
  }
}
