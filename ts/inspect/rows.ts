/** Reads pages of checkpoints, and converts them to the inspector's public types. */

import { type Context, ORDERED, SESSIONS, refOf, shownNs } from "./context.js";
import { shownForm } from "../bridge/json-form/to-json-form.js";
import { nameOf, needsParent, nodesOf, parentName } from "./nodes.js";
import { readValue } from "./values.js";
import { type FoundRun, type Key, type Row, type RowPage, type Wanted, inspect, openPages } from "./wire.js";
import type { CheckpointInfo, Status } from "./views.js";

/** Returns the query for the newest checkpoint of a run. The page also has the number of the run's checkpoints. */
export function newestOf({ space, run, ns }: Key): Wanted {
  return { space, run, ns, from: "end", newestFirst: true, limit: 1, sums: false };
}

/** Reads pages of several runs from one snapshot. */
export function readPages({ engine }: Pick<Context, "engine">, pages: Wanted[]): Promise<RowPage[]> {
  return pages.length === 0 ? Promise.resolve([]) : inspect.find(engine.native, "rows", { pages }, openPages);
}

/** Lists the runs of some contracts whose name contains a text, in pages of `limit`: the one that was active last first. */
export async function* recentRuns(
  { engine }: Pick<Context, "engine">,
  fields: {
    spaces: string[];
    matching: string;
    statuses?: Status[] | undefined;
    labels?: Record<string, string> | undefined;
    after?: number | undefined;
    limit: number;
  },
): AsyncGenerator<FoundRun[]> {
  let { after, statuses, labels } = fields;
  for (;;) {
    const found = await inspect.call(engine.native, "recent", { ...fields, statuses, labels, after });
    if (found.length > 0) yield found;
    if (found.length < fields.limit) return;
    after = found.at(-1)!.position;
  }
}

/** The number of checkpoints that one call lists. */
const PAGE = 500;

/** Lists all checkpoints of a run, the oldest or the newest first. */
export async function* everyRow(
  context: Pick<Context, "engine">,
  { space, run, ns }: Key,
  newestFirst = false,
): AsyncGenerator<Row> {
  let from: Wanted["from"] = "end";
  for (;;) {
    const [page] = await readPages(context, [{ space, run, ns, from, newestFirst, limit: PAGE, sums: false }]);
    yield* page!.rows;
    if (page!.rows.length < PAGE) return;
    from = { after: page!.rows.at(-1)!.place };
  }
}

/** The parents of checkpoints. */
export type Parents = (row: Row) => Row | undefined;

/**
 * Returns the parents of checkpoints. Reads those that are not among `known`, if the checkpoints do not have the names of their
 * nodes themselves.
 */
export async function readParents(
  context: Context,
  rows: readonly Row[],
  known: readonly Row[] = rows,
): Promise<Parents> {
  const found = new Map(known.map((row) => [nameOf(row.space, row.run, row.ns, row.id), row]));
  const missing = rows.filter((row) => {
    const name = parentName(row);
    return name !== undefined && !found.has(name) && needsParent(row);
  });
  const pages = await readPages(
    context,
    missing.map((row) => {
      const { id, run, ns } = row.parent!;
      const [space, parentNs] = [row.space, (run === null ? row.ns : ns) ?? ""];
      return { space, run: run ?? row.run, ns: parentNs, from: { id }, newestFirst: true, limit: 1, sums: false };
    }),
  );
  for (const [row] of pages.map((page) => page.rows)) {
    if (row !== undefined) found.set(nameOf(row.space, row.run, row.ns, row.id), row);
  }
  return (row) => found.get(parentName(row) ?? "");
}

/**
 * Converts a checkpoint to its public type. `before` is the checkpoint before it in the run. It is the parent if the
 * contract stores no parents. `parent` is the recorded parent, if the names of the nodes are wanted.
 */
export function infoOf(
  context: Context,
  row: Row,
  before: Pick<Row, "id"> | undefined,
  parent: Row | undefined,
): CheckpointInfo {
  const { label, meta } = describe(context, row);
  return {
    ...refOf(row),
    id: row.id,
    seq: row.seq,
    step: row.step,
    label,
    nodes: nodesOf(context, row, { label, meta }, parent),
    group: row.group,
    parent: parentOf(row, before),
    at: row.at,
    savedAt: row.savedAt,
    bytes: { logical: row.logical, stored: row.stored },
    chain: row.chain,
    meta,
  };
}

function parentOf(row: Row, before: Pick<Row, "id"> | undefined): CheckpointInfo["parent"] {
  const { space, run, ns } = refOf(row);
  const { parent } = row;
  if (parent !== null) {
    const [itsRun, itsNs] = parent.run === null ? [run, ns] : [parent.run, shownNs(row.space, parent.ns)];
    return { space, run: itsRun, ns: itsNs, id: parent.id, kind: "recorded" };
  }
  return before !== undefined && isOrdered(row) ? { space, run, ns, id: before.id, kind: "order" } : null;
}

/** Returns true if the parent of a checkpoint is the one before it. */
export function isOrdered({ space, parent }: Pick<Row, "space" | "parent">): boolean {
  return parent === null && ORDERED.has(space);
}

/** The fields of a TinyAgents checkpoint that are stored for listings. */
interface TinyAgentsMeta {
  runId: string | null;
  nextNodes: string[];
  interrupted: boolean;
  metadata: Record<string, unknown>;
}

/** Returns the label and the metadata of a checkpoint. */
function describe(context: Context, row: Row): Pick<CheckpointInfo, "label" | "meta"> {
  if (row.metadata === null) return { label: row.label, meta: row.meta ?? {} };
  const { value, readable } = readValue(context, row.metadata);
  const meta =
    readable && typeof value === "object" && value !== null ? (shownForm(value) as Record<string, unknown>) : {};
  const source = row.space === "langgraph" ? meta["source"] : (meta as Partial<TinyAgentsMeta>).metadata?.["source"];
  return { label: typeof source === "string" ? source : row.label, meta };
}

/** The checkpoints of a run. A Helix session has one more: its current state, which is always the newest. */
export interface Lineup {
  /** The number of checkpoints, and the index of each. */
  total: number;
  page: RowPage;
  /** The current state of a Helix session. */
  current: Row | undefined;
  status: Status;
  labels: Record<string, string>;
}

const isSession = ({ space }: Key) => space === "helix";

/** Reads a page of checkpoints of each run. Returns a lineup for each run, even for a run that does not exist. */
export async function readLineups(
  context: Context,
  wanted: ReadonlyArray<Key & Pick<Wanted, "from" | "newestFirst" | "limit" | "sums">>,
): Promise<Lineup[]> {
  const currents = wanted.filter(isSession).map((key) => newestOf({ ...key, space: SESSIONS }));
  const read = await readPages(context, [...wanted, ...currents]);
  let session = wanted.length;
  return wanted.map((key, at) => {
    const page = read[at]!;
    const state = isSession(key) ? read[session++]! : undefined;
    const row = state?.rows[0];
    const { status, labels } = row === undefined ? page : state!;
    const current = row && { ...row, step: page.checkpoints };
    return { page, current, total: page.checkpoints + (current ? 1 : 0), status, labels };
  });
}
