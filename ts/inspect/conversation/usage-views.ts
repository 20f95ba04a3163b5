/** The types of the usage of runs, steps and models. Uses nothing of Node, because the page uses it. */

import type { TokenUsage } from "./message.js";

/** The usage of a run or a step. */
export interface Usage extends TokenUsage {
  /** The number of messages with token counts. 0: only the tokens of the run are stored. */
  messages: number;
  /** The time of the models, in ms. If the framework counts for the run: the time of the nodes. Null: not stored. */
  durationMs: number | null;
  /** The cost in the currency of the prices. Null: there are no prices for these models. */
  cost: number | null;
  /** The usage of each model, the most tokens first. `model` is null if its name is not stored. */
  models: ModelUsage[];
}

/** The usage of a model in a run or a step. */
export interface ModelUsage extends TokenUsage {
  model: string | null;
  messages: number;
  durationMs: number | null;
  cost: number | null;
}

/** The usage of a run. */
export interface RunUsage {
  /** The tokens of the run. A fork does not count the tokens of its source. Null: none are stored. */
  total: Usage | null;
  /** The steps that added tokens, the oldest first. */
  steps: Array<{ id: string; step: number; usage: Usage }>;
  /** Whether all steps were read. Otherwise `total` has only the tokens in the newest steps. */
  complete: boolean;
  /** The models without a price. Empty if the inspector has no `prices`. */
  unpriced: string[];
}
