/** Checks and compares the transactions of `applyHistoryTransaction`. */

import { crypto } from "../../bridge/crypto.js";
import { type AgentsModule, userError } from "./sdk.js";

export type Transaction =
  | { type: "append_items"; items: unknown[] }
  | { type: "replace_suffix"; expectedSuffix: unknown[]; replacement: unknown[] };

const lists = { append_items: ["items"], replace_suffix: ["expectedSuffix", "replacement"] } as const;

/** The error of {@link copy}. */
class NoData extends Error {}

/** The arguments of `applyHistoryTransaction`, still unchecked. */
interface Copied {
  operationId: unknown;
  transaction: unknown;
  /** The reason why they could not be copied. */
  wrong?: string;
}

/** Copies the arguments, because the caller may change them later. */
export function copyTransaction(args: unknown): Copied {
  try {
    const { operationId, transaction } = args as Record<string, unknown>;
    // A proxy cannot be cloned.
    structuredClone(transaction);
    return { operationId, transaction: copy(transaction) };
  } catch (error) {
    // The message of a getter or a proxy may hold secrets.
    const wrong = error instanceof NoData ? error.message : "it cannot be read";
    return { operationId: undefined, transaction: undefined, wrong };
  }
}

/** Checks the arguments. Throws the SDK's UserError if they are wrong. */
export function checkTransaction(
  { operationId, transaction, wrong: why }: Copied,
  sdk: AgentsModule,
): { operationId: string; transaction: Transaction; hash: string } {
  const wrong = (why: string) => userError(sdk, "INVALID_ARGUMENT", `the history transaction is wrong: ${why}`);
  if (why !== undefined) throw wrong(why);
  if (typeof operationId !== "string" || operationId.trim() === "")
    throw wrong("operationId must be a text that is not blank");
  if (!operationId.isWellFormed()) throw wrong("operationId contains an unpaired surrogate (invalid Unicode)");
  const fields = transaction as Record<string, unknown> | null;
  const type = fields?.["type"];
  if (type !== "append_items" && type !== "replace_suffix")
    throw wrong('type must be "append_items" or "replace_suffix"');
  const names: readonly string[] = lists[type];
  if (Object.keys(fields!).length !== names.length + 1 || names.some((name) => !Array.isArray(fields![name]))) {
    throw wrong(`it must have the fields type and ${names.join(" and ")}, which are lists of items`);
  }
  for (const name of names) {
    const at = (fields![name] as unknown[]).findIndex((item) => !sdk.protocol.ModelItem.safeParse(item).success);
    if (at >= 0) throw wrong(`${name}[${at}] is no item of the SDK`);
  }
  const hash = crypto().createHash("sha256").update(canonical(transaction)).digest("base64url");
  return { operationId, transaction: fields as Transaction, hash };
}

/** Copies data. Throws for anything else: a class, a function, a symbol, a getter, a cycle, a list with holes. */
function copy(value: unknown, around: readonly object[] = []): unknown {
  if (value === null || typeof value !== "object") {
    if (["bigint", "function", "symbol"].includes(typeof value)) throw new NoData(`a ${typeof value} is no data`);
    return value;
  }
  if (around.includes(value)) throw new NoData("a value contains itself");
  const keys = Reflect.ownKeys(value);
  if (value instanceof Uint8Array) {
    if (keys.length !== value.length) throw new NoData("a list of bytes has other properties");
    return new Uint8Array(value);
  }
  const fields = keys
    .filter((key) => !Array.isArray(value) || key !== "length")
    .map((key) => {
      const field = Object.getOwnPropertyDescriptor(value, key);
      if (typeof key === "symbol") throw new NoData("a symbol is no name of a field");
      if (field?.enumerable !== true || !("value" in field)) throw new NoData("a getter or a hidden field is no data");
      return [key, copy(field.value, [...around, value])] as const;
    });
  if (Array.isArray(value)) {
    const isList = fields.length === value.length && fields.every(([key], at) => key === String(at));
    if (!isList) throw new NoData("a list has holes or other properties");
    return fields.map(([, item]) => item);
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) throw new NoData("an object of a class is no data");
  return Object.fromEntries(fields);
}

/** Returns a text that is the same for equal data only. The order of keys does not matter, `undefined` does. */
export function canonical(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (Object.is(value, -0)) return "-0";
  if (value === null || typeof value !== "object") return String(value);
  if (value instanceof Uint8Array) return `<${Buffer.from(value).toString("base64")}>`;
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  const fields = Object.entries(value).map(([key, field]) => `${JSON.stringify(key)}:${canonical(field)}`);
  return `{${fields.toSorted().join()}}`;
}
