/** Effects that run once in AgentOS. current-run.ts and with-effects.ts do the work, and are loaded on first use. */

import type { ContextOnce } from "../shared/once.js";
import type { CheckpointStore } from "./checkpoint-store.js";
import type { EffectGraph } from "./with-effects.js";

const later = (): typeof import("./later.js") => require("./later.js");

/**
 * Returns the graph with runs in which {@link once} works. Its type, its events and its `toIR()` are those of the
 * graph. `store` is the store that the graph was compiled with.
 *
 * A run of the returned graph also saves a checkpoint before its first node, with the node id `__START__`. With it,
 * `recover` can resume a run whose process ended during the first node.
 *
 * `recover` needs no such graph: `once` works in every run that it resumes.
 *
 * @throws ForkpointError `UNSUPPORTED` if the graph stores checkpoints but none at its end: use `checkpointPolicy:
 *   "every_node"`. TypeError for a wrong argument.
 * @example
 * ```ts
 * const graph = withEffects(builder.compile({ checkpointStore: store, deps }), store);
 * await recover(graph, store);
 * await graph.invoke({ order: 7 });
 * ```
 */
export function withEffects<G extends EffectGraph>(graph: G, store: CheckpointStore): G {
  return later().withEffects(graph, store);
}

/**
 * Runs a function once for each key of the current run, and stores its result before it resolves. A repeated node gets
 * the stored result. Call it in a tool, an extension or another function that a node calls. It finds the run itself, if
 * `recover` resumed the run or {@link withEffects} returned its graph.
 *
 * The nodes of a run share their keys, so a repeated effect needs a number or a name in its key: `"mail 3"`. If a node
 * runs a graph that is not from {@link withEffects}, its effects belong to the run of the node.
 *
 * An effect is external if its node has `effectClass: "external"`, which is AgentOS' default for tools. If AgentOS does
 * not report the running node, as in parallel branches, the effect is external if any node of the graph is.
 *
 * @throws ForkpointError `UNSUPPORTED` outside a run. The other errors are those of `Once` in `forkpoint/effects`.
 * @example
 * ```ts
 * const tools = {
 *   charge: ({ order }) => once(`charge order ${order}`, ({ idempotencyKey }) => charge(order, idempotencyKey)),
 * };
 * ```
 */
export const once: ContextOnce = (key, effect, options) => later().once(key, effect, options);
