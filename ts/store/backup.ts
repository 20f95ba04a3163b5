/** Backs up a database while it is in use. */

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

/** How far {@link Store.backup} is. */
export interface BackupProgress {
  /** `"copying"`: `done` and `of` count bytes. `"verifying"`: the copy is read, and they count rows. */
  phase: "copying" | "verifying";
  /** The bytes or rows that are done in this phase. */
  done: number;
  /** All bytes or rows of this phase. */
  of: number;
}

/** What {@link Store.backup} has made. */
export interface BackupResult {
  /** The absolute path of the backup. */
  path: string;
  /** The size of the backup in bytes. */
  bytes: number;
  /** The number of checkpoints in the backup. */
  checkpoints: number;
  /** Every page, checksum and index of the backup was verified. */
  verified: true;
}

/** The time in ms between two reads of the progress. */
const INTERVAL = 50;

const backupOptions = { overwrite: flag, ...stepOptions };

/** Copies the database into a file and verifies the copy. The work is done on Node's thread pool. */
export async function backup(
  { native, activity }: Engine,
  to: unknown,
  options: unknown,
  closing: () => boolean,
): Promise<BackupResult> {
  const path = pathOf(to, "path");
  const { overwrite = false, signal, onProgress } = readRecord(options, "options", backupOptions) as BackupOptions;
  signal?.throwIfAborted();
  if (closing()) throw new ForkpointError("CLOSED", "the store is closed: open a new one to continue");
  const work = new Backup(native, path, overwrite);
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
      if (closing()) throw new ForkpointError("CLOSED", "the store was closed before the backup ended");
      report();
    } catch (reason) {
      thrown = { reason };
      work.cancel();
    }
  };
  const timer = setInterval(look, INTERVAL);
  activity.begin();
  try {
    const result = parse(await work.run()) as BackupResult;
    report();
    return result;
  } catch (error) {
    tellFailure(error, subjectOf(native, "backup", {}));
    throw thrown === undefined ? error : thrown.reason;
  } finally {
    clearInterval(timer);
    activity.end();
  }
}
