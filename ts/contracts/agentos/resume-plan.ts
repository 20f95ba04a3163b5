/** `resumePlan`: how a resume treats the nodes of a checkpoint. */

import { quote, readingArgument, show, typeError } from "../../bridge/errors.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Tool } from "../../bridge/native.js";
import { parse } from "../../bridge/wire.js";
import { requireId, requireIds } from "../../store/ids.js";
import type { Checkpoint } from "./contract.js";

/** How a resume treats each node of a checkpoint. A node in none of the lists has not started and must run. */
export interface ResumePlan {
  /** Completed nodes. Do not run them again: the state contains their effects. */
  completed: string[];
  /** Nodes that routing skipped. Do not run them. */
  skipped: string[];
  /**
   * Nodes with a recorded `write`, `external` or `human` result. Use `nodeResults[id].output` instead of running them.
   */
  replay: string[];
  /** Nodes with a recorded `pure` or `read` result. Run them again. */
  reexecute: string[];
}

type Planner = Tool<engine.agentos.tool.Which, engine.agentos.tool.Nodes>;

const planner: Planner = new Tool("agentos", { resumePlanner: {} });

/**
 * Sorts a checkpoint's nodes by how a resume treats them, which depends on their effect class.
 * @throws ForkpointError `INVALID_ARGUMENT` for an unknown effect class. TypeError if the checkpoint lacks one of the
 *   fields that this function reads.
 * @example const { completed, skipped, replay, reexecute } = resumePlan(checkpoint);
 */
export function resumePlan(checkpoint: Pick<Checkpoint, "nodeResults" | "visitedNodes" | "skippedNodes">): ResumePlan {
  const recorded = readingArgument("checkpoint", () => recordedIn(checkpoint));
  return parse(planner.call(recorded)) as engine.agentos.tool.ResumePlan;
}

function recordedIn(checkpoint: Parameters<typeof resumePlan>[0]): engine.agentos.tool.Nodes {
  if (typeof checkpoint !== "object" || checkpoint === null) {
    throw typeError(`checkpoint must be an object, but is ${show(checkpoint)}`);
  }
  const { nodeResults, visitedNodes, skippedNodes } = checkpoint;
  if (typeof nodeResults !== "object" || nodeResults === null) {
    throw typeError(`checkpoint.nodeResults must be an object, but is ${show(nodeResults)}`);
  }
  const nodes = Object.keys(nodeResults);
  const classes = nodes.map((node) => {
    requireId(node, "a key of checkpoint.nodeResults");
    return requireId(nodeResults[node]?.effectClass, `checkpoint.nodeResults[${quote(node)}].effectClass`);
  });
  const visited = requireIds(visitedNodes, "checkpoint.visitedNodes");
  const skipped = skippedNodes === undefined ? [] : requireIds(skippedNodes, "checkpoint.skippedNodes");
  const recorded = nodes.map((node, at): [string, string] => [node, classes[at]!]);
  return { recorded, visited, skipped };
}
