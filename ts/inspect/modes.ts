/** Checks the permissions of a database's files. */

import { lstat, stat } from "node:fs/promises";
import { basename, dirname } from "node:path";
import type { Finding } from "../bridge/wire.js";

/** The permission bits with which the group or other users can read or write a file. */
const OTHERS_READ = 0o044;
const OTHERS_WRITE = 0o022;

/** The bits of a folder in which every user can replace files: world-writable and not sticky. */
const [ANYBODY_WRITES, STICKY] = [0o002, 0o1000];

/** The suffixes of SQLite's files beside a database. They hold the newest data. */
const BESIDE = ["-wal", "-shm", "-journal"];

interface Place {
  path: string;
  mode: number;
}

/** Returns the unsafe permissions of a database, its log and its folder. None on Windows, which has no modes. */
export async function modesOf(path: string): Promise<Finding[]> {
  if (process.platform === "win32") return [];
  const isFolder = (await stat(path)).isDirectory();
  const places = isFolder ? [path] : [path, ...BESIDE.map((end) => path + end)];
  const found = (await Promise.all(places.map(modeOf))).filter((place) => place !== undefined);
  const findings = opened(found, isFolder);
  const folder = isFolder ? undefined : await modeOf(dirname(path));
  if (folder !== undefined && (folder.mode & ANYBODY_WRITES) !== 0 && (folder.mode & STICKY) === 0) {
    const message = `every user can replace the database: the mode of its folder is ${shown(folder.mode)}`;
    findings.push(finding("warning", message, `Run: chmod go-w ${quoted(folder.path)}`));
  }
  return findings;
}

/** Returns a finding if others can write to one of the places or, failing that, can read one. */
function opened(places: Place[], isFolder: boolean): Finding[] {
  const closed = isFolder ? "chmod 700" : "chmod 600";
  const remedy = (of: Place[]) => `${closed} ${of.map((place) => quoted(place.path)).join(" ")}`;
  const withBits = (bits: number) => places.filter(({ mode }) => (mode & bits) !== 0);
  const [changed, read] = [withBits(OTHERS_WRITE), withBits(OTHERS_READ)];
  // A place that others can write, they should not read either.
  const all = places.filter(({ mode }) => (mode & (OTHERS_WRITE | OTHERS_READ)) !== 0);
  if (changed.length > 0) {
    return [finding("warning", `other users can change ${named(changed, places)}`, `Run: ${remedy(all)}`)];
  }
  if (read.length === 0) return [];
  const message = `other users can read ${named(read, places)}`;
  return [finding("note", message, `If states are private, run: ${remedy(read)}`)];
}

function named([first]: Place[], [database]: Place[]): string {
  const { path, mode } = first!;
  return `${path === database!.path ? "the database" : basename(path)}: its mode is ${shown(mode)}`;
}

function finding(severity: Finding["severity"], message: string, remedy: string): Finding {
  return { code: "MODE", severity, message, remedy, ref: null };
}

async function modeOf(path: string): Promise<Place | undefined> {
  try {
    return { path, mode: (await lstat(path)).mode };
  } catch {
    // The log exists only while the database is in use.
    return undefined;
  }
}

const shown = (mode: number): string => (mode & 0o7777).toString(8).padStart(4, "0");

/** Quotes a path for a shell. */
function quoted(path: string): string {
  return /^[\w@%+=:,./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
}
