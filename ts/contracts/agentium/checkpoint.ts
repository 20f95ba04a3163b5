/** Reads the ids and the positions of workflow checkpoints. */

import { ForkpointError, show, typeError } from "../../bridge/errors.js";
import { requireId, text } from "../../store/ids.js";
import type { WorkflowCheckpoint } from "./contract.js";

/** A checkpoint's ids, and its position in its run. */
export interface StepRef {
  id: string;
  runId: string;
  stepIndex: number;
  stepName: string;
  /**
   * The checkpoint's `createdAt` or, if that is missing, the framework's `timestamp`, in ms since the epoch.
   * `keepLastN` removes the checkpoints with the smallest value first.
   */
  createdAt: number;
}

/** Checks a checkpoint's fields. The framework's `timestamp` replaces a missing `createdAt`. */
export function readStepRef(checkpoint: Record<string, unknown>): StepRef {
  const { stepIndex, stepName } = checkpoint;
  if (typeof stepIndex !== "number" || !Number.isFinite(stepIndex)) {
    throw typeError(`checkpoint.stepIndex must be a finite number, but is ${show(stepIndex)}`);
  }
  text(stepName, "checkpoint.stepName");
  return {
    id: filled(checkpoint["id"], "checkpoint.id"),
    runId: filled(checkpoint["runId"], "checkpoint.runId"),
    stepIndex,
    stepName: requireId(stepName, "checkpoint.stepName"),
    createdAt: time(checkpoint["createdAt"], "createdAt") ?? time(checkpoint["timestamp"], "timestamp") ?? Date.now(),
  };
}

/** Checks that the id is a string and not empty. */
export function filled(id: unknown, what: string): string {
  if (id === "") throw typeError(`${what} must be a non-empty string`);
  return requireId(id, what);
}

function time(value: unknown, field: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  const ms = value instanceof Date ? value.getTime() : value;
  if (typeof ms === "number" && Number.isFinite(ms)) return ms;
  throw typeError(`checkpoint.${field} must be a number of milliseconds since the epoch, but is ${show(value)}`);
}

/**
 * Reads the ids and the position of a stored checkpoint. A store may have turned a time into a string or a Date, so times
 * are converted back. An unknown time counts as 0.
 */
export function storedRef(checkpoint: WorkflowCheckpoint<unknown>): StepRef {
  const { id, runId, stepIndex, stepName } = checkpoint;
  const { createdAt: given, timestamp } = checkpoint as { createdAt?: number; timestamp?: unknown };
  const createdAt = new Date((given ?? timestamp ?? 0) as number).getTime() || 0;
  return { id, runId, stepIndex, stepName, createdAt };
}

export function sorted<T extends WorkflowCheckpoint<any>>(checkpoints: Iterable<T>): T[] {
  return [...checkpoints].toSorted((a, b) => inOrder(storedRef(a), storedRef(b)));
}

/** Compares two checkpoints in the order of their run: by step index, then by `createdAt`. */
export function inOrder(a: StepRef, b: StepRef): number {
  return a.stepIndex - b.stepIndex || a.createdAt - b.createdAt;
}

/** Compares two checkpoints in the order in which `keepLastN` removes them. */
export function oldestFirst(a: StepRef, b: StepRef): number {
  return a.createdAt - b.createdAt || a.stepIndex - b.stepIndex;
}

export function checkpointNotFound(checkpointId: string): ForkpointError {
  return new ForkpointError("NOT_FOUND", `Checkpoint not found: ${checkpointId}`);
}
