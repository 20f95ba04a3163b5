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
  /** What is done. */
  done: number;
  /** What there is to do in this phase. */
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
