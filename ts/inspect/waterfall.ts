/** The rows of a waterfall: the steps of a run by time, with their contents. Uses nothing of Node. */

import { bySeq, nodesOf, outsideSource, ownParent, type RunCourse } from "./steps.js";
import type { CheckpointInfo, EffectInfo } from "../plugin/views.js";

/** A row of a waterfall. A row belongs to the last row before it with a smaller `depth`. */
export interface WaterfallRow {
  /**
   * - `"step"`: a checkpoint. It lasts from its parent's save to its own.
   * - `"task"`: one of several parallel nodes. It has the time of the step, because its own is not stored.
   * - `"subgraph"`: the steps of a subgraph follow.
   * - `"wait"`: the run waited for a person, or for the next input.
   * - `"effect"`: see `forkpoint/effects`.
   */
  kind: "step" | "task" | "subgraph" | "wait" | "effect";
  /** The names of the nodes, the label of the step, or the key of the effect. Null: none. */
  name: string | null;
  depth: number;
  /** When it began, in ms since the epoch. */
  from: number;
  /** When it ended. Null: not yet, or unknown. */
  to: number | null;
  /** True if the time includes waiting for a person, or until the run was continued from an earlier step. */
  waited: boolean;
  /** The index of the checkpoint in its run. Null for a row without a checkpoint. */
  step: number | null;
  /** The id and the namespace of the checkpoint or, for a row without one, of its step. */
  id: string | null;
  ns: string | null;
  /** The state of an effect. */
  state: EffectInfo["state"] | null;
}

/**
 * Returns the rows of a waterfall, by time. A pause of known length is a row. Any other pause marks its step with
 * `waited`.
 * @example
 * ```ts
 * import { openInspector, waterfallOf } from "forkpoint/inspect";
 *
 * await using inspector = await openInspector("agent.db");
 * const course = await inspector.course({ space: "langgraph", run: "trip-1" });
 * for (const { kind, name, from, to } of waterfallOf(course!)) console.log(kind, name, (to ?? from) - from);
 * ```
 */
export function waterfallOf(course: RunCourse): WaterfallRow[] {
  return new Waterfall(course).rows();
}

/**
 * Returns how long the steps of a waterfall took, in ms: with work only, and with waiting.
 * @example timeOf([]); // { work: 0, waited: 0 }
 */
export function timeOf(rows: readonly WaterfallRow[]): { work: number; waited: number } {
  const time = { work: 0, waited: 0 };
  for (const { depth, kind, from, to, waited } of rows) {
    if (depth > 0 || to === null || kind === "effect" || kind === "subgraph") continue;
    time[waited ? "waited" : "work"] += to - from;
  }
  return time;
}

/** The checkpoints of one call of a subgraph. */
interface Call {
  ns: string;
  steps: CheckpointInfo[];
}

/** Stands for the unfinished step. */
const OPEN = "";

const keyOf = (ns: string | null, id: string): string => `${ns ?? ""}\0${id}`;

class Waterfall {
  readonly #course: RunCourse;
  /** The steps of each namespace, by the order in which they were saved. */
  readonly #steps = new Map<string, CheckpointInfo[]>();
  readonly #pauses: ReadonlySet<string>;
  /** The calls, by the step in which they ran. */
  readonly #calls = new Map<string, Call[]>();
  readonly #effects = new Map<string, EffectInfo[]>();
  readonly #ns: string;

  constructor(course: RunCourse) {
    this.#course = course;
    this.#pauses = new Set(course.pauses);
    this.#ns = course.steps[0]?.ns ?? "";
    this.#steps.set(this.#ns, bySeq(course.steps));
    const nested = bySeq(course.subgraphs ?? []);
    for (const each of nested) {
      const own = this.#steps.get(each.ns ?? "");
      if (own === undefined) this.#steps.set(each.ns ?? "", [each]);
      else own.push(each);
    }
    for (const each of nested) this.#nest(each);
    for (const each of course.effects ?? []) this.#place(each);
  }

