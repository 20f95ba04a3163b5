/**
 * The calls of Mastra's workflow snapshots and of the memory of agents. `engine/src/contract/mastra/workflows.rs` and `memory.rs`
 * declare the same calls.
 */

import { Contract, type Exact, type PackedPart } from "../../bridge/wire.js";

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

/** Which runs a list has. Times are in ms since the epoch, and both belong to the list. */
export interface Filter {
  status: string | undefined;
  resource: string | undefined;
  from: number | undefined;
  to: number | undefined;
}

interface Selected {
  total: number;
  runs: FoundRun[];
  /** The next page begins after this one. Null: this was the last page. */
  next: number | null;
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
  /** Looks at `looks` runs, the last begun first, and returns the `most` that pass and were created last. `total` pass. */
  select(fields: {
    workflow: string | undefined;
    filter: Filter;
    before: number | undefined;
    looks: number;
    most: number | undefined;
  }): Selected;
  /** Lists the runs with an id, whatever their workflows are. */
  named(fields: { run: string; after: number | undefined; looks: number }): Selected;
  /** Removes a run. With `newest`, only if this is its newest checkpoint. */
  remove(fields: { of: Of; newest: string | undefined }): null;
}

export const mastra = new Contract<MastraCalls>("mastra", {
  kinds: { save: "save", remove: "prune" },
  subject: ({ of, id }) => (Array.isArray(of) ? {} : { run: of?.run, ns: of?.workflow, id }),
  counts: {
    snapshots: (found) => found.length,
    runs: (found) => found.length,
    select: ({ runs }) => runs.length,
    named: ({ runs }) => runs.length,
  },
});

/** The tables of the memory of agents. */
export type Table = "messages" | "threads" | "resources";

/** The place of a row in its table. */
export interface Place {
  /** In ms since the epoch. */
  createdAt: number;
  /** Orders rows that were created at the same time. */
  number: Exact;
  version: Exact;
}

interface RowFields {
  id: string;
  /** The thread of a message. For other rows, the id. */
  lineage: string;
  /** The resource of a message or a thread. Empty: none. */
  group: string;
  place: Place;
  /** JSON that the inspector shows. */
  meta: string;
  /** The time of the last change, in ms since the epoch. */
  savedAt: number;
}

/** What a change expects of a row: anything, that it does not exist, or its place. */
export type Seen = "any" | "none" | { at: Place };

export interface NewRow extends RowFields {
  table: Table;
  seen: Seen;
  part: { name: string; tag: string };
}

export interface FoundRow extends RowFields {
  parts: PackedPart[];
}

/** The rows of a listing. */
export interface Source {
  table: Table;
  thread?: string | undefined;
  resource?: string | undefined;
}

export interface Page {
  rows: FoundRow[];
  /** The next page begins after this place. Null: there is none. */
  next: string | null;
  /** The number of all rows of the listing, if the call asked for it. */
  count: number | null;
}

interface MemoryCalls {
  /** Saves rows, all or none. Takes a buffer for each row. */
  save(fields: {
    rows: NewRow[];
    /** Threads whose time of the last change becomes `savedAt`. They need not exist. */
    touch: string[];
    savedAt: number;
  }): null;
  /** Removes rows and whole lineages, all or none. */
  remove(fields: {
    clear: Array<{ table: Table; lineage: string }>;
    rows: Array<{ table: Table; id: string }>;
    touch: string[];
    savedAt: number;
  }): null;
  find(fields: { table: Table; ids: string[] }): FoundRow[];
  /** Lists rows in an order. */
  list(fields: {
    table: Table;
    thread: string | undefined;
    resource: string | undefined;
    newestFirst: boolean;
    after: string | undefined;
    /** Without `after`, the time at which the list begins. A row of this time belongs to it only if the oldest rows come first. */
    from: number | undefined;
    skip: number;
    limit: number;
    count: boolean;
  }): Page;
  /** Lists the ids of rows that were created before a time. */
  older(fields: { table: Table; lineage: string; than: number; limit: number }): string[];
  /** Lists the older and the newer messages around a message, in their order. */
  around(fields: {
    thread: string;
    id: string;
    before: number;
    after: number;
  }): [older: Array<{ id: string; group: string }>, newer: Array<{ id: string; group: string }>];
  /** Lists lineages, the one that was begun last first. */
  lineages(fields: {
    table: Table;
    before: number | undefined;
    limit: number;
  }): Array<{ cursor: string; lineage: string }>;
}

export const memory = new Contract<MemoryCalls>("mastra-threads", {
  kinds: { save: "save", remove: "prune" },
  subject: ({ thread, touch }) => ({ run: thread ?? touch?.[0] }),
  counts: { find: (found) => found.length, list: ({ rows }) => rows.length },
});
