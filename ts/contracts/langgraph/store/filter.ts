/** Reads the filter of a search, and compares the values that the engine cannot compare. */

import { isDeepStrictEqual } from "node:util";
import { isArray, quote, readingArgument, show, typeError } from "../../../bridge/errors.js";
import { lostInJson } from "../../../bridge/exact-json.js";
import { copyOf } from "../../../bridge/serializer.js";
import { isPlainObject } from "./values.js";
import type { Condition, Operand } from "./wire.js";

/** A condition, with its operands as values. */
interface Compared {
  key: string;
  op: Condition["op"];
  operands: unknown[];
}

export interface Filter {
  conditions: Condition[];
  /** Texts that the JSON of each wanted value contains. */
  texts: string[];
  accepts(value: Record<string, unknown>): boolean;
}

const OPERATORS: Record<string, Condition["op"]> = {
  $eq: "in",
  $ne: "nin",
  $gt: "gt",
  $gte: "gte",
  $lt: "lt",
  $lte: "lte",
  $in: "in",
  $nin: "nin",
};

export function readFilter(given: unknown): Filter {
  if (given === undefined || given === null) return { conditions: [], texts: [], accepts: () => true };
  if (!isPlainObject(given)) throw typeError(`filter must be a plain object, but is ${show(given)}`);
  const entries = readingArgument("filter", () => Object.entries(given));
  const all = entries.flatMap(([key, value]) => comparisons(key, value));
  return {
    conditions: all.map(({ key, op, operands }) =>
      key.isWellFormed() ? { key, op, operands: operands.map(operandOf) } : { key: "", op, operands: ["unsure"] },
    ),
    texts: all.flatMap(textOf),
    accepts: (value) => all.every((one) => holds(one, Object.hasOwn(value, one.key) ? value[one.key] : undefined)),
  };
}

function comparisons(key: string, given: unknown): Compared[] {
  if (key.startsWith("$")) throw typeError(`filter has no operator ${quote(key)} for the value: ${instead}`);
  const value = copied(given, key);
  const names = isPlainObject(given) ? Object.keys(given) : [];
  if (!names.some((name) => name.startsWith("$"))) return [{ key, op: "in", operands: [value] }];
  return names.map((name) => {
    const op = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;
    if (op === undefined) throw typeError(`filter[${quote(key)}] has no operator ${quote(name)}: ${instead}`);
    const operand = copied((given as Record<string, unknown>)[name], key);
    if (name !== "$in" && name !== "$nin") return { key, op, operands: [operand] };
    if (!isArray(operand))
      throw typeError(`filter[${quote(key)}][${quote(name)}] must be an array, but is ${show(operand)}`);
    return { key, op, operands: operand };
  });
}

const instead = `use ${Object.keys(OPERATORS).join(", ")} on a key of the value, or pass a value to be equal to`;

function copied(value: unknown, key: string): unknown {
  if (typeof value === "function" || typeof value === "symbol")
    throw typeError(`filter[${quote(key)}] must be data, but is ${show(value)}`);
  return typeof value === "object" && value !== null ? copyOf(value, `filter[${quote(key)}]`) : value;
}

function operandOf(value: unknown): Operand {
  switch (typeof value) {
    case "undefined":
      return "undefined";
    case "boolean":
      return { bool: value };
    case "number":
      return Number.isNaN(value) ? "other" : { number: String(value) };
    case "string":
      return value.isWellFormed() ? { text: value } : "unsure";
    case "object":
      if (value === null) return "null";
      return lostInJson(value, "") === undefined ? "composite" : "other";
    default:
      return "other";
  }
}

/** Returns a text that the JSON of a wanted value contains, if there is one. */
function textOf({ key, op, operands: [operand, ...more] }: Compared): string[] {
  if (op !== "in" || more.length > 0 || !key.isWellFormed()) return [];
  const known = operandOf(operand);
  const isFinite = typeof operand !== "number" || Number.isFinite(operand);
  const hasText = known === "null" || (typeof known === "object" && isFinite);
  return hasText ? [`${JSON.stringify(key)}:${JSON.stringify(operand)}`] : [];
}

function holds({ op, operands }: Compared, value: unknown): boolean {
  switch (op) {
    case "in":
      return operands.some((operand) => equal(value, operand));
    case "nin":
      return !operands.some((operand) => equal(value, operand));
    case "gt":
      return comparable(value, operands[0]) && value > operands[0]!;
    case "gte":
      return comparable(value, operands[0]) && value >= operands[0]!;
    case "lt":
      return comparable(value, operands[0]) && value < operands[0]!;
    case "lte":
      return comparable(value, operands[0]) && value <= operands[0]!;
  }
}

function equal(value: unknown, operand: unknown): boolean {
  if (typeof value !== "object" || typeof operand !== "object") return value === operand;
  return isDeepStrictEqual(value, operand);
}

function comparable(value: unknown, operand: unknown): value is number | string {
  return typeof value === typeof operand && (typeof value === "number" || typeof value === "string");
}
