/** The graph of a run: the transitions between nodes, and the position of the run. Uses nothing of Node. */

import { bySeq, nodesOf, outsideSource, ownParent, type CourseProgram, type RunCourse } from "./steps.js";
import type { CheckpointInfo } from "../plugin/views.js";

/** A node of a {@link RunGraph}. */
export interface GraphNode {
  name: string;
  /** The start, a node, or the end. */
  kind: "start" | "node" | "end";
  /** How many times it ran. */
  runs: number;
  /**
   * - `"waiting"`, `"failed"`, `"next"`: the run is here. The node waits for a person, has failed, or runs next.
   * - `"done"`: it ran.
   * - `"idle"`: it has not run.
   */
  state: "waiting" | "failed" | "next" | "done" | "idle";
}

/** An edge of a {@link RunGraph}. */
export interface GraphEdge {
  from: string;
  to: string;
  /** How many times the run followed the edge. 0: never. */
  count: number;
  /** True if the program decides at run time whether the edge is followed. */
  conditional: boolean;
}

/** The graph of a run. */
export interface RunGraph {
  nodes: GraphNode[];
  edges: GraphEdge[];
  /** The source of nodes and edges: the stored program, or only the steps of this run. */
  source: "program" | "run";
}

/** How many earlier steps are searched for a node's predecessor. */
const BACK = 50;

/**
 * Returns the graph of a run, from its transitions and the stored program. Parallel nodes count once for each time that
 * they ran.
 * @example
 * ```ts
 * import { graphOf, openInspector } from "forkpoint/inspect";
 *
 * await using inspector = await openInspector("agent.db");
 * const course = await inspector.course({ space: "langgraph", run: "thread-1" });
 * for (const { from, to, count } of graphOf(course!).edges) console.log(from, to, count);
 * ```
 */
export function graphOf(course: RunCourse): RunGraph {
  return new Builder(course).graph();
}

class Builder {
  readonly #course: RunCourse;
  readonly #program: CourseProgram | null;
  readonly #start: string;
  readonly #end: string;
  readonly #runs = new Map<string, number>();
  readonly #edges = new Map<string, GraphEdge>();
  /** The edges of the program, by their ends. */
  readonly #known: ReadonlySet<string>;

