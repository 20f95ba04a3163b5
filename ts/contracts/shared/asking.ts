/** Reads open questions from the states of SDKs. The form of a state may change, so every field is checked. */

import type { Context } from "../../plugin/context.js";
import { Parts, type ReadValues, readFound } from "../../plugin/values.js";
import type { Row } from "../../plugin/wire.js";

export type Fields = Record<string, unknown>;

export const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? (value as Fields) : {};
export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
export const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** Reads the values of a checkpoint. Returns null if the checkpoint no longer exists. */
export async function readState(
  context: Context,
  row: Row,
  values: ReadValues,
): Promise<{ state: unknown; rest: unknown }> {
  const found = await readFound(context, row);
  const [state, rest] = found === null ? [null, null] : values(new Parts(context), row, found);
  return { state, rest };
}
