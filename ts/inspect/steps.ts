/** The shared part of a run's waterfall and graph. Uses nothing of Node, because the studio's page uses it. */

import type { CheckpointInfo, EffectInfo, Status } from "../plugin/views.js";

/** The nodes and edges in the stored description of a program. */
export interface CourseProgram {
  nodes: string[];
  edges: Array<{ from: string; to: string; conditional: boolean }>;
}

/**
 * The course of a run, for {@link waterfallOf} and {@link graphOf}. `Inspector.course()` reads it. Only `steps` is
 * required.
 */
export interface RunCourse {
  /** The checkpoints of the run, in any order. */
  steps: readonly CheckpointInfo[];
  effects?: readonly EffectInfo[] | undefined;
  /** The checkpoints of the run's subgraphs, in the namespaces below its own. */
  subgraphs?: readonly CheckpointInfo[] | undefined;
  /** The ids of the checkpoints at which the run waited for a person. */
  pauses?: readonly string[] | undefined;
  /** Null: the program is unknown. */
  program?: CourseProgram | null | undefined;
  /** The status of the run. */
  status?: Status | undefined;
  /** The nodes that run next. Null: unknown. */
  next?: readonly string[] | null | undefined;
}

/** A complete course, as an inspector reads it. */
export type ReadCourse = { [Name in keyof RunCourse]-?: Exclude<RunCourse[Name], undefined> };

/** Sorts checkpoints by the order in which they were saved. */
export const bySeq = (steps: readonly CheckpointInfo[]): CheckpointInfo[] => steps.toSorted((a, b) => a.seq - b.seq);

const NONE: readonly string[] = [];

const isStart = (node: string): boolean => node === "__start__" || node === "__input__" || node === "__START__";

/** Returns the names of the nodes that made a checkpoint, without that of the start. */
export const nodesOf = ({ nodes }: CheckpointInfo): readonly string[] =>
  nodes === null || nodes === undefined ? NONE : nodes.some(isStart) ? nodes.filter((node) => !isStart(node)) : nodes;

/** The sources of checkpoints that no node made, but a person or another program. */
const FROM_OUTSIDE: ReadonlySet<unknown> = new Set(["input", "update", "fork"]);

/** Returns who made a graph's checkpoint: `"input"`, `"update"` or `"fork"`. Null: a node, or unknown. */
export function outsideSource({ meta }: CheckpointInfo): string | null {
  const inner = meta["metadata"];
  const own = typeof inner === "object" && inner !== null ? (inner as { source?: unknown }).source : undefined;
  const source = meta["source"] ?? own;
  return FROM_OUTSIDE.has(source) ? (source as string) : null;
}

/** Returns the id of the parent, if it is a checkpoint of the same run and namespace. */
export function ownParent({ parent, space, run, ns }: CheckpointInfo): string | null {
  if (parent === null || parent.space !== space || parent.run !== run || (parent.ns ?? "") !== (ns ?? "")) return null;
  return parent.id;
}