  constructor(course: RunCourse) {
    this.#course = course;
    const program = course.program ?? null;
    this.#program = program !== null && program.nodes.length > 0 ? program : null;
    const names = new Set(this.#program?.nodes);
    const edges = this.#program?.edges ?? [];
    this.#start = edges.find(({ from }) => !names.has(from))?.from ?? "__start__";
    this.#end = edges.find(({ to }) => !names.has(to))?.to ?? "__end__";
    this.#known = new Set(edges.map(({ from, to }) => keyOf(from, to)));
    for (const { from, to, conditional } of edges) {
      this.#edges.set(keyOf(from, to), { from, to, count: 0, conditional });
    }
  }

  graph(): RunGraph {
    const steps = bySeq(this.#course.steps);
    const known = new Map(steps.map((each) => [each.id, each]));
    const parentOf = (step: CheckpointInfo) => known.get(ownParent(step) ?? "");
    /** The nodes that lead on from each step. */
    const out = new Map<CheckpointInfo, readonly string[]>();
    for (const step of steps) {
      const parent = parentOf(step);
      const before = (parent && out.get(parent)) ?? [this.#start];
      const nodes = nodesOf(step);
      if (nodes.length === 0) {
        const isInput = outsideSource(step) === "input";
        if (isInput && parent !== undefined) this.#leave(before);
        out.set(step, isInput ? [this.#start] : before);
        continue;
      }
      for (const node of nodes) {
        this.#runs.set(node, (this.#runs.get(node) ?? 0) + 1);
        for (const from of this.#sources(node, step, parentOf, out)) this.#follow(from, node);
      }
      out.set(step, [...new Set(nodes)]);
    }
    const last = steps.at(-1);
    const end = (last && out.get(last)) ?? [];
    if (this.#course.status === "finished") this.#leave(end);
    return this.#made(end);
  }

  /** Returns the predecessors of a node: in the step before, or in an earlier step whose node has an edge to it. */
  #sources(
    node: string,
    step: CheckpointInfo,
    parentOf: (step: CheckpointInfo) => CheckpointInfo | undefined,
    out: ReadonlyMap<CheckpointInfo, readonly string[]>,
  ): readonly string[] {
    let parent = parentOf(step);
    const nearest = (parent && out.get(parent)) ?? [this.#start];
    if (this.#known.size === 0) return nearest;
    for (let back = 0; back < BACK; back++) {
      const all = (parent && out.get(parent)) ?? [this.#start];
      const fitting = all.filter((from) => this.#known.has(keyOf(from, node)));
      if (fitting.length > 0) return fitting;
      if (parent === undefined) break;
      parent = parentOf(parent);
    }
    return nearest;
  }

  #follow(from: string, to: string): void {
    const key = keyOf(from, to);
    const edge = this.#edges.get(key) ?? { from, to, count: 0, conditional: false };
    edge.count += 1;
    this.#edges.set(key, edge);
  }

  /** Counts the transition from the last nodes to the end. */
  #leave(last: readonly string[]): void {
    const nodes = last.filter((node) => node !== this.#start);
    const fitting = nodes.filter((node) => this.#known.has(keyOf(node, this.#end)));
    for (const node of fitting.length > 0 ? fitting : nodes) this.#follow(node, this.#end);
  }

  #made(last: readonly string[]): RunGraph {
    const { status, next = null } = this.#course;
    const isStopped = status === "waiting" || status === "failed";
    const here = isStopped ? status : "next";
    // A stopped run without next nodes is at its last nodes.
    const stopped = isStopped ? last.filter((name) => name !== this.#start) : [];
    const at = new Set(status === "finished" ? [] : (next ?? stopped));
    const names = new Set([...(this.#program?.nodes ?? []), ...this.#runs.keys()]);
    for (const { from, to } of this.#edges.values()) names.add(from).add(to);
    for (const node of at) names.add(node);
    const ordered = [
      this.#start,
      ...[...names].filter((name) => name !== this.#start && name !== this.#end),
      this.#end,
    ];
    const ends = new Set([...this.#edges.values()].flatMap(({ from, to }) => [from, to]));
    const nodes = ordered
      .filter(
        (name) => names.has(name) && (ends.has(name) || this.#runs.has(name) || at.has(name) || this.#isOwn(name)),
      )
      .map((name): GraphNode => {
        const kind = name === this.#start ? "start" : name === this.#end ? "end" : "node";
        const runs = this.#runs.get(name) ?? 0;
        const wasHere =
          runs > 0 ||
          [...this.#edges.values()].some(({ from, to, count }) => {
            return count > 0 && ((kind === "start" && from === name) || (kind === "end" && to === name));
          });
        return { name, kind, runs, state: at.has(name) ? here : wasHere ? "done" : "idle" };
      });
    return { nodes, edges: [...this.#edges.values()], source: this.#program === null ? "run" : "program" };
  }

  #isOwn(name: string): boolean {
    return this.#program?.nodes.includes(name) === true;
  }
}

const keyOf = (from: string, to: string): string => `${from}\0${to}`;

/** Returns the shown name of a node: `start` and `end` for the places around the nodes. */
export const shownNode = ({ kind, name }: GraphNode): string => (kind === "node" ? name : kind);

/**
 * Writes a graph as lines of text, such as `plan -> read x3`, followed by the run's position, such as `failed: read`.
 * @example graphText({ nodes: [], edges: [{ from: "plan", to: "read", count: 3, conditional: false }], source: "run" });
 */
export function graphText({ nodes, edges }: RunGraph): string[] {
  const names = new Map(nodes.map((node) => [node.name, shownNode(node)]));
  const lines = edges.map(({ from, to, count }) => {
    const times = count === 0 ? " (not taken)" : count === 1 ? "" : ` x${count}`;
    return `${names.get(from) ?? from} -> ${names.get(to) ?? to}${times}`;
  });
  const joined = new Set(edges.flatMap(({ from, to }) => [from, to]));
  for (const node of nodes) if (!joined.has(node.name)) lines.push(shownNode(node));
  for (const state of ["waiting", "failed", "next"] as const) {
    const here = nodes.filter((node) => node.state === state).map(shownNode);
    if (here.length > 0) lines.push(`${state}: ${here.join(", ")}`);
  }
  return lines;
}

/** Encodes all characters but letters, digits and spaces, so that a name is only text in a Mermaid diagram. */
const mermaidText = (text: string): string =>
  text.replace(/[^\p{L}\p{N} _-]/gu, (character) => `#${character.codePointAt(0)};`);

/** The shapes of the nodes in a Mermaid diagram. */
const mermaidShapes = { start: ["([", "])"], node: ["[", "]"], end: ["([", "])"] } as const;

/**
 * Writes a graph as lines of a Mermaid flowchart. Edges that were not followed are dotted.
 * @example graphMermaid({ nodes: [], edges: [], source: "run" }).join("\n"); // "flowchart TD"
 */
export function graphMermaid({ nodes, edges }: RunGraph): string[] {
  const ids = new Map(nodes.map(({ name }, at) => [name, `n${at}`]));
  const lines = ["flowchart TD"];
  for (const node of nodes) {
    const [open, close] = mermaidShapes[node.kind];
    lines.push(`  ${ids.get(node.name)}${open}"${mermaidText(shownNode(node))}"${close}`);
  }
  for (const { from, to, count } of edges) {
    const arrow = count === 0 ? "-.->" : count === 1 ? "-->" : `-->|x${count}|`;
    lines.push(`  ${ids.get(from)} ${arrow} ${ids.get(to)}`);
  }
  for (const state of ["waiting", "failed", "next"] as const) {
    const here = nodes.filter((node) => node.state === state).map(({ name }) => ids.get(name));
    if (here.length > 0) lines.push(`  classDef ${state} stroke-width:3px`, `  class ${here.join(",")} ${state}`);
  }
  return lines;
}
