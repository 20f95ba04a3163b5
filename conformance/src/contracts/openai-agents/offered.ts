// The methods that a session may have, and their arguments.
import assert from "node:assert/strict";
import { NotOffered } from "../../suite/not-offered.js";
import type { Item, Session, Transaction } from "./store.js";

/** Returns an optional method of a session. The expectation is skipped if the session has none. */
export function offered<
  Name extends "replaceHistoryWithCompaction" | "applyHistoryMutations" | "applyHistoryTransaction",
>(session: Session, name: Name): NonNullable<Session[Name]> {
  const found = session[name];
  if (found === undefined) throw new NotOffered(`the session has no ${name}, which is optional`);
  return found.bind(session) as NonNullable<Session[Name]>;
}

export async function replaceHistory(session: Session, items: Item[]): Promise<void> {
  await offered(session, "replaceHistoryWithCompaction")(items);
}

/** Replaces function calls: a list of their ids and their replacements. */
export async function mutate(session: Session, ...calls: Array<[callId: string, replacement: Item]>): Promise<void> {
  const mutations = calls.map(([callId, replacement]) => ({
    type: "replace_function_call" as const,
    callId,
    replacement,
  }));
  await offered(session, "applyHistoryMutations")({ mutations });
}

export async function transact(session: Session, operationId: string, transaction: Transaction): Promise<void> {
  await offered(session, "applyHistoryTransaction")({ operationId, transaction });
}

export const append = (...items: Item[]): Transaction => ({ type: "append_items", items });
export const replaceSuffix = (expectedSuffix: Item[], replacement: Item[]): Transaction => ({
  type: "replace_suffix",
  expectedSuffix,
  replacement,
});

/** Expects that a transaction fails. */
export async function isRefused(session: Session, operationId: string, transaction: Transaction, why: string) {
  const apply = offered(session, "applyHistoryTransaction");
  await assert.rejects(async () => apply({ operationId, transaction }), Error, why);
}
