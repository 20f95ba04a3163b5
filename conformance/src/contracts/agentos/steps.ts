// Runs that programs in other processes save.
import type { Checkpoint } from "./store.js";
import { checkpoint, graph, id, run, time } from "./checkpoints.js";

/** Returns text that is the same for the same number, and not for another. */
const filler = (n: number) => `step ${n} `.repeat(200);

/** Returns the checkpoint of a step. All parts of it have the step's number, so that half of one is noticed. */
export function step(n: number, fields: Partial<Checkpoint> = {}): Checkpoint {
  const nodes = Array.from({ length: Math.min(n, 20) + 1 }, (_, of) => `node-${of}`);
  const base = checkpoint();
  return {
    ...base,
    id: id(n),
    nodeId: `node-${n}`,
    timestamp: time + n,
    state: { ...base.state, scratch: { n, text: filler(n) }, artifacts: { n } },
    nodeResults: Object.fromEntries(
      nodes.map((node) => [node, { effectClass: "write", output: { n, text: filler(n) }, durationMs: n }]),
    ),
    visitedNodes: nodes,
    pendingEdges: [`node-${n}->node-${n + 1}`],
    ...fields,
  };
}

/** Returns what two processes save with one id. All parts say by whom. */
export function version(by: string, n: number): Checkpoint {
  return step(n, { id: id(0), runId: run(1), nodeId: by, graphId: graph, timestamp: time, visitedNodes: [by, `${n}`] });
}
