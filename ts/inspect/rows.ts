/** Reads pages of checkpoints, and converts them to the inspector's public types. */

import { pluginOf } from "../contracts/index.js";
import { traitsOf } from "../contracts/registry.js";
import { type Context, refOf, shownNs, spaceOf } from "./context.js";
import { shownForm } from "../bridge/json-form/to-json-form.js";
import { nameOf, needsParent, nodesOf, parentName } from "./nodes.js";
import { readValue } from "../plugin/values.js";
import { newestOf, readPages } from "../plugin/pages.js";
import type { Key, Row, RowPage, Wanted } from "../plugin/wire.js";
import type { CheckpointInfo, StoredStatus } from "../plugin/views.js";

/** The parents of checkpoints. */
export type Parents = (row: Row) => Row | undefined;

/**
 * Returns the parents of checkpoints. Reads parents outside of `known` if the checkpoints do not contain the names of
 * their nodes.
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
 * Converts a checkpoint to its public type. `before` is the previous checkpoint of the run, and the parent if the
 * contract stores no parents. `parent` is the recorded parent, if its nodes' names are needed.
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

/** Returns true if the parent of a checkpoint is the previous checkpoint. */
export function isOrdered({ space, parent }: Pick<Row, "space" | "parent">): boolean {
  return parent === null && traitsOf(spaceOf(space)).ordered === true;
}

/** Returns the label and the metadata of a checkpoint. */
function describe(context: Context, row: Row): Pick<CheckpointInfo, "label" | "meta"> {
  if (row.metadata === null) return { label: row.label, meta: row.meta ?? {} };
  const { value, readable } = readValue(context, row.metadata);
  const meta =
    readable && typeof value === "object" && value !== null ? (shownForm(value) as Record<string, unknown>) : {};
  const source = pluginOf(row.space).label?.(meta);
  return { label: typeof source === "string" ? source : row.label, meta };
}

/** The checkpoints of a run, and its current state if that is not a checkpoint. The current state is the newest. */
export interface Lineup {
  /** The number of checkpoints, and the index of each. */
  total: number;
  page: RowPage;
  current: Row | undefined;
  status: StoredStatus;
  labels: Record<string, string>;
}

/** Reads a page of checkpoints of each run. Returns a lineup for each run, even for a run that does not exist. */
export async function readLineups(
  context: Context,
  wanted: ReadonlyArray<Key & Pick<Wanted, "from" | "newestFirst" | "limit" | "sums">>,
): Promise<Lineup[]> {
  const currents = wanted.flatMap((key) => {
    const { current } = traitsOf(key.space);
    return current === undefined ? [] : [newestOf({ ...key, space: current })];
  });
  const read = await readPages(context, [...wanted, ...currents]);
  let nextCurrent = wanted.length;
  return wanted.map((key, at) => {
    const page = read[at]!;
    const state = traitsOf(key.space).current === undefined ? undefined : read[nextCurrent++]!;
    const row = state?.rows[0];
    const { status, labels } = row === undefined ? page : state!;
    const current = row && { ...row, step: page.checkpoints };
    return { page, current, total: page.checkpoints + (current ? 1 : 0), status, labels };
  });
}
