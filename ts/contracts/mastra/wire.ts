/**
 * The calls of Mastra's workflow snapshots and of the memory of agents. `engine/src/contract/mastra/workflows.rs` and `memory.rs`
 * declare the same calls.
 */

import type { CallsOf } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Contract } from "../../bridge/wire.js";

export type Of = engine.mastra.Run;

export type Meta = engine.mastra.Meta;

export type FoundRun = engine.mastra.FoundRun;

export type Filter = engine.mastra.Filter;

export type Status = engine.mastra.Status;

type MastraCalls = CallsOf<engine.mastra.Call, engine.mastra.Responses>;

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

export type Seen = engine.mastra_threads.Seen;
export type NewRow = engine.mastra_threads.NewRow;

export type FoundRow = engine.mastra_threads.FoundRow;

/** The rows of a listing. */
export interface Source {
  table: Table;
  thread?: string | undefined;
  resource?: string | undefined;
}

type MemoryCalls = CallsOf<engine.mastra_threads.Call, engine.mastra_threads.Responses>;

export const memory = new Contract<MemoryCalls>("mastra-threads", {
  kinds: { save: "save", remove: "prune" },
  subject: ({ thread, touch }) => ({ run: thread ?? touch?.[0] }),
  counts: { find: (found) => found.length, list: ({ rows }) => rows.length },
});
