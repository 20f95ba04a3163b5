/** The engine's calls of the inspector. See `engine/src/contract/inspect.rs`. */

import type { CallsOf } from "../bridge/calls.js";
import type * as engine from "../bridge/calls.generated.js";
import { Contract, type Unpack, type Unpacked } from "../bridge/wire.js";
import type { RunKey as Key } from "../bridge/native.js";

export type { Key };

/** A run in a listing. The next page continues from `position`. A list by size has no `id` and no `status`. */
export type FoundRun = Omit<engine.inspect.ShownRun, "id" | "status"> & Partial<engine.inspect.ShownRun>;

export type Row = Unpacked<engine.inspect.ShownRow>;
export type RowPage = Unpacked<engine.inspect.ShownPage>;
export type Wanted = engine.inspect.Wanted;
export type Wait = engine.inspect.Wait;
export type FeedPage = Unpacked<engine.inspect.ShownFeed>;
export type FoundWrite = Unpacked<engine.inspect.FoundWrite>;
export type FoundCheckpoint = Unpacked<engine.inspect.FoundCheckpoint>;
export type At = engine.inspect.At;
export type Sieve = engine.inspect.Sieve;

export type OpenRun = Unpacked<engine.inspect.OpenRun>;
export type OpenRuns = Unpacked<engine.inspect.ShownOpen>;

type InspectCalls = CallsOf<engine.inspect.Call, engine.inspect.Responses>;

export const inspect = new Contract<InspectCalls>("inspect", {
  // A watch reads the feed several times a second, so these reads are not published.
  kinds: { feed: null, remove: "prune", setLabels: null },
  subject: ({ of, pages, ...fields }) => {
    const { space = null, run, ns } = of ?? (pages?.length === 1 ? pages[0]! : fields);
    return { space, run, ns, id: fields.id };
  },
  counts: {
    rows: (pages) => pages.reduce((sum, { rows }) => sum + rows.length, 0),
    remove: (_, { ids }) => ids?.length,
  },
});

const openRow: Unpack<engine.inspect.ShownRow> = (row, part) => ({
  ...row,
  metadata: row.metadata && part(row.metadata),
});

export const openPages: Unpack<engine.inspect.ShownPage[]> = (pages, part) =>
  pages.map((page) => ({ ...page, rows: page.rows.map((row) => openRow(row, part)) }));

export const openOpenRuns: Unpack<engine.inspect.ShownOpen[]> = (found, part) =>
  found.map((of) => ({
    ...of,
    runs: of.runs.map((run) => ({ ...run, metadata: run.metadata && part(run.metadata) })),
  }));

export const openFeed: Unpack<engine.inspect.ShownFeed> = (page, part) => ({
  ...page,
  rows: page.rows.map((row) => openRow(row, part)),
});

export const openCheckpoint: Unpack<engine.inspect.FoundCheckpoint> = ({ parts, writes, records }, part) => ({
  parts: parts.map(part),
  writes: writes.map((write) => ({ ...write, part: part(write.part) })),
  records: records && records.map(part),
});
