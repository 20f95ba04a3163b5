/**
 * The calls of Mastra's workflow snapshots and of the memory of agents. `engine/src/contract/mastra/workflows.rs` and `memory.rs`
 * declare the same calls.
 */

import type { CallsOf } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Contract, type PackedPart } from "../../bridge/wire.js";

export type Of = engine.mastra.Run;

export type Meta = engine.mastra.Meta;

export interface FoundRun extends Of, Meta {
  /** The id of the newest checkpoint. */
  id: string;
  /** In Mastra's words. */
  status: string;
}

export type Filter = engine.mastra.Filter;

interface Selected {
  total: number;
  runs: FoundRun[];
  /** The cursor of the next page. Null: this is the last page. */
  next: number | null;
}

export type Status = engine.mastra.Status;

type MastraCalls = CallsOf<
  engine.mastra.Call,
  {
    save: null;
    snapshots: Array<FoundRun & { parts: PackedPart[] }>;
    runs: Array<FoundRun & { cursor: string }>;
    select: Selected;
    named: Selected;
    remove: null;
  }
>;

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

export type Table = engine.mastra_threads.Table;

export type Position = engine.mastra_threads.Position;

type RowFields = Omit<NewRow, "table" | "seen" | "part">;

export type Seen = engine.mastra_threads.Seen;
export type NewRow = engine.mastra_threads.NewRow;

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
  /** The position before the next page. Null: this is the last page. */
  next: string | null;
  /** The number of the listing's rows, if requested. */
  count: number | null;
}

type MemoryCalls = CallsOf<
  engine.mastra_threads.Call,
  {
    save: null;
    remove: null;
    find: FoundRow[];
    list: Page;
    older: string[];
    around: [older: Array<{ id: string; group: string }>, newer: Array<{ id: string; group: string }>];
    lineages: Array<{ cursor: string; lineage: string }>;
  }
>;

export const memory = new Contract<MemoryCalls>("mastra-threads", {
  kinds: { save: "save", remove: "prune" },
  subject: ({ thread, touch }) => ({ run: thread ?? touch?.[0] }),
  counts: { find: (found) => found.length, list: ({ rows }) => rows.length },
});
