/** Checks the arguments of Mastra's workflow storage. */

import { isArray, rangeError, readingArgument, show, typeError } from "../../bridge/errors.js";
import { nonEmpty, optionalId } from "../../store/ids.js";
import type { Snapshot } from "./runs.js";
import type { FoundRun, Of } from "./wire.js";

/** Reads the fields of an argument. */
export function fieldsOf(args: unknown, names: readonly string[]): Record<string, unknown> {
  if (typeof args !== "object" || args === null)
    throw typeError(`the argument must be an object, but is ${show(args)}`);
  return readingArgument("the argument", () =>
    Object.fromEntries(names.map((name) => [name, (args as Record<string, unknown>)[name]])),
  );
}

export function runOf({ workflowName, runId }: Record<string, unknown>): Of {
  return { workflow: nonEmpty(workflowName, "workflowName"), run: nonEmpty(runId, "runId") };
}

export function snapshotArgument(snapshot: unknown): Snapshot {
  if (typeof snapshot === "object" && snapshot !== null && !isArray(snapshot)) return snapshot as Snapshot;
  throw typeError(`snapshot must be an object, but is ${show(snapshot)}`);
}

export function timeOf(date: unknown, name: string): number | undefined {
  if (date === undefined || date === null) return undefined;
  const time = date instanceof Date ? date.getTime() : Number.NaN;
  if (Number.isNaN(time)) throw typeError(`${name} must be a valid Date, but is ${show(date)}`);
  return time;
}

/** Which runs a list has, and which page of them. */
export interface Listing {
  workflow: string | undefined;
  accepts(run: FoundRun): boolean;
  page<T>(all: T[]): T[];
}

const LIST = ["workflowName", "fromDate", "toDate", "perPage", "page", "resourceId", "status"];

/** Reads the argument of `listWorkflowRuns`. */
export function readListing(args: unknown): Listing {
  const given = fieldsOf(args ?? {}, LIST);
  const [workflow, resource, status] = ["workflowName", "resourceId", "status"].map(
    // Mastra's own stores take an empty text for no filter.
    (name) => optionalId(given[name], name) || undefined,
  );
  const [from = -Infinity, to = Infinity] = ["fromDate", "toDate"].map((name) => timeOf(given[name], name));
  const { page, perPage } = given;
  const isPaged = page !== undefined && perPage !== undefined;
  for (const [name, value] of Object.entries({ page, perPage })) {
    if (value === undefined || (name === "perPage" && value === false)) continue;
    if (typeof value !== "number") throw typeError(`${name} must be a number, but is ${show(value)}`);
    if (!Number.isSafeInteger(value) || value < 0)
      throw rangeError(`${name} must be a whole number from 0, but is ${value}`);
  }
  if (perPage === false && Number(page ?? 0) > 0) throw rangeError("page must be 0 if perPage is false");
  return {
    workflow,
    accepts: (run) =>
      (status === undefined || run.status === status) &&
      (resource === undefined || run.resource === resource) &&
      run.createdAt >= from &&
      run.createdAt <= to,
    page: (all) => {
      if (!isPaged || perPage === false) return all;
      const begin = Number(page) * Number(perPage);
      return all.slice(begin, begin + Number(perPage));
    },
  };
}
