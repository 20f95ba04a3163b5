/** Computes costs from the prices that the user gives. */

import { isArray, show, typeError } from "../../bridge/errors.js";
import type { TokenUsage } from "./message.js";

/** The price of a million tokens, in the currency of your choice. */
export interface ModelPrice {
  /** Tokens of the input. */
  input: number;
  /** Tokens of the output, with the reasoning. */
  output: number;
  /** Tokens of the input that came from a cache. Default: as `input`. */
  cached?: number | undefined;
}

/** The prices of models, by the stored name of the model. A name without its date stands for all dates. */
export type ModelPrices = Record<string, ModelPrice>;

const PRICES = '{ "gpt-5": { "input": 1.25, "output": 10, "cached": 0.125 } }';

/** Checks prices. `what` names them in the message of an error. */
export function readPrices(value: unknown, what: string): ModelPrices {
  if (!isPlain(value)) throw typeError(`${what} must be an object such as ${PRICES}, but is ${show(value)}`);
  const prices: ModelPrices = { __proto__: null } as never;
  for (const [model, price] of Object.entries(value)) {
    const name = `${what}[${JSON.stringify(model)}]`;
    if (!isPlain(price))
      throw typeError(`${name} must be an object such as { "input": 1.25, "output": 10 }, but is ${show(price)}`);
    const { input, output, cached, ...others } = price;
    const [other] = Object.keys(others);
    if (other !== undefined)
      throw typeError(`${name} has an unknown key ${JSON.stringify(other)}: it has input, output and cached`);
    for (const [key, number] of Object.entries({ input, output, cached: cached ?? input })) {
      if (typeof number === "number" && number >= 0 && Number.isFinite(number)) continue;
      throw typeError(`${name}.${key} must be the price of a million tokens, but is ${show(number)}`);
    }
    prices[model] = { input: input as number, output: output as number, cached: (cached ?? input) as number };
  }
  return prices;
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !isArray(value);

/** The suffixes of a model's name for a date or another version of the model. */
const VERSION = /^[-@:](?:\d{4}-\d{2}-\d{2}|\d{4,8}|latest|v\d[\d.:]*)$/;

/** Returns the price of a model. Undefined: there is none. */
export function priceOf(prices: ModelPrices, model: string): ModelPrice | undefined {
  if (Object.hasOwn(prices, model)) return prices[model];
  const name = Object.keys(prices).find((each) => model.startsWith(each) && VERSION.test(model.slice(each.length)));
  return name === undefined ? undefined : prices[name];
}

/** Returns the cost of some tokens. Null: the input or the output is not stored. */
export function costOf({ input, output, cached }: TokenUsage, price: ModelPrice): number | null {
  if (input === null || output === null) return null;
  const fromCache = Math.min(cached ?? 0, input);
  return ((input - fromCache) * price.input + fromCache * (price.cached ?? price.input) + output * price.output) / 1e6;
}