  rows(): WaterfallRow[] {
    const steps = this.#steps.get(this.#ns)!;
    const rows = this.#rowsOf(steps, 0);
    const last = steps.at(-1);
    if (last === undefined) return rows;
    const open = keyOf(this.#ns, OPEN);
    rows.push(...this.#inside(open, last, [], 0));
    if (this.#course.status === "waiting") {
      rows.push({ ...rowOf(last, "wait", 0), name: null, from: last.savedAt, to: null, waited: true });
    }
    return rows;
  }

  /** Adds a subgraph's step to the step of the outer namespace in which it ran. */
  #nest(step: CheckpointInfo): void {
    const ns = step.ns ?? "";
    const above = [...namespacesAbove(ns)].find((each) => this.#steps.has(each)) ?? this.#ns;
    const parents = step.meta["parents"];
    const from = typeof parents === "object" && parents !== null ? (parents as Record<string, unknown>)[above] : null;
    const steps = this.#steps.get(above)!;
    const first = firstAfter(steps, step.seq);
    // The outer step was saved after its inner steps. Branches may have saved others in between.
    let owner = steps[first];
    if (typeof from === "string") {
      const child = steps.slice(first, first + NEAR).find((each) => ownParent(each) === from);
      owner = child ?? (steps.at(-1)?.id === from ? undefined : owner);
    }
    const key = keyOf(above, owner?.id ?? OPEN);
    const calls = this.#calls.get(key) ?? [];
    this.#calls.set(key, calls);
    const call = calls.findLast((each) => each.ns === ns);
    if (call === undefined) calls.push({ ns, steps: [step] });
    else call.steps.push(step);
  }

  /** Adds an effect to its step: the first step that was saved after the effect began. */
  #place(effect: EffectInfo): void {
    const steps = this.#steps.get(this.#ns)!;
    const { checkpointId, startedAt } = effect;
    const after = checkpointId === null ? -1 : steps.findIndex(({ id }) => id === checkpointId);
    const owner = steps.slice(after + 1).find((each) => {
      return each.savedAt >= startedAt && (after === -1 || ownParent(each) === checkpointId);
    });
    const key = keyOf(this.#ns, owner?.id ?? OPEN);
    this.#effects.set(key, [...(this.#effects.get(key) ?? []), effect]);
  }

  #rowsOf(steps: readonly CheckpointInfo[], depth: number): WaterfallRow[] {
    const rows: WaterfallRow[] = [];
    const known = new Map(steps.map((each) => [each.id, each]));
    for (const [at, step] of steps.entries()) {
      const parent = known.get(ownParent(step) ?? "");
      const before = steps[at - 1];
      // A later branch begins at an earlier step. The time in between is not its own.
      const began = parent === undefined ? step.savedAt : Math.max(parent.savedAt, before?.savedAt ?? parent.savedAt);
      const from = Math.min(began, step.savedAt);
      const row = rowOf(step, "step", depth);
      row.from = from;
      if (outsideSource(step) !== null && nodesOf(step).length === 0) {
        if (from < step.savedAt && depth === 0) {
          rows.push({ ...row, kind: "wait", name: null, step: null, waited: true });
        }
        rows.push({ ...row, from: step.savedAt });
      } else {
        row.waited =
          parent !== undefined && (this.#pauses.has(parent.id) || isInterrupted(parent) || parent !== before);
        rows.push(row);
      }
      const nodes = nodesOf(step);
      const key = keyOf(step.ns, step.id);
      // Most steps are empty.
      if (nodes.length < 2 && !this.#calls.has(key) && !this.#effects.has(key)) continue;
      for (const each of this.#inside(key, step, nodes.length > 1 ? nodes : [], depth + 1, row)) rows.push(each);
    }
    return rows;
  }

  /** Returns the rows inside a step: its parallel nodes, its subgraphs and its effects. */
  #inside(
    key: string,
    step: CheckpointInfo,
    nodes: readonly string[],
    depth: number,
    of?: WaterfallRow,
  ): WaterfallRow[] {
    const rows: WaterfallRow[] = [];
    const calls = [...(this.#calls.get(key) ?? [])];
    const add = ({ ns, steps }: Call, inner: number) => {
      const own = this.#rowsOf(steps, inner + 1);
      const [from, to] = [own[0]!.from, steps.at(-1)!.savedAt];
      rows.push({ ...rowOf(steps[0]!, "subgraph", inner), name: nameOfNamespace(ns), step: null, from, to }, ...own);
    };
    for (const name of nodes) {
      const { from, to, waited } = of ?? rowOf(step, "task", depth);
      rows.push({ ...rowOf(step, "task", depth), name, step: null, from, to, waited });
      const call = calls.findIndex(({ ns }) => nameOfNamespace(ns) === name);
      if (call !== -1) add(calls.splice(call, 1)[0]!, depth + 1);
    }
    for (const call of calls) add(call, depth);
    for (const { key: name, state, startedAt, endedAt } of this.#effects.get(key) ?? []) {
      rows.push({ ...rowOf(step, "effect", depth), name, state, step: null, from: startedAt, to: endedAt });
    }
    return rows;
  }
}

/** How many later steps are searched for the outer step of a subgraph's step. */
const NEAR = 100;

/** Returns the index of the first step that was saved after a position. */
function firstAfter(steps: readonly CheckpointInfo[], seq: number): number {
  let [low, high] = [0, steps.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (steps[middle]!.seq > seq) high = middle;
    else low = middle + 1;
  }
  return low;
}

const isInterrupted = ({ meta }: CheckpointInfo): boolean => meta["interrupted"] === true;

function rowOf(step: CheckpointInfo, kind: WaterfallRow["kind"], depth: number): WaterfallRow {
  const { savedAt, id, ns } = step;
  return {
    kind,
    name: nameOf(step),
    depth,
    from: savedAt,
    to: savedAt,
    waited: false,
    step: step.step,
    id,
    ns,
    state: null,
  };
}

/** Returns the nodes that made a checkpoint, such as `plan` or `read x3, write`, or else its label. */
function nameOf(step: CheckpointInfo): string | null {
  const nodes = nodesOf(step);
  if (nodes.length < 2) return nodes[0] ?? step.label;
  const counts = new Map<string, number>();
  for (const node of nodes) counts.set(node, (counts.get(node) ?? 0) + 1);
  return [...counts].map(([node, count]) => (count === 1 ? node : `${node} x${count}`)).join(", ");
}

/** Returns the segments of a namespace: of `a:1|b:2`, or of the list `["a","b"]`. */
function segmentsOf(ns: string): string[] {
  if (ns.startsWith("[")) {
    try {
      const list: unknown = JSON.parse(ns);
      if (Array.isArray(list)) return list.map(String);
    } catch {
      // A name may also begin with a bracket.
    }
  }
  return ns === "" ? [] : ns.split("|");
}

/** Yields the outer namespaces of a namespace, the nearest first. */
function* namespacesAbove(ns: string): Generator<string> {
  const segments = segmentsOf(ns);
  for (let length = segments.length - 1; length > 0; length--) {
    const some = segments.slice(0, length);
    yield ns.startsWith("[") ? JSON.stringify(some) : some.join("|");
  }
  yield "";
}

/** Returns true if a namespace belongs to a subgraph below another namespace. */
export function isBelow(ns: string, above: string): boolean {
  if (ns === above) return false;
  return [...namespacesAbove(ns)].includes(above);
}

/** Returns the name of the node that ran a subgraph. */
function nameOfNamespace(ns: string): string {
  const last = segmentsOf(ns).at(-1) ?? "";
  const colon = last.indexOf(":");
  return colon > 0 ? last.slice(0, colon) : last;
}
