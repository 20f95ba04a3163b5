/** Finds the database of a command: `--db`, `FORKPOINT_URL`, or the only database in the working directory. */

import { closeSync, existsSync, openSync, readSync, readdirSync, realpathSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { ForkpointError, quote } from "../../ts/bridge/errors.js";
import { UsageError } from "./errors.js";
import { learnSecrets, redact } from "./secrets.js";

/** A database, as named by the user. */
export interface Database {
  /** The target for the inspector and `openStore`. */
  target: string;
  /** The path or URL, without a password, for messages. */
  shown: string;
  /** True if neither a flag nor the environment names the database. */
  guessed: boolean;
}

/** The size of SQLite's header in bytes, and the offset and value of the number that marks Forkpoint databases. */
const HEADER_BYTES = 100;
const APPLICATION_ID = { offset: 68, value: 0x466b7074 };

/** The journal of a folder of text files, and its first characters. */
const JOURNAL = "order.jsonl";
const JOURNAL_BEGIN = '{"forkpoint":"jsonl"';

export function chooseDatabase(given: string | undefined): Database {
  if (given === "") throw new UsageError("--db is empty: pass the path or URL of a database");
  const named = given ?? process.env["FORKPOINT_URL"] ?? "";
  if (named !== "") return databaseAt(named);
  const found = databasesIn(process.cwd());
  if (found.length === 1) return { target: found[0]!.target, shown: found[0]!.name, guessed: true };
  const how = "pass --db <path or url>, or set FORKPOINT_URL";
  if (found.length === 0) throw new UsageError(`there is no database in this directory: ${how}`);
  const names = found.map(({ name }) => `\n${quote(name)}`).join("");
  throw new UsageError(`there are ${found.length} databases in this directory: ${how}${names}`);
}

export function databaseAt(named: string): Database {
  learnSecrets(named);
  if (/^memory:/i.test(named)) {
    throw new UsageError('"memory:" is a new, empty store in this process: pass the path or URL of a database');
  }
  const folder = !hasScheme(named) && (isFolderOfText(named) || wasFolderOfText(named));
  return { target: folder ? `jsonl:${resolve(named)}` : named, shown: redact(named), guessed: false };
}

/** Throws `NOT_FOUND` if nothing exists at the path of a target. Commands that write must not create a database. */
export function refuseMissing(database: Database): void {
  if (!isMissing(database)) return;
  throw new ForkpointError("NOT_FOUND", `there is no database at ${quote(database.shown)}: check the path`);
}

/** Returns true if nothing exists at the path of a target. Always false for a server. */
export function isMissing({ target }: Database): boolean {
  const path = pathOf(target);
  return path !== null && !existsSync(path);
}

/** Returns true if two targets name the same file, folder or URL. */
export function samePlace(one: Database, other: Database): boolean {
  const [a, b] = [pathOf(one.target), pathOf(other.target)];
  if (a === null || b === null) return one.target === other.target;
  return realPath(a) === realPath(b);
}

/** Resolves links. If nothing exists at the path, only makes it absolute. */
function realPath(path: string): string {
  return existsSync(path) ? realpathSync(path) : resolve(path);
}

/** Returns the path of a target. Null for a server, and for a target that no store accepts. */
function pathOf(target: string): string | null {
  if (/^file:/i.test(target)) {
    try {
      return fileURLToPath(target);
    } catch {
      // The store reports the error in the URL.
      return null;
    }
  }
  const path = target.replace(/^(?:sqlite|jsonl):(?:\/\/)?/, "");
  return path === target && hasScheme(target) ? null : path;
}

/** A single letter before the colon is a Windows drive. */
export function hasScheme(target: string): boolean {
  return /^[a-z][a-z0-9+.-]+:/i.test(target);
}

function databasesIn(folder: string): Array<{ name: string; target: string }> {
  const found = [];
  for (const name of readdirSync(folder).toSorted()) {
    const path = join(folder, name);
    if (isSqlite(path)) found.push({ name, target: path });
    else if (isFolderOfText(path)) found.push({ name, target: `jsonl:${path}` });
  }
  return found;
}

/** Returns true for a SQLite file of Forkpoint. Opens regular files only: opening a pipe would block. */
function isSqlite(path: string): boolean {
  return ignoring(() => {
    if (!statSync(path).isFile()) return false;
    const header = beginOf(path, HEADER_BYTES);
    if (header.length < HEADER_BYTES || header.toString("latin1", 0, 16) !== "SQLite format 3\0") return false;
    return isOurs(header) || isOursInLog(path);
  });
}

function isOurs(page: Buffer): boolean {
  return page.readUInt32BE(APPLICATION_ID.offset) === APPLICATION_ID.value;
}

/**
 * Searches the first page of a database in its write-ahead log. The main file of a new database has no marker until
 * SQLite checkpoints the log, possibly only when a program closes the database.
 */
function isOursInLog(path: string): boolean {
  const [head, frames] = [32, 256];
  const begin = beginOf(`${path}-wal`, head);
  if (begin.length < head) return false;
  const pageBytes = begin.readUInt32BE(8);
  const frameBytes = 24 + pageBytes;
  const log = beginOf(`${path}-wal`, head + frames * frameBytes);
  for (let at = head; at + frameBytes <= log.length; at += frameBytes) {
    if (log.readUInt32BE(at) === 1 && isOurs(log.subarray(at + 24))) return true;
  }
  return false;
}

/** Returns true if an argument is the URL of a database, or the path of an existing one. */
export function isDatabase(word: string): boolean {
  if (/^(?:jsonl|sqlite|postgres(?:ql)?):/i.test(word)) return true;
  return isSqlite(word) || isFolderOfText(word);
}

function isFolderOfText(path: string): boolean {
  return ignoring(() => {
    if (!statSync(path).isDirectory() || !statSync(join(path, JOURNAL)).isFile()) return false;
    return beginOf(join(path, JOURNAL), JOURNAL_BEGIN.length).toString("latin1") === JOURNAL_BEGIN;
  });
}

/** Returns true for a folder of text files that has lost its journal. The store reports this error. */
function wasFolderOfText(path: string): boolean {
  return (
    ["forkpoint.lock", `${JOURNAL}.old`].some((name) => existsSync(join(path, name))) &&
    !existsSync(join(path, JOURNAL))
  );
}

/** Returns false for an unreadable path, because a command cannot open it either. */
function ignoring(look: () => boolean): boolean {
  try {
    return look();
  } catch {
    return false;
  }
}

function beginOf(path: string, bytes: number): Buffer {
  const file = openSync(path, "r");
  try {
    const begin = Buffer.alloc(bytes);
    return begin.subarray(0, readSync(file, begin, 0, bytes, 0));
  } finally {
    closeSync(file);
  }
}
