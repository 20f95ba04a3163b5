/** `Command`, `Send` and the other values that direct a graph, from nodes and callers. */

import { show, typeError } from "../../bridge/errors.js";

/** The nodes that run next. {@link END} counts as none. */
export type Goto = string | Send | ReadonlyArray<string | Send>;

export interface CommandFields<U> {
  /** Activates these nodes, in addition to the edges' targets. */
  goto?: Goto;
  /** An update of the state. */
  update?: U;
  /** The answer to all interrupted tasks, in calls that resume. Undefined is an answer too. */
  resume?: unknown;
  /** Answers to some interrupted tasks, by task id or node. The other tasks keep waiting. Excludes `resume`. */
  answers?: Record<string, unknown>;
}

/** The source of the edges to the first nodes. */
export const START = "__start__" as const;
/** The target of an edge to no node. */
export const END = "__end__" as const;

/**
 * Activates a node with its own argument. Each Send is a task.
 *
 * @example const sends = state.urls.map((url) => new Send("fetch", url));
 */
export class Send {
  readonly node: string;
  /** The node finds the argument in `context.sendArg`. */
  readonly arg: unknown;

  constructor(node: string, arg: unknown) {
    if (typeof node !== "string") throw typeError(`Send's node must be a string, but is ${show(node)}`);
    this.node = node;
    this.arg = arg;
  }
}

const names = ["goto", "update", "resume", "answers"] as const;

/**
 * Directs a graph. A node returns it to update the state and choose the next nodes. `resume()` takes it as input.
 *
 * @example const command = new Command({ update: { approved: true }, goto: "publish" });
 */
export class Command<U = any> implements CommandFields<U> {
  declare readonly goto?: Goto;
  declare readonly update?: U;
  declare readonly resume?: unknown;
  declare readonly answers?: Record<string, unknown>;

  /** @throws TypeError for an unknown field. */
  constructor(fields: CommandFields<U>) {
    if (typeof fields !== "object" || fields === null)
      throw typeError(`Command takes an object, but was given ${show(fields)}`);
    for (const key of Object.keys(fields)) {
      if (!names.includes(key as "goto")) throw typeError(`Command has no field "${key}": it has ${names.join(", ")}`);
    }
    // A present field with the value undefined is an answer, so only present fields are copied.
    Object.assign(this, fields);
  }
}

/** Thrown by `context.interrupt` to leave the node. */
export class InterruptSignal extends Error {
  constructor(node: string) {
    super(`node "${node}" waits for an answer. This is not an error: do not catch it, or throw it again`);
    this.name = "InterruptSignal";
  }
}
