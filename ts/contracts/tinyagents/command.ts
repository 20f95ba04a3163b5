/** What nodes and callers use to direct a graph. */

import type {
  Command as CommandContract,
  CommandFields,
  Goto,
  Send as SendContract,
} from "../../../tinyagents-nodes.js";
import { show, typeError } from "../../bridge/errors.js";

/** The source of the edges to the first nodes. */
export const START = "__start__";
/** The target of the edges that lead to no node. */
export const END = "__end__";

export class Send implements SendContract {
  readonly node: string;
  readonly arg: unknown;

  constructor(node: string, arg: unknown) {
    if (typeof node !== "string") throw typeError(`Send's node must be a string, and is ${show(node)}`);
    this.node = node;
    this.arg = arg;
  }
}

const fields = ["goto", "update", "resume", "answers"] as const;

export class Command<U = any> implements CommandContract<U> {
  declare readonly goto?: Goto;
  declare readonly update?: U;
  declare readonly resume?: unknown;
  declare readonly answers?: Record<string, unknown>;

  constructor(given: CommandFields<U>) {
    if (typeof given !== "object" || given === null)
      throw typeError(`Command takes an object, and was given ${show(given)}`);
    for (const key of Object.keys(given)) {
      if (!fields.includes(key as "goto"))
        throw typeError(`Command has no field "${key}": it has ${fields.join(", ")}`);
    }
    // A field that is present with the value undefined is an answer, so only present fields are copied.
    Object.assign(this, given);
  }
}

/** Thrown by `context.interrupt` to leave the node. */
export class InterruptSignal extends Error {
  constructor(node: string) {
    super(`node "${node}" waits for an answer. This is not an error: let it pass`);
    this.name = "InterruptSignal";
  }
}
