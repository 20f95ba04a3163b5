/** The form of an import's request. Uses nothing of Node, because the page uses it. */

/**
 * The first line of the body: the files as JSON, in the order of their bytes. The path of a file in a folder begins
 * with the name of the folder.
 */
export type SentFiles = Array<{ name: string; size: number }>;

/** The maximum size of an import, in bytes, and the maximum number of files. */
export const MOST_IMPORTED = 2 ** 30;
export const MOST_FILES = 20_000;

/** The result of an import. */
export interface Imported {
  runs: number;
  checkpoints: number;
  effects: number;
  writes: number;
  /** Runs that the database has with different content. They were not changed. */
  skipped: number;
  verified: true;
}

/** Returns true for the route of imports, by its path below `/api/`. */
export const isImport = (path: string): boolean => path === "v1/import";
