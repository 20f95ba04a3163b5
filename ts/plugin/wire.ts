/** The engine's calls of the inspector. See `engine/src/contract/inspect.rs`. */

import type { CallsOf } from "../bridge/calls.js";
import type * as engine from "../bridge/calls.generated.js";
import { Contract, type Unpack, type PackedPart, type Part } from "../bridge/wire.js";
import type { RunKey as Key } from "../bridge/native.js";
import type { Status, StoreInfo } from "./views.js";

export type { Key };

/** A run in a listing. The next page continues from `position`. */
export interface FoundRun {
  position: number;
  space: string;
  run: string;
  ns: string | null;
  /** The id of the newest checkpoint. Missing in a list by size. */
  id?: string;
  /** Missing in a list by size. */
  status?: Status;
}

/** A checkpoint in a listing. The feed also has effects. */
export interface Row<P = Part> {
  space: string;
  /** True if it is an effect. The id is then its key, and `meta` is its stored entry. */
  effect?: true;
  run: string;
  ns: string | null;
  id: string;
  /** The recorded parent. `run` and `ns` are null if they equal the checkpoint's. */
  parent: { id: string; run: string | null; ns: string | null } | null;
  seq: number;
  step: number;
  label: string | null;
  group: string | null;
  at: number | null;
  savedAt: number;
  logical: number;
  stored: number;
  chain: number;
  /** The hash of the shape of the program that made the checkpoint. Null: unknown, or in the metadata. */
  shape: string | null;
  /** The mark of the checkpoint, if it says more than `shape`: see `ts/store/mark.ts`. */
  mark?: string;
  meta: Record<string, unknown> | null;
  /** The metadata as a serialized part, if only the contract's serializer can read it. */
  metadata: P | null;
  dependsOnParent: boolean;
  /** The cursor of the checkpoint: the next page of a listing begins after it. */
  cursor: string;
}

export interface RowPage<P = Part> {
  /** The number of all checkpoints of the run. */
  checkpoints: number;
  /** The checkpoint of another run from which the run began. */
  origin: { id: string; run: string | null; ns: string | null } | null;
  /** The status of the run. */
  status: Status;
  labels: Record<string, string>;
  rows: Array<Row<P>>;
  sums: { logical: number; stored: number; began: number } | null;
}

export type Wanted = engine.inspect.Wanted;

export type Wait = engine.inspect.Wait;

export interface FeedPage<P = Part> {
  rows: Array<Row<P>>;
  next: number;
  wait: Wait | null;
  checkpoints: number | null;
  removals: number | null;
  version: number | null;
}

export interface FoundWrite<P = Part> {
  task: string;
  index: number;
  claimedBy: string | null;
  path: string | null;
  part: P;
}

/** A checkpoint with its parts and its writes. `records` are its messages or entries. */
export interface FoundCheckpoint<P = Part> {
  parts: P[];
  writes: Array<FoundWrite<P>>;
  records: P[] | null;
}

export type At = engine.inspect.At;
export type Sieve = engine.inspect.Sieve;

/** An open run, from its newest checkpoint. */
export interface OpenRun<P = Part> {
  ns: string | null;
  status: Status;
  /** The name of the program that made the checkpoint, and the hash of its shape. Null: unknown, or in the metadata. */
  program: string | null;
  shape: string | null;
  metadata: P | null;
}

/** The open runs of a contract, or a sample of them. */
export interface OpenRuns<P = Part> {
  /** The number of open runs. */
  count: number;
  /** True if `count` is an estimate. */
  isEstimate: boolean;
  /** At most the requested number of runs, an even sample of all. */
  runs: Array<OpenRun<P>>;
}

type InspectCalls = CallsOf<
  engine.inspect.Call,
  {
    spaces: Array<StoreInfo["spaces"][number]>;
    recent: FoundRun[];
    open: Array<OpenRuns<PackedPart>>;
    began: FoundRun[];
    namespaces: string[];
    forks: FoundRun[];
    rows: Array<RowPage<PackedPart>>;
    feed: FeedPage<PackedPart>;
    read: FoundCheckpoint<PackedPart> | null;
    sift: {
      /** Indexes in `checkpoints`. */
      found: number[];
      /** The number of parts with each tag that belongs to no kind. */
      unread: Record<string, number>;
      /** The number of checkpoints that cannot be read. */
      damaged: number;
      /** The number of bytes that were read. */
      bytes: number;
    };
    setLabels: null;
    remove: null;
  }
>;

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

const openRow: Unpack<Row<PackedPart>, Row> = (row, part) => ({ ...row, metadata: row.metadata && part(row.metadata) });

export const openPages: Unpack<Array<RowPage<PackedPart>>, RowPage[]> = (pages, part) =>
  pages.map((page) => ({ ...page, rows: page.rows.map((row) => openRow(row, part)) }));

export const openOpenRuns: Unpack<Array<OpenRuns<PackedPart>>, OpenRuns[]> = (found, part) =>
  found.map((of) => ({
    ...of,
    runs: of.runs.map((run) => ({ ...run, metadata: run.metadata && part(run.metadata) })),
  }));

export const openFeed: Unpack<FeedPage<PackedPart>, FeedPage> = (page, part) => ({
  ...page,
  rows: page.rows.map((row) => openRow(row, part)),
});

export const openCheckpoint: Unpack<FoundCheckpoint<PackedPart>, FoundCheckpoint> = (
  { parts, writes, records },
  part,
) => ({
  parts: parts.map(part),
  writes: writes.map((write) => ({ ...write, part: part(write.part) })),
  records: records && records.map(part),
});
