/** A compiled graph of AgentOS, for `recover`. */

import { ForkpointError, quote, show, typeError } from "../../bridge/errors.js";
import { type ProgramPosition, type ProgramShape, shapeHash } from "../../store/compare-programs.js";
import { type NodeAnswer, answerOf, isHuman, openNodes } from "./status.js";
import type { Checkpoint } from "./contract.js";

/** The graph that {@link recover} needs. Every `compile()` of AgentOS returns one. */
export interface RecoverableGraph {
  /** Continues a run from its newest checkpoint and returns the artifacts. */
  resume(runId: string): Promise<unknown>;
  /** Returns the compiled graph. */
  toIR(): {
    id: string;
    checkpointPolicy: string;
    nodes: Array<{
      id: string;
      type: string;
      effectClass: string;
      checkpoint: string;
      executorConfig?: unknown;
      metadata?: Record<string, unknown> | undefined;
    }>;
    edges: Array<{ id: string; source: string; target: string; type?: string }>;
  };
}

type Compiled = ReturnType<RecoverableGraph["toIR"]>;
type Node = Compiled["nodes"][number];

/** AgentOS' names for the start and the end of a graph. */
export const START = "__START__";
export const END = "__END__";

/** The state of a run. `nodes` are the unanswered human nodes, or the failed nodes. */
export type Position = { status: "waiting" | "failed"; nodes: string[] } | { status: "unfinished" | "finished" };

/** The name of every `AgentGraph`. It does not identify the program. */
const DEFAULT_NAME = "agent-graph";

/** Returns the program's name, which is the `<name>` in a graph's id, `graph-<name>-<ms>`. */
export function programOf(graphId: string): string | undefined {
  const name = /^graph-(.*)-\d+$/s.exec(graphId)?.[1];
  return name === DEFAULT_NAME ? undefined : name;
}

/** The parts of a graph, or of an earlier version, that determine the order of the nodes. */
export type Flow = Pick<ProgramShape, "nodes" | "edges">;

export class Graph {
  /** The id that AgentOS gave this graph. */
  readonly id: string;
  /** Matches the ids of this graph from every `compile()`. */
  readonly #ids: RegExp;
  /** The prefix of all ids of this graph. */
  readonly idPrefix: string;
  readonly #nodes: Map<string, Node>;
  readonly #edges: Compiled["edges"];
  readonly #savesEvery: boolean;

