/** Edits the JSON form of a value. */

import { ForkpointError, isArray } from "../errors.js";
import type { PathStep } from "../../inspect.js";

type Container = Record<string, unknown>;

export function setAt(form: unknown, path: readonly PathStep[], value: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined) return value;
  if (typeof form !== "object" || form === null) {
    throw new ForkpointError("NOT_FOUND", `there is no value at ${JSON.stringify(step)}`);
  }
  const key = isArray(form) && typeof step === "number" && step < 0 ? form.length + step : step;
  const copy = (isArray(form) ? [...form] : { ...form }) as Container;
  if (rest.length > 0 && !Object.hasOwn(copy, key as string)) {
    throw new ForkpointError("NOT_FOUND", `there is no value at ${JSON.stringify(step)}`);
  }
  copy[key as string] = setAt(copy[key as string], rest, value);
  return copy;
}

export function mergePatch(form: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || isArray(patch)) return patch;
  const merged: Container = typeof form === "object" && form !== null && !isArray(form) ? { ...form } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}
