/** The shape of a workflow: its steps in order, with their inner steps. */

import type { ProgramEdge, ProgramNode, ProgramPosition, ProgramShape } from "../../store/compare-programs.js";
import { isInside, pathOf } from "../shared/fit.js";
import type { Definition, Node } from "./steps.js";

/** The place before the first step. */
const START = "the start";

/** The shape of each workflow. */
export const shapes = new WeakMap<object, ProgramShape>();

/** Returns the shape of a workflow. The name of an inner step is that of its outer step, a colon, and its own. */
export function shapeOfWorkflow(
  { nodes, description: { steps } }: Pick<Definition, "nodes" | "description">,
  program: string,
  version: string | undefined,
): ProgramShape {
  const names = namesOf(nodes);
  const edges: ProgramEdge[] = [];
  /** The previous step inside each outer step. */
  const before = new Map<number | undefined, number>();
  for (const [at, { parent }] of steps.entries()) {
    const isBranch = parent !== undefined && steps[parent]!.kind === "parallel";
    const last = isBranch ? undefined : before.get(parent);
    before.set(parent, at);
    const from = last ?? parent;
    edges.push({ from: from === undefined ? START : names[from]!, to: names[at]! });
  }
  const shaped: ProgramNode[] = nodes.map(({ kind }, at) => ({ name: names[at]!, kind }));
  return { program, ...(version !== undefined && { version }), nodes: shaped, edges };
}

/** Steps may have the same name. */
function namesOf(nodes: readonly Node[]): string[] {
  const taken = new Set<string>();
  return nodes.map(({ path }) => {
    const name = pathOf(path);
    let unique = name;
    for (let count = 2; taken.has(unique); count++) unique = `${name} (${count})`;
    taken.add(unique);
    return unique;
  });
}

/** Returns the position of a run after the step with this index. -1: before the first step. */
export function positionAfter(stepIndex: number, { nodes }: ProgramShape): ProgramPosition {
  const done = [START];
  const next: string[] = [];
  let index = -1;
  for (const { name } of nodes) {
    if (!isInside(name)) index += 1;
    if (index <= stepIndex) done.push(name);
    else if (index === stepIndex + 1 && !isInside(name)) next.push(name);
  }
  return { done, next };
}