  constructor(graph: RecoverableGraph) {
    const { id, nodes, edges, checkpointPolicy } = compiledOf(graph);
    this.id = id;
    this.idPrefix = id.replace(/\d+$/, "");
    this.#ids = new RegExp(`^${this.idPrefix.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}\\d+$`);
    this.#nodes = new Map(nodes.map((node) => [node.id, node]));
    this.#edges = edges;
    this.#savesEvery = checkpointPolicy === "every_node";
    if (!this.#savesEvery) this.#refuseUnknownEnds(id);
  }

  /** The program that the graph is, in a store with these options. */
  programFor(options: { program: string | undefined; version: string | undefined } | undefined) {
    const program = options?.program ?? programOf(this.id);
    const shape = this.shape(options?.version);
    const identity = { ...(program !== undefined && { program }), shape: shapeHash(shape) };
    return { program, shape, identity };
  }

  /** Returns the shape of the graph. A choosing node has only conditional edges. */
  shape(version: string | undefined): ProgramShape {
    const nodes = [...this.#nodes.values()].map(({ id, type, effectClass }) => {
      return { name: id, kind: type, effect: effectClass };
    });
    const edges = this.#edges.map(({ source, target, type = "static" }) => {
      const conditional = this.#chooses(source) || type !== "static";
      return { from: source, to: target, ...(conditional && { conditional: true as const }) };
    });
    return { ...(version !== undefined && { version }), nodes, edges };
  }

  /** True if a run with this graph id ran on this graph or on an earlier compilation of it. */
  compiledAs(graphId: string): boolean {
    return this.#ids.test(graphId);
  }

  /** False if a run only saves when a node waits or fails. A crashed run then cannot be resumed. */
  get saves(): boolean {
    return (
      this.#savesEvery || [...this.#nodes.values()].some((node) => node.checkpoint !== "none" && !waitsAlways(node))
    );
  }

  /** True if the node is external. For an unknown node: true if any of the graph's nodes is external. */
  isExternal(id: string | undefined): boolean {
    const node = id === undefined ? undefined : this.#nodes.get(id);
    const nodes = node === undefined ? [...this.#nodes.values()] : [node];
    return nodes.some(({ effectClass }) => effectClass === "external");
  }

  /** Returns the checkpoint with the answers of human nodes. An answer becomes the output of its node. */
  answered(checkpoint: Checkpoint, answers: Map<string, unknown>): Partial<Checkpoint> {
    const { nodeResults, runId: run, state, visitedNodes, pendingEdges } = checkpoint;
    const nodes = [...answers.keys()];
    const outputs = nodes.map((node) => {
      const output = answers.get(node);
      const own: NodeAnswer = { value: output, by: null, at: Date.now(), program: true, run };
      return [node, { ...nodeResults[node]!, output, answered: answerOf(checkpoint, node) ?? own }];
    });
    const artifacts = nodes.map((node) => [this.#artifactOf(node), answers.get(node)]);
    const emitted = this.#edges.filter(({ source, target }) => answers.has(source) && target !== END);
    return {
      nodeId: nodes.at(-1)!,
      nodeResults: { ...nodeResults, ...Object.fromEntries(outputs) },
      state: { ...state, artifacts: { ...(state.artifacts as object), ...Object.fromEntries(artifacts) } },
      visitedNodes: [...visitedNodes, ...nodes],
      pendingEdges: [...pendingEdges, ...emitted.map(({ id }) => id)],
    };
  }

  /**
   * Returns the checkpoint at the end of a run. Resuming it runs nothing, because each node is in `visitedNodes` or
   * `skippedNodes`. `completed` are the nodes that the resume completed. If unknown, a node that a router may have
   * skipped has completed if it has an output.
   */
  ended(
    { state, visitedNodes, skippedNodes = [] }: Checkpoint,
    output: unknown,
    completed: string[] | undefined,
  ): Partial<Checkpoint> {
    const before = new Set([...visitedNodes, ...skippedNodes]);
    const left = [...this.#nodes.keys()].filter((id) => !before.has(id));
    const artifacts = output ?? state.artifacts;
    const hasOutput = (id: string) => Object.hasOwn(Object(artifacts), this.#artifactOf(id));
    const ran =
      completed ?? left.filter((id) => !this.#sources(id).some((from) => this.#chooses(from)) || hasOutput(id));
    return {
      nodeId: END,
      state: { ...state, artifacts },
      visitedNodes: [...visitedNodes, ...ran.filter((id) => !before.has(id)), END],
      skippedNodes: [...skippedNodes, ...left.filter((id) => !ran.includes(id))],
      pendingEdges: [],
    };
  }

  /** Returns the artifacts' key of the node's output. */
  #artifactOf(node: string): string {
    const name = this.#nodes.get(node)?.metadata?.["outputAs"];
    return typeof name === "string" && name !== "" ? name : node;
  }

  /**
   * Returns a node with an effect that runs after `gate` for every answer, because no router, guardrail or other human
   * node is between them.
   */
  effectBehind(gate: string): string | undefined {
    const seen = new Set<string>();
    const next = this.#targets(gate);
    for (let id = next.shift(); id !== undefined; id = next.shift()) {
      const node = this.#nodes.get(id);
      if (node === undefined || seen.has(id) || this.#chooses(id) || node.type === "human") continue;
      seen.add(id);
      if (node.effectClass === "write" || node.effectClass === "external") return id;
      next.push(...this.#targets(id));
    }
    return undefined;
  }

  /** True if the node decides which of its targets run. */
  #chooses(id: string): boolean {
    const type = this.#nodes.get(id)?.type;
    return type === "router" || type === "guardrail";
  }

  #targets(source: string): string[] {
    return this.#edges.filter((edge) => edge.source === source && edge.target !== END).map(({ target }) => target);
  }

  /** Returns the nodes that must end before this one, including all whose edges choose a target at run time. */
  #sources(id: string): string[] {
    return this.#edges.filter(({ target }) => target === id || !this.#known(target)).map(({ source }) => source);
  }

  #known(target: string): boolean {
    return target === END || this.#nodes.has(target);
  }

  /**
   * Throws if the graph stores checkpoints, but none at its end. A finished run would look like a crashed one, and
   * would be repeated.
   */
  #refuseUnknownEnds(id: string): void {
    const nodes = [...this.#nodes.values()];
    const unstored = nodes.find((node) => {
      const targets = this.#edges.filter(({ source }) => source === node.id).map(({ target }) => target);
      const last = targets.length === 0 || targets.some((target) => target === END || !this.#known(target));
      return last && node.checkpoint !== "after" && node.checkpoint !== "both";
    });
    if (!this.saves || unstored === undefined) return;
    throw new ForkpointError(
      "UNSUPPORTED",
      `graph ${quote(id)} stores no checkpoint when its last node ${quote(unstored.id)} completes, so a finished run ` +
        'looks like a crashed one and would run again: use checkpointPolicy: "every_node", or checkpoint: "after" on ' +
        "each last node",
    );
  }
}

/** True if several nodes can run at the same time. A checkpoint may then look final while a node is running. */
export function isParallel({ nodes, edges }: Flow): boolean {
  return [START, ...nodes.map(({ name }) => name)].some((name) => {
    const targets = edges.filter(({ from, to, conditional }) => from === name && to !== END && conditional !== true);
    return targets.length > 1;
  });
}

/** Returns the status and the position of a run of a graph. */
export function placeOf(checkpoint: Checkpoint, { nodes, edges }: Flow): { at: Position; position: ProgramPosition } {
  const { visitedNodes, skippedNodes = [] } = checkpoint;
  const open = openNodes(checkpoint);
  const done = new Set([START, ...visitedNodes, ...skippedNodes]);
  const known = new Set([END, ...nodes.map(({ name }) => name)]);
  // An edge with a target chosen at run time counts for every node.
  const sources = (name: string) => edges.filter(({ to }) => to === name || !known.has(to)).map(({ from }) => from);
  const isReady = (name: string) => !done.has(name) && sources(name).every((from) => done.has(from));
  const ready = nodes.map(({ name }) => name).filter(isReady);
  const position = {
    done: [...done].filter((name) => name !== END),
    next: [...new Set([...open, ...ready])],
  };
  const gates = open.filter((node) => isHuman(checkpoint, node));
  if (gates.length > 0) return { at: { status: "waiting", nodes: gates }, position };
  if (open.length > 0) return { at: { status: "failed", nodes: open }, position };
  return { at: { status: ready.length > 0 ? "unfinished" : "finished" }, position };
}

/** True for a human node that only a human answers. It stores no checkpoint when it completes. */
function waitsAlways({ type, executorConfig }: Node): boolean {
  const { autoAccept, autoReject, judge, onTimeout } = (executorConfig ?? {}) as Record<string, unknown>;
  return type === "human" && !autoAccept && !autoReject && !judge && !onTimeout;
}

function compiledOf(graph: RecoverableGraph): Compiled {
  if (typeof graph?.resume !== "function" || typeof graph.toIR !== "function") {
    throw typeError(`graph must be a compiled graph of AgentOS, with resume() and toIR(), but is ${show(graph)}`);
  }
  const compiled = graph.toIR();
  if (typeof compiled?.id !== "string" || !Array.isArray(compiled.nodes) || !Array.isArray(compiled.edges)) {
    throw typeError(
      "graph.toIR() must return a compiled graph with an id, nodes and edges: pass what compile() returns",
    );
  }
  return compiled;
}
