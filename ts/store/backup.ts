/** Backs up a database while it is in use, and restores it. */

import { tellFailure } from "../bridge/channels.js";
import type { Engine } from "./engine.js";
import { ForkpointError } from "../bridge/errors.js";
import { Backup } from "../bridge/native.js";
import { flag, pathOf, readRecord } from "./options.js";
import { stepOptions } from "./retention.js";
import { parse, subjectOf } from "../bridge/wire.js";

/**
 * Options of {@link Store.backup}.
 * @example
 * ```ts
 * import { openStore } from "forkpoint";
 *
 * await using store = await openStore("agent.db");
 * await store.backup("agent-backup.db", {
 *   overwrite: true,
 *   onProgress: ({ phase, done, of }) => console.log(phase, done / of),
 * });
 * ```
 */
export interface BackupOptions {
  /** Whether a file at the path is replaced. It is replaced only after the backup was verified. Default: false. */
  overwrite?: boolean;
  /** Ends the backup. `backup` then rejects with the signal's reason, and leaves no file. */
  signal?: AbortSignal;
  /** Is called a few times a second, and at the end. */
  onProgress?: (progress: BackupProgress) => void;
}

/** The progress of {@link Store.backup} or {@link Store.restore}. */
export interface BackupProgress {
  /** `"copying"`: `done` and `of` count bytes. `"verifying"`: the backup is read, and `done` and `of` count rows. */
  phase: "copying" | "verifying";
  /** The number of bytes or rows done in this phase. */
  done: number;
  /** The number of all bytes or rows of this phase. */
  of: number;
}

/** The result of {@link Store.backup}. */
export interface BackupResult {
  /** The absolute path of the backup. */
  path: string;
  /** The size of the backup in bytes. */
  bytes: number;
  /** The number of checkpoints in the backup, including the effects of runs. */
  checkpoints: number;
  /** Every page, checksum and index of the backup was verified. */
  verified: true;
}

/**
 * Options of {@link Store.restore}.
 * @example
 * ```ts
 * import { openStore } from "forkpoint";
 *
 * await using store = await openStore("agent.db");
 * await store.restore("agent-backup.db", {
 *   onProgress: ({ phase, done, of }) => console.log(phase, done / of),
 * });
 * ```
 */
export interface RestoreOptions {
  /** Ends the restore. `restore` then rejects with the signal's reason, and changes nothing. */
  signal?: AbortSignal;
  /** Is called a few times a second, and at the end. */
  onProgress?: (progress: BackupProgress) => void;
}

/** The result of {@link Store.restore}. */
export interface RestoreResult {
  /** The absolute path of the database. */
  path: string;
  /** The size of the database in bytes. */
  bytes: number;
  /** The number of restored checkpoints, including the effects of runs. */
  checkpoints: number;
}

/** The time in ms between two reads of the progress. */
const INTERVAL = 50;

const backupOptions = { overwrite: flag, ...stepOptions };

const restoreOptions = { ...stepOptions };

/** Copies the database into a file and verifies the copy. */
export function backup(engine: Engine, to: unknown, options: unknown, closing: () => boolean): Promise<BackupResult> {
  return work(engine, "backup", closing, () => {
    const path = pathOf(to, "path");
    const { overwrite = false, ...steps } = readRecord(options, "options", backupOptions) as BackupOptions;
    return { steps, start: () => Backup.to(path, engine.native, overwrite) };
  });
}

/** Replaces the content of the database with a backup. */
export function restore(
  engine: Engine,
  from: unknown,
  options: unknown,
  closing: () => boolean,
): Promise<RestoreResult> {
  return work(engine, "restore", closing, () => {
    const path = pathOf(from, "path");
    const steps = readRecord(options, "options", restoreOptions) as RestoreOptions;
    return { steps, start: () => Backup.restore(path, engine.native) };
  });
}

/** Does the work on Node's thread pool, and reports its progress. */
async function work<Result>(
  { native, activity }: Engine,
  operation: "backup" | "restore",
  closing: () => boolean,
  read: () => { steps: RestoreOptions; start: () => Backup },
): Promise<Result> {
  const { steps, start } = read();
  const { signal, onProgress } = steps;
  signal?.throwIfAborted();
  if (closing()) throw new ForkpointError("CLOSED", "the store is closed: open a new one to continue");
  const work = start();
  let last: string | null = null;
  let thrown: { reason: unknown } | undefined;
  const report = () => {
    const progress = work.progress();
    if (progress === null || progress === last) return;
    last = progress;
    onProgress?.(parse(progress) as BackupProgress);
  };
  const look = () => {
    if (thrown !== undefined) return;
    try {
      signal?.throwIfAborted();
      if (closing()) throw new ForkpointError("CLOSED", `the store was closed before the ${operation} ended`);
      report();
    } catch (reason) {
      thrown = { reason };
      work.cancel();
    }
  };
  const timer = setInterval(look, INTERVAL);
  activity.begin();
  try {
    const result = parse(await work.run()) as Result;
    report();
    return result;
  } catch (error) {
    tellFailure(error, subjectOf(native, operation, {}));
    throw thrown === undefined ? error : thrown.reason;
  } finally {
    clearInterval(timer);
    activity.end();
  }
}
