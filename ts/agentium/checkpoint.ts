import { ForkpointError, show, typeError } from "../errors.js";
import { requireId } from "../ids.js";

/** Where a checkpoint belongs. */
export interface Place {
  id: string;
  runId: string;
  stepIndex: number;
  stepName: string;
  /** What `keepLastN` calls old goes by this: `createdAt`, or else the framework's `timestamp`, in ms since the epoch. */
  age: number;
}

/** Checks the fields of a checkpoint: the documented ones, and where they stand in for those the framework's. */
export function readPlace(checkpoint: Record<string, unknown>): Place {
  const { stepIndex, stepName } = checkpoint;
  if (typeof stepIndex !== "number" || !Number.isFinite(stepIndex)) {
    throw typeError(`checkpoint.stepIndex must be a finite number, and is ${show(stepIndex)}`);
  }
  if (typeof stepName !== "string") throw typeError(`checkpoint.stepName must be a string, and is ${show(stepName)}`);
  return {
    id: filled(checkpoint["id"], "checkpoint.id"),
    runId: filled(checkpoint["runId"], "checkpoint.runId"),
    stepIndex,
    stepName: requireId(stepName, "checkpoint.stepName"),
    age: time(checkpoint["createdAt"], "createdAt") ?? time(checkpoint["timestamp"], "timestamp") ?? Date.now(),
  };
}

/** An id that is not empty. */
export function filled(id: unknown, what: string): string {
  if (id === "") throw typeError(`${what} must be a non-empty string`);
  return requireId(id, what);
}

function time(value: unknown, field: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  const ms = value instanceof Date ? value.getTime() : value;
  if (typeof ms === "number" && Number.isFinite(ms)) return ms;
  throw typeError(`checkpoint.${field} must be a number of milliseconds since the epoch, and is ${show(value)}`);
}

/** In the order of a run: by step index, then by age. */
export function inOrder(a: Place, b: Place): number {
  return a.stepIndex - b.stepIndex || a.age - b.age;
}

/** In the order in which `keepLastN` removes. */
export function oldestFirst(a: Place, b: Place): number {
  return a.age - b.age || a.stepIndex - b.stepIndex;
}

export function checkpointNotFound(checkpointId: string): ForkpointError {
  return new ForkpointError("NOT_FOUND", `Checkpoint not found: ${checkpointId}`);
}
