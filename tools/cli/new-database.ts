/** Creates and removes the file of a new database. Never touches an existing file. */

import { closeSync, lstatSync, openSync, rmSync } from "node:fs";
import { parse } from "node:path";
import { ForkpointError, messageOf, quote } from "../../ts/bridge/errors.js";
import { hasScheme } from "./database.js";
import { UsageError } from "./errors.js";

/** The suffixes of a database file and of the files beside it. */
const ENDS = ["", "-wal", "-shm", "-journal", "-new", "-reserve"];

/** The maximum number of tried names. */
const NAMES = 1000;

/** Creates an empty file at a path from the user. Throws `CONFLICT` if the file exists. */
export function createAt(path: string): string {
  if (path === "" || hasScheme(path)) throw new UsageError("--out: expected the path of a file");
  const taken = ENDS.map((end) => path + end).find(isThere);
  if (taken === undefined && create(path)) return path;
  const how = "pass another path with --out";
  throw new ForkpointError("CONFLICT", `${quote(taken ?? path)} exists already and is not overwritten: ${how}`);
}

/** Creates an empty file in the working directory, under this name or the next free one: `agent-2.db`. */
export function createFree(named: string): string {
  const { name, ext } = parse(named);
  for (let n = 1; n <= NAMES; n++) {
    const path = n === 1 ? named : `${name}-${n}${ext}`;
    if (!ENDS.some((end) => isThere(path + end)) && create(path)) return path;
  }
  const how = "remove some of them, or pass a path with --out";
  throw new ForkpointError("CONFLICT", `there are ${NAMES} databases named like ${quote(named)}: ${how}`);
}

/** Removes a database that was created here. On Windows, leaves it if another process has it open. */
export function removeDatabase(path: string): void {
  for (const end of ENDS) {
    try {
      // Windows locks a file for a moment after its process was killed.
      rmSync(path + end, { force: true, maxRetries: 10, retryDelay: 50 });
    } catch {
      // The next demo uses another name.
    }
  }
}

/** Also true for a broken link. */
function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Returns false if another process has just created the file. */
function create(path: string): boolean {
  try {
    closeSync(openSync(path, "wx", 0o600));
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST") return false;
    throw refusal(path, code, error);
  }
}

function refusal(path: string, code: string | undefined, cause: unknown): ForkpointError {
  const where = "pass a path in another folder with --out";
  if (code === "ENOENT" || code === "ENOTDIR") {
    return new ForkpointError("NOT_FOUND", `the folder of ${quote(path)} does not exist: create it, or ${where}`);
  }
  const isDenied = code === "EACCES" || code === "EPERM" || code === "EROFS";
  const why = isDenied ? "its folder is not writable" : messageOf(cause);
  const message = `cannot create ${quote(path)}, because ${why}: ${where}`;
  return new ForkpointError(code === "ENOSPC" ? "FULL" : "UNAVAILABLE", message, { cause, retryable: false });
}
