/** `describe` for Agentium. */

import { show, typeError } from "../../bridge/errors.js";
import { type ProgramDescription, descriptionOf } from "../../store/description.js";
import { shapes } from "./shape.js";
import { agentium } from "./wire.js";
import type { Workflow } from "./workflow.js";

/**
 * Describes a version of a workflow, as JSON. `forkpoint drain-check` lists the open runs that do not fit it.
 * @example console.log(JSON.stringify(describe(workflow)));
 */
export function describe(workflow: Workflow<any>): ProgramDescription {
  const shape = shapes.get(workflow);
  if (shape === undefined) throw typeError(`workflow must be a Workflow of forkpoint, but is ${show(workflow)}`);
  return descriptionOf(agentium.name as "agentium", shape);
}
