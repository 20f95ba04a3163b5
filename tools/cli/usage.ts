/** Writes tokens and costs, and reads the file of prices. */

import { readFile } from "node:fs/promises";
import { messageOf, quote } from "../../ts/bridge/errors.js";
import { parseJson } from "../../ts/bridge/json-form/json-text.js";
import type { ModelPrices } from "../../ts/inspect/conversation/cost.js";
import { UsageError } from "./errors.js";
import { number } from "./units.js";
import type { TokenUsage } from "../../ts/inspect/conversation/message.js";

/** Reads the file of `--prices`. */
export async function pricesIn(path: string): Promise<ModelPrices> {
  // This loads the addon. Commands without a store never get here.
  const { readPrices } = await import("../../ts/inspect/conversation/cost.js");
  try {
    return readPrices(parseJson(await readFile(path, "utf8")), "prices");
  } catch (error) {
    throw new UsageError(`--prices ${quote(path)}: ${messageOf(error)}`);
  }
}

/** Writes a number of tokens. An unstored number is `-`, not 0. */
export const tokenCount = (count: number | null): string => (count === null ? "-" : number(count));

/** Writes the tokens of a message: `310 in, 58 out`. */
export function tokensText({ input, output, total }: TokenUsage): string {
  if (input === null && output === null) return `${tokenCount(total)} tokens`;
  return `${tokenCount(input)} in, ${tokenCount(output)} out`;
}

/** Writes a cost with four significant digits. */
export function costText(cost: number | null): string {
  if (cost === null) return "-";
  return cost === 0 || cost >= 1 ? cost.toFixed(2) : cost.toPrecision(3).replace(/0+$/, "").replace(/\.$/, "");
}
