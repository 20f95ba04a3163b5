/** Checks the arguments of Mastra's storage. */

import { isArray, rangeError, readingArgument, show, typeError } from "../../bridge/errors.js";
import { listOf, nonEmpty, optionalId, requireId } from "../../store/ids.js";
import type { Listing, Snapshot } from "./runs.js";
import type { Of } from "./wire.js";

/** Reads the fields of an argument. `what` names it. */
export function fieldsOf(args: unknown, names: readonly string[], what = "the argument"): Record<string, unknown> {
  if (typeof args !== "object" || args === null) throw typeError(`${what} must be an object, but is ${show(args)}`);
  return readingArgument(what, () =>
    Object.fromEntries(names.map((name) => [name, (args as Record<string, unknown>)[name]])),
  );
}

export function runOf({ workflowName, runId }: Record<string, unknown>): Of {
  return { workflow: nonEmpty(workflowName, "workflowName"), run: nonEmpty(runId, "runId") };
}

export function snapshotArgument(snapshot: unknown): Snapshot {
  if (isObject(snapshot)) return snapshot as Snapshot;
  throw typeError(`snapshot must be an object, but is ${show(snapshot)}`);
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !isArray(value);

export function timeOf(date: unknown, name: string): number | undefined {
  if (date === undefined || date === null) return undefined;
  const time = date instanceof Date ? date.getTime() : Number.NaN;
  if (Number.isNaN(time)) throw typeError(`${name} must be a valid Date, but is ${show(date)}`);
  return time;
}

/** Like {@link timeOf}. Messages may have a date as text, because JSON has no dates. */
export function dateOf(date: unknown, name: string): number | undefined {
  return timeOf(typeof date === "string" ? new Date(date) : date, name);
}

/** A page of a list. */
export interface Paging {
  page: number;
  /** The value of `perPage` in the response. */
  perPage: number | false;
  offset: number;
  /** Infinity: no limit. */
  limit: number;
}

/** Reads `page` and `perPage`. A wrong number is a RangeError. Mastra's own stores disagree about it. */
export function pagingOf({ page = 0, perPage }: Record<string, unknown>, most: number): Paging {
  for (const [name, value] of Object.entries({ page, perPage })) {
    if (value === undefined || (name === "perPage" && value === false)) continue;
    if (typeof value !== "number") throw typeError(`${name} must be a number, but is ${show(value)}`);
    if (!Number.isSafeInteger(value) || value < 0)
      throw rangeError(`${name} must be a whole number from 0, but is ${value}`);
  }
  const [at, size] = [page as number, (perPage ?? most) as number | false];
  if (size === false && at > 0) throw rangeError("page must be 0 if perPage is false");
  const offset = size === false ? 0 : at * size;
  if (!Number.isSafeInteger(offset)) throw rangeError(`page must be smaller, but is ${at}`);
  return { page: at, perPage: size, offset, limit: size === false ? Infinity : size };
}

const LIST = ["workflowName", "fromDate", "toDate", "perPage", "page", "resourceId", "status"];

/** Reads the argument of `listWorkflowRuns`. */
export function readListing(args: unknown): Listing {
  const given = fieldsOf(args ?? {}, LIST);
  const [workflow, resource, status] = ["workflowName", "resourceId", "status"].map((name) => filterOf(given, name));
  const [from, to] = ["fromDate", "toDate"].map((name) => timeOf(given[name], name));
  const { page, perPage } = given;
  const { offset, limit } = pagingOf(given, 0);
  const isPaged = page !== undefined && perPage !== undefined;
  const filter = { status, resource, from, to };
  if (!isPaged) return { workflow, filter, offset: 0, limit: undefined };
  return { workflow, filter, offset, limit: limit === Infinity ? undefined : limit };
}

/** Reads a filter text. An empty text means no filter, as in Mastra's own stores. */
export const filterOf = (given: Record<string, unknown>, name: string): string | undefined =>
  optionalId(given[name], name) || undefined;

/** Reads `threadId`: an id, or a list of ids. */
export function threadsOf(given: unknown): string[] {
  const all = isArray(given) ? listOf(requireId, given, "threadId") : [requireId(given, "threadId")];
  if (all.length === 0 || all.some((id) => id.trim() === ""))
    throw typeError("threadId must be a non-empty string, or a list of non-empty strings");
  return [...new Set(all)];
}

/** The time range of a filter, in ms since the epoch: from `from` on, and before `before`. */
export function rangeOf(given: unknown): { from: number | undefined; before: number | undefined } {
  if (given === undefined || given === null) return { from: undefined, before: undefined };
  const range = fieldsOf(given, ["start", "end", "startExclusive", "endExclusive"], "filter.dateRange");
  const [start, end] = ["start", "end"].map((name) => dateOf(range[name], `filter.dateRange.${name}`));
  return {
    from: start === undefined ? undefined : start + Number(range["startExclusive"] === true),
    before: end === undefined ? undefined : end + Number(range["endExclusive"] !== true),
  };
}

/** A message to list with its neighbors. */
export interface Included {
  id: string;
  before: number;
  after: number;
}

function countOf(value: unknown, name: string): number {
  if (value === undefined || value === null) return 0;
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw rangeError(`${name} must be a whole number from 0, but is ${show(value)}`);
}

export function includedOf(given: unknown): Included[] {
  if (given === undefined || given === null) return [];
  return listOf((one) => fieldsOf(one, ["id", "withPreviousMessages", "withNextMessages"], "include"), given, "include")
    .filter(({ id }) => id !== undefined && id !== "")
    .map(({ id, withPreviousMessages, withNextMessages }) => ({
      id: nonEmpty(id, "include.id"),
      before: countOf(withPreviousMessages, "withPreviousMessages"),
      after: countOf(withNextMessages, "withNextMessages"),
    }));
}
