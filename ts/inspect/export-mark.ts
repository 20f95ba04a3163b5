/**
 * The mark of an export. A copy to an empty folder of text files notes its beginning there, and at its end the last
 * commit of the complete folder. The mark tells incomplete folders from complete ones. A store in use has none.
 */

import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { ForkpointError, quote } from "../bridge/errors.js";
import { type Store, engineOf } from "../store/store.js";

const FILE = "export.json";

interface Content {
  forkpoint: "export";
  complete: boolean;
  /** The number of the last commit in `order.jsonl`. */
  commit: number;
}

/** The mark of a folder that a copy fills. */
export class ExportMark {
  readonly #folder: string;
  /** The state in the mark. Undefined: there is no mark yet. */
  #isComplete: boolean | undefined;

  private constructor(folder: string, isComplete: boolean | undefined) {
    this.#folder = folder;
    this.#isComplete = isComplete;
  }

  /** The mark of a copy's destination. Undefined for a folder with data that is not an export, and for other stores. */
  static async of(store: Store): Promise<ExportMark | undefined> {
    const folder = folderOf(store);
    if (folder === undefined) return undefined;
    const found = read(folder);
    if (found !== undefined) return new ExportMark(folder, found.complete);
    const { checkpoints, lineages, records } = await store.stats();
    return checkpoints + lineages + records > 0 ? undefined : new ExportMark(folder, undefined);
  }

  /** Notes that the folder is incomplete. */
  begin(): void {
    if (this.#isComplete !== false) this.#write(false);
  }

  /** Notes that the folder is complete. */
  end(): void {
    if (this.#isComplete !== true) this.#write(true);
  }

  #write(complete: boolean): void {
    const content: Content = { forkpoint: "export", complete, commit: lastCommit(this.#folder) };
    const path = join(this.#folder, FILE);
    writeFileSync(`${path}.new`, `${JSON.stringify(content)}\n`, { mode: 0o600, flush: true });
    renameSync(`${path}.new`, path);
    this.#isComplete = complete;
  }
}

/** Throws `CORRUPT` if the store is an incomplete export, or has lost commits since the export. */
export function refuseUnfinished(store: Store): void {
  const folder = folderOf(store);
  const mark = folder === undefined ? undefined : read(folder);
  if (folder === undefined || mark === undefined) return;
  if (!mark.complete) {
    const message = `the export in ${quote(folder)} was interrupted and is not complete: run the export again, which finishes it`;
    throw new ForkpointError("CORRUPT", message);
  }
  const commit = lastCommit(folder);
  if (commit >= mark.commit) return;
  const message =
    `the export in ${quote(folder)} has lost its last commits: order.jsonl ends with commit ${commit}, and the export ended with ` +
    `commit ${mark.commit}: restore the folder from a backup, or export again to a new folder`;
  throw new ForkpointError("CORRUPT", message);
}

function folderOf(store: Store): string | undefined {
  const { backend, databasePath } = engineOf(store).native;
  return backend === "jsonl" ? (databasePath ?? undefined) : undefined;
}

function read(folder: string): Content | undefined {
  const path = join(folder, FILE);
  if (!existsSync(path)) return undefined;
  try {
    const { forkpoint, complete, commit } = JSON.parse(readFileSync(path, "utf8")) as Content;
    if (forkpoint === "export" && typeof complete === "boolean" && typeof commit === "number") {
      return { forkpoint, complete, commit };
    }
  } catch (cause) {
    throw damaged(path, cause);
  }
  throw damaged(path);
}

function damaged(path: string, cause?: unknown): ForkpointError {
  const message = `${quote(path)} was changed or damaged, so it is unknown whether the export is complete: export again to a new folder`;
  return new ForkpointError("CORRUPT", message, { cause });
}

/** Returns the number of the folder's last commit. A partial line after it was not committed. */
function lastCommit(folder: string): number {
  const text = readFileSync(join(folder, "order.jsonl"), "utf8");
  const end = text.lastIndexOf("\n");
  const line = text.slice(text.lastIndexOf("\n", end - 1) + 1, end);
  return (JSON.parse(line) as { commit: number }).commit;
}
