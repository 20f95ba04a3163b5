/** Adds up the tokens of messages. Counts each message once. */

import { type ModelPrices, costOf, priceOf } from "./cost.js";
import type { TokenUsage } from "./message.js";
import type { ModelUsage, Usage } from "./usage-views.js";

/** The tokens of a message. */
export interface Entry {
  /** Identifies the message in all steps of a run. */
  key: string;
  model: string | null;
  tokens: TokenUsage;
  durationMs: number | null;
  /** False: these are the framework's tokens of the entire run. */
  isMessage: boolean;
}

const fields = ["input", "output", "cached", "reasoning", "total"] as const;

const plus = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : a + b);

const more = (now: number | null, then: number | null): number | null =>
  now === null ? null : Math.max(0, now - (then ?? 0));

/** The counted messages of a run. */
export class Counted {
  readonly #seen = new Map<string, { tokens: TokenUsage; durationMs: number | null }>();

  /**
   * Returns the difference between an entry and its last count, or null if there is none. A message that a later step
   * continued has more tokens than before.
   */
  take(entry: Entry): (Entry & { isNew: boolean }) | null {
    const { key, tokens, durationMs } = entry;
    const before = this.#seen.get(key);
    if (before === undefined) {
      this.#seen.set(key, { tokens, durationMs });
      return { ...entry, isNew: entry.isMessage };
    }
    const rest = Object.fromEntries(fields.map((field) => [field, more(tokens[field], before.tokens[field])]));
    if (!Object.values(rest).some((each) => each !== null && each > 0)) return null;
    this.#seen.set(key, { tokens, durationMs });
    const longer = more(durationMs, before.durationMs);
    return { ...entry, tokens: rest as unknown as TokenUsage, durationMs: longer, isNew: false };
  }
}

/** A sum over messages, by model. */
export class Sum {
  readonly #models = new Map<string | null, Omit<ModelUsage, "cost" | "model">>();

  add({ model, tokens, durationMs, isNew }: Entry & { isNew: boolean }): void {
    const before = this.#models.get(model) ?? { ...nothing, messages: 0, durationMs: null };
    const sum = Object.fromEntries(fields.map((field) => [field, plus(before[field], tokens[field])]));
    this.#models.set(model, {
      ...(sum as unknown as TokenUsage),
      messages: before.messages + (isNew ? 1 : 0),
      durationMs: plus(before.durationMs, durationMs),
    });
  }

  /** Returns the sum. Null: nothing was added. */
  finish(prices: ModelPrices | null): Usage | null {
    if (this.#models.size === 0) return null;
    const models = [...this.#models].map(([model, sum]): ModelUsage => {
      const price = prices === null || model === null ? undefined : priceOf(prices, model);
      return Object.assign({ model, cost: price === undefined ? null : costOf(sum, price) }, sum);
    });
    const total = (field: "messages" | "durationMs" | "cost" | (typeof fields)[number]) =>
      models.reduce<number | null>((sum, each) => plus(sum, each[field]), null);
    return {
      ...(Object.fromEntries(fields.map((field) => [field, total(field)])) as unknown as TokenUsage),
      messages: total("messages") ?? 0,
      durationMs: total("durationMs"),
      cost: total("cost"),
      models: models.toSorted((a, b) => (b.total ?? 0) - (a.total ?? 0)),
    };
  }
}

const nothing: TokenUsage = { input: null, output: null, cached: null, reasoning: null, total: null };
