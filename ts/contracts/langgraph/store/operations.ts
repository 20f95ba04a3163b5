/** Reads the operations of a batch. A wrong operation is refused before anything is written. */

import { isArray, rangeError, readingArgument, show, typeError } from "../../../bridge/errors.js";
import type { Engine } from "../../../store/engine.js";
import { requireId, requireIds, text } from "../../../store/ids.js";
import { type Filter, readFilter } from "./filter.js";
import { type EncodedValue, encodeValue } from "./values.js";
import type { Address, Match } from "./wire.js";

/** Null: no item can have this address. */
type Named = { address: Address | null };

export type Operation =
  | ({ kind: "get" } & Named)
  | ({ kind: "delete" } & Named)
  | { kind: "put"; address: Address; value: EncodedValue }
  | { kind: "search"; prefix: string[] | null; filter: Filter; limit: number; offset: number }
  | { kind: "list"; matching: Match[] | null; maxDepth: number | undefined; limit: number; offset: number };

/** The fields of an operation, unchecked. */
export type Fields = Record<string, unknown>;

/** Throws the error of LangGraph's own `put` for this namespace. */
export type CheckNamespace = (namespace: unknown) => Promise<void> | undefined;

const FIELDS = ["namespace", "key", "value", "namespacePrefix", "filter", "matchConditions", "maxDepth"];

export function operationsOf(given: unknown): Fields[] {
  if (!isArray(given)) throw typeError(`operations must be an array, but is ${show(given)}`);
  return readingArgument("operations", () =>
    [...given].map((operation, at) => {
      if (typeof operation !== "object" || operation === null)
        throw typeError(`operations[${at}] must be an object, but is ${show(operation)}`);
      const fields = [...FIELDS, "limit", "offset"].filter((name) => name in operation);
      return Object.fromEntries(fields.map((name) => [name, (operation as Record<string, unknown>)[name]]));
    }),
  );
}

export const isPut = (fields: Fields): boolean =>
  "value" in fields && !("namespacePrefix" in fields) && fields["value"] !== null;

export function readOperation(engine: Engine, fields: Fields): Operation {
  if ("namespacePrefix" in fields) {
    const prefix = namesOf(fields["namespacePrefix"], "namespacePrefix");
    const filter = readFilter(fields["filter"]);
    return { kind: "search", prefix, filter, ...pageOf(fields, 10) };
  }
  if (isPut(fields)) {
    const namespace = requireIds(fields["namespace"], "namespace");
    const address = { namespace, key: requireId(fields["key"], "key") };
    return { kind: "put", address, value: encodeValue(engine, fields["value"]) };
  }
  if ("key" in fields || "namespace" in fields || "value" in fields) {
    const namespace = namesOf(fields["namespace"], "namespace");
    const key = text(fields["key"], "key");
    const address = namespace !== null && namespace.length > 0 && key.isWellFormed() ? { namespace, key } : null;
    return { kind: "value" in fields ? "delete" : "get", address };
  }
  const { maxDepth } = fields;
  if (maxDepth !== undefined && maxDepth !== null) wholeNumber(maxDepth, "maxDepth", 1);
  const matching = matchingOf(fields["matchConditions"]);
  return { kind: "list", matching, maxDepth: (maxDepth ?? undefined) as number | undefined, ...pageOf(fields, 100) };
}

/** Reads the labels of a namespace for a search. Null: no item can have them. */
function namesOf(given: unknown, what: string): string[] | null {
  if (!isArray(given)) throw typeError(`${what} must be an array of strings, but is ${show(given)}`);
  const labels = readingArgument(what, () => [...given]).map((label, at) => text(label, `${what}[${at}]`));
  return labels.every((label) => label.isWellFormed()) ? labels : null;
}

function matchingOf(given: unknown): Match[] | null {
  if (given === undefined || given === null) return [];
  if (!isArray(given)) throw typeError(`matchConditions must be an array, but is ${show(given)}`);
  const all = readingArgument("matchConditions", () =>
    [...given].map((one) => ({ matchType: Object(one).matchType as unknown, path: Object(one).path as unknown })),
  ).map(({ matchType, path }, at) => {
    if (matchType !== "prefix" && matchType !== "suffix")
      throw typeError(`matchConditions[${at}].matchType must be "prefix" or "suffix", but is ${show(matchType)}`);
    return { suffix: matchType === "suffix", labels: namesOf(path, `matchConditions[${at}].path`) };
  });
  const matching = all.flatMap(({ suffix, labels }) =>
    labels === null ? [] : [{ suffix, labels: labels.map((label) => (label === "*" ? null : label)) }],
  );
  return matching.length === all.length ? matching : null;
}

function pageOf({ limit, offset }: Record<string, unknown>, most: number): { limit: number; offset: number } {
  const wanted = limit ?? most;
  return {
    limit: wanted === Number.POSITIVE_INFINITY ? wanted : wholeNumber(wanted, "limit", 0),
    offset: wholeNumber(offset ?? 0, "offset", 0),
  };
}

function wholeNumber(value: unknown, name: string, least: number): number {
  if (typeof value !== "number") throw typeError(`${name} must be a number, but is ${show(value)}`);
  if (!Number.isSafeInteger(value) || value < least)
    throw rangeError(`${name} must be a whole number from ${least}, but is ${value}`);
  return value;
}
