/** The calls of Mastra's workflow snapshots. `engine/src/contract/mastra.rs` declares the same calls. */

import { Contract, type PackedPart } from "../../bridge/wire.js";

/** Names a run. The two names are never joined. */
export interface Of {
  workflow: string;
  run: string;
}

/** What is stored of a run beside its snapshot. Times are in ms since the epoch. */
export interface Meta {
  createdAt: number;
  updatedAt: number;
  resource: string | null | undefined;
  /** The step that the run has reached. */
  step: string | null | undefined;
}

export interface FoundRun extends Of, Meta {
  /** The id of the newest checkpoint. */
  id: string;
  /** In Mastra's words. */
  status: string;
}

export type Status = "waiting" | "failed" | "unfinished" | "finished" | "unknown";

interface MastraCalls {
  /** Takes a buffer for each part. `newest` is the newest checkpoint that the caller knows. Undefined: there is none. */
  save(fields: {
    of: Of;
    id: string;
    newest: string | undefined;
    label: string;
    meta: Meta;
    status: Status;
    parts: Array<{ name: string; tag: string }>;
    savedAt: number;
  }): null;
  snapshots(fields: { of: Of[] }): Array<FoundRun & { parts: PackedPart[] }>;
  /** Lists runs, the one that was begun last first. */
  runs(fields: {
    workflow: string | undefined;
    before: number | undefined;
    limit: number;
  }): Array<FoundRun & { cursor: string }>;
  /** Removes a run. With `newest`, only if this is its newest checkpoint. */
  remove(fields: { of: Of; newest: string | undefined }): null;
}

export const mastra = new Contract<MastraCalls>("mastra", {
  kinds: { save: "save", remove: "prune" },
  subject: ({ of, id }) => (Array.isArray(of) ? {} : { run: of?.run, ns: of?.workflow, id }),
  counts: { snapshots: (found) => found.length, runs: (found) => found.length },
});
