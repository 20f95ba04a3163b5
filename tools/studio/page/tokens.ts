// Formats tokens and costs. An unstored number is "-", not 0.
import type { TokenUsage } from "../../../ts/inspect/conversation/message.js";
import { count } from "./format.js";

export const tokenCount = (tokens: number | null): string => (tokens === null ? "-" : count(tokens));

/** Writes the tokens of a message: "310 in, 58 out". */
export function tokensText({ input, output, total }: TokenUsage): string {
  if (input === null && output === null) return `${tokenCount(total)} tokens`;
  return `${tokenCount(input)} in, ${tokenCount(output)} out`;
}

/** Writes a number of tokens in little space: "812", "1.2k", "3.4M". */
export function shortCount(tokens: number): string {
  if (tokens < 1_000) return String(tokens);
  const [value, unit] = tokens < 999_500 ? [tokens / 1_000, "k"] : [tokens / 1e6, "M"];
  return `${value.toFixed(value < 9.95 ? 1 : 0).replace(/\.0$/, "")}${unit}`;
}

export function costText(cost: number): string {
  return cost === 0 || cost >= 1 ? cost.toFixed(2) : cost.toPrecision(2);
}
