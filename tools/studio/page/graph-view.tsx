// The graph of a run: its nodes, its transitions, and its position. A list has the same data in words.
import { useMemo } from "preact/hooks";
import { type GraphNode, type RunGraph, graphOf, shownNode } from "../../../ts/inspect/graph.js";
import type { CourseAnswer } from "../course-answer.js";
import { count, counted, shown } from "./format.js";
import { HEIGHT, type PlacedEdge, type PlacedNode, layOutGraph } from "./graph-layout.js";
import type { RunView } from "./run-data.js";
import { Button, Empty, Skeleton } from "./ui.js";

/** Larger graphs are shown as a list only. */
const MOST = { nodes: 120, edges: 400 };

/** The maximum number of characters of a name in the drawing, and their width. */
const [LENGTH, CHARACTER] = [24, 7.4];

const labelOf = (node: GraphNode): string => shown(shownNode(node), LENGTH);
const widthOf = (node: GraphNode): number => Math.max(56, [...labelOf(node)].length * CHARACTER + 28);

/** The words for a state, which the drawing shows because a color is not enough. */
const words = { waiting: "waiting", failed: "failed", next: "next", done: "", idle: "" };

export function GraphView({ view, more }: { view: RunView; more: CourseAnswer | null }) {
  const steps = view.steps.value;
  const status = view.info.value?.status;
  const graph = useMemo(
    () => graphOf({ steps, status, program: more?.program, next: more?.next }),
    [steps, status, more],
  );
  if (steps.length === 0)
    return view.loading.value ? <Skeleton rows={8} /> : <Empty title="This run has no checkpoints" />;
  const known = graph.nodes.some(({ kind }) => kind === "node");
  if (!known) return more === null ? <Skeleton rows={8} /> : <Empty title="The nodes of this run aren't known" />;
  const isLarge = graph.nodes.length > MOST.nodes || graph.edges.length > MOST.edges;
  /** Shows the newest step of a node. */
  const look = (name: string) => {
    const step = steps.find(({ nodes }) => nodes?.includes(name));
    if (step !== undefined) view.look(step.id);
  };
  return (
    <div class="graph-pane scroll" tabIndex={0} role="region" aria-label="Graph">
      {isLarge ? (
        <p class="note soft">The graph has {counted(graph.nodes.length, "node")}: too many to draw.</p>
      ) : (
        <Drawing graph={graph} look={look} />
      )}
      {graph.source === "run" && (
        <p class="note dim small">Drawn from what this run did. Other ways of the program aren't known.</p>
      )}
      <Words graph={graph} look={look} />
    </div>
  );
}

interface DrawnProps {
  graph: RunGraph;
  look: (name: string) => void;
}

function Drawing({ graph, look }: DrawnProps) {
  const byName = useMemo(() => new Map(graph.nodes.map((node) => [node.name, node])), [graph]);
  const layout = useMemo(() => layOutGraph(graph, (name) => widthOf(byName.get(name)!)), [graph]);
  const { nodes, edges, width, height } = layout;
  const text = `A graph with ${counted(graph.nodes.length, "node")} and ${counted(graph.edges.length, "edge")}. The list below has them.`;
  return (
    <svg
      class="graph"
      data-testid="graph"
      role="img"
      aria-label={text}
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
    >
      <defs>
        <marker id="arrow" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M0 0L8 4L0 8z" fill="context-stroke" />
        </marker>
      </defs>
      {edges.map((placed) => (
        <Edge key={`${placed.edge.from}\0${placed.edge.to}`} placed={placed} />
      ))}
      {nodes.map((placed) => (
        <Node key={placed.name} placed={placed} node={byName.get(placed.name)!} look={look} />
      ))}
    </svg>
  );
}

function Edge({ placed: { edge, d, x, y } }: { placed: PlacedEdge }) {
  const { from, to, count: times } = edge;
  return (
    <g
      class={`graph-edge ${times === 0 ? "idle" : ""}`}
      data-testid="graph-edge"
      data-from={from}
      data-to={to}
      data-count={times}
    >
      <path d={d} fill="none" marker-end="url(#arrow)" />
      {times > 1 && (
        <text x={x + 4} y={y + 4}>
          ×{count(times)}
        </text>
      )}
    </g>
  );
}

function Node({
  placed: { x, y, width },
  node,
  look,
}: {
  placed: PlacedNode;
  node: GraphNode;
  look: (name: string) => void;
}) {
  const { name, kind, state } = node;
  return (
    <g
      class={`graph-node ${kind} ${state} ${kind === "node" && node.runs > 0 ? "link" : ""}`}
      data-testid="graph-node"
      data-node={name}
      data-state={state}
      onClick={() => look(name)}
    >
      <rect x={x - width / 2} y={y - HEIGHT / 2} width={width} height={HEIGHT} rx={kind === "node" ? 6 : HEIGHT / 2} />
      <text x={x} y={words[state] === "" ? y + 4 : y - 2}>
        {labelOf(node)}
      </text>
      {words[state] !== "" && (
        <text class="state" x={x} y={y + 11}>
          {words[state]}
        </text>
      )}
    </g>
  );
}

/** The graph as lists: the nodes, with links to their newest steps, and the edges. */
function Words({ graph: { nodes, edges }, look }: DrawnProps) {
  const names = new Map(nodes.map((node) => [node.name, shown(shownNode(node), 80)]));
  return (
    <section class="graph-text part" data-testid="graph-text" aria-label="The graph as text">
      <h2>Nodes</h2>
      <ul>
        {nodes
          .filter(({ kind }) => kind === "node")
          .map(({ name, runs, state }) => (
            <li key={name} class="row">
              {runs > 0 ? (
                <Button kind="quiet" class="button quiet mono" title="Show its newest step" onClick={() => look(name)}>
                  {names.get(name)}
                </Button>
              ) : (
                <span class="mono">{names.get(name)}</span>
              )}
              <span class="soft">{runs === 0 ? "has not run" : `ran ${counted(runs, "time")}`}</span>
              {words[state] !== "" && <em class={`tone ${state === "next" ? "unfinished" : state}`}>{words[state]}</em>}
            </li>
          ))}
      </ul>
      <h2>Edges</h2>
      <ul>
        {edges.map(({ from, to, count: times }) => (
          <li key={`${from}\0${to}`} class="mono">
            {names.get(from)} → {names.get(to)}{" "}
            <span class="soft">{times === 0 ? "not taken" : `×${count(times)}`}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
