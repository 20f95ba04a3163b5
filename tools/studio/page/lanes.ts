// Lays out the timeline of a run like `git log --graph`: newest checkpoint first, with a lane for each branch.

/** A checkpoint. Lists of them are sorted newest first. */
export interface Step {
  id: string;
  /** The parent in the same run. */
  parent: string | null;
  /** Whether the parent is in another run. */
  origin: boolean;
}

export type Row =
  /** `index`: the place in the list of checkpoints. */
  | { kind: "step"; index: number; lane: number }
  /** A run that was forked from the step below. `index`: the place in the list of forks. */
  | { kind: "fork"; index: number; lane: number }
  /** Further forks of the step below, which are not shown. */
  | { kind: "forks"; of: string; count: number; lane: number }
  /** An effect that was begun from the step below. `index`: the place in the list of effects. */
  | { kind: "effect"; index: number; lane: number }
  /** The checkpoint of another run at which this run began. */
  | { kind: "origin"; lane: number };

/** A line from a row to one further down: from a checkpoint to its parent, or from a fork to its source. */
export interface Edge {
  kind: "parent" | "fork";
  /** The upper row. */
  from: number;
  /** The lower row. Infinity: not yet loaded. */
  to: number;
  /** The lane of the upper row, down which the line runs. */
  lane: number;
  /** The lane of the lower row, into which the line bends. */
  into: number;
  /** True if the parent was removed: the line ends below its checkpoint. */
  gone: boolean;
}

export interface Layout {
  rows: Row[];
  edges: Edge[];
  lanes: number;
  rowOf: Map<string, number>;
}

/** The number of forks of a checkpoint that are shown at first. */
const FORKS = 4;

/**
 * Lays out a run.
 *
 * @param steps the loaded checkpoints, newest first.
 * @param forks the checkpoint from which each fork began.
 * @param complete whether all checkpoints are loaded.
 * @param opened the checkpoints whose forks are all shown.
 * @param effects the checkpoint from which each effect began. An empty id: before the first checkpoint.
 */
export function layOut(
  steps: readonly Step[],
  forks: readonly string[],
  complete: boolean,
  opened: ReadonlySet<string> = new Set(),
  effects: readonly string[] = [],
): Layout {
  const known = new Set(steps.map(({ id }) => id));
  const forksOf = grouped(forks);
  const effectsOf = grouped(effects);
  const rows: Row[] = [];
  const edges: Edge[] = [];
  const rowOf = new Map<string, number>();
  // The edges without a lower end, by their target checkpoint.
  const open = new Map<string, Edge[]>();
  const taken: boolean[] = [true];
  // All lower lanes are taken.
  let lowest = 1;
  let lanes = 1;

  /** Returns the first free lane. Lane 0 belongs to the trunk. */
  const freeLane = (): number => {
    while (taken[lowest] === true) lowest += 1;
    lanes = Math.max(lanes, lowest + 1);
    return lowest;
  };
  const begin = (kind: Edge["kind"], lane: number, id: string): void => {
    const edge: Edge = { kind, from: rows.length, to: Number.POSITIVE_INFINITY, lane, into: lane, gone: false };
    edges.push(edge);
    taken[lane] = true;
    const others = open.get(id);
    if (others === undefined) open.set(id, [edge]);
    else others.push(edge);
  };
  /** Ends the edges to a checkpoint, in the row after `between` others. Returns its lane. */
  const end = (id: string, isNewest: boolean, between: number): number => {
    const waiting = open.get(id) ?? [];
    open.delete(id);
    const children = waiting.filter(({ kind }) => kind === "parent").map((edge) => edge.lane);
    const lane = children.length > 0 ? Math.min(...children) : isNewest ? 0 : freeLane();
    for (const edge of waiting) {
      Object.assign(edge, { to: rows.length + between, into: lane });
      if (edge.lane === 0) continue;
      taken[edge.lane] = false;
      lowest = Math.min(lowest, edge.lane);
    }
    return lane;
  };

  for (const [index, { id, parent, origin }] of steps.entries()) {
    const all = forksOf.get(id) ?? [];
    const shown = opened.has(id) || all.length <= FORKS + 1 ? all : all.slice(0, FORKS);
    if (shown.length < all.length) {
      const lane = freeLane();
      begin("fork", lane, id);
      rows.push({ kind: "forks", of: id, count: all.length - shown.length, lane });
    }
    for (const fork of shown) {
      const lane = freeLane();
      begin("fork", lane, id);
      rows.push({ kind: "fork", index: fork, lane });
    }
    const done = effectsOf.get(id) ?? [];
    const lane = end(id, index === 0, done.length);
    for (const effect of done) rows.push({ kind: "effect", index: effect, lane });
    const row = rows.length;
    const above = parent === null ? undefined : rowOf.get(parent);
    if (parent !== null && parent !== id) {
      if (above !== undefined) {
        // The parent was saved after its child, so the line runs up.
        edges.push({ kind: "parent", from: above, to: row, lane, into: lane, gone: false });
      } else if (known.has(parent) || !complete) {
        begin("parent", lane, parent);
      } else {
        edges.push({ kind: "parent", from: row, to: row + 1, lane, into: lane, gone: true });
      }
    }
    rowOf.set(id, row);
    rows.push({ kind: "step", index, lane });
    if (origin) {
      edges.push({ kind: "fork", from: row, to: row + 1, lane, into: lane, gone: false });
      rows.push({ kind: "origin", lane });
    }
  }
  for (const effect of complete ? (effectsOf.get("") ?? []) : []) rows.push({ kind: "effect", index: effect, lane: 0 });
  return { rows, edges, lanes, rowOf };
}

/** Returns the indexes of each text. */
function grouped(texts: readonly string[]): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  for (const [index, text] of texts.entries()) {
    const group = groups.get(text);
    if (group === undefined) groups.set(text, [index]);
    else group.push(index);
  }
  return groups;
}

export function edgesBetween(edges: readonly Edge[], start: number, end: number): Edge[] {
  return edges.filter(({ from, to }) => from < end && to >= start);
}
