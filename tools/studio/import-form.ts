/** How files are sent to the studio for an import. The page uses this, so the module uses nothing of Node. */

/**
 * The beginning of the body: a line of JSON with the files, in the order in which their bytes follow. The path of a file in a folder
 * begins with the name of the folder.
 */
export type SentFiles = Array<{ name: string; size: number }>;

/** The largest import, in bytes, and the most files. */
export const MOST_IMPORTED = 2 ** 30;
export const MOST_FILES = 20_000;

/** What an import has done. */
export interface Imported {
  runs: number;
  checkpoints: number;
  effects: number;
  writes: number;
  /** Runs that the database already had, with another content. They stayed as they were. */
  skipped: number;
  verified: true;
}

/** Returns true for the route of imports, by its path below `/api/`. */
export const isImport = (path: string): boolean => path === "v1/import";
