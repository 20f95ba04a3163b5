/** Makes the context that a step gets. */

import { type RunEffects, onceOf } from "../shared/once.js";
import type { Node, RunContext, StepContext } from "./steps.js";

/** The part of a context that all steps of a run share. */
export type SharedContext = Pick<
  RunContext,
  "runId" | "sessionId" | "metadata" | "dependencies" | "eventBus" | "sessionState"
> & { workflow: string; userId: string | undefined; effects: RunEffects };

export function contextOf(
  shared: SharedContext,
  node: Node,
  attempt: number,
  signal: AbortSignal,
  run: { readonly draining: boolean },
): StepContext {
  const { runId, sessionId, userId, metadata, dependencies, eventBus, workflow } = shared;
  const { name: stepName, stepIndex, path } = node;
  return {
    runId,
    workflow,
    stepIndex,
    stepName,
    path,
    attempt,
    signal,
    sessionId,
    ...(userId !== undefined && { userId }),
    metadata,
    dependencies,
    eventBus,
    get draining() {
      return run.draining;
    },
    get sessionState() {
      return shared.sessionState;
    },
    set sessionState(state) {
      shared.sessionState = state;
    },
    once: onceOf(shared.effects, { signal }),
    getState: <T>(key: string) => shared.sessionState[key] as T | undefined,
    setState: (key, value) => {
      shared.sessionState[key] = value;
    },
  };
}
