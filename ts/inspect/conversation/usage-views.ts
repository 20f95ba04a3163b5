/** How many tokens runs, steps and models have used. Needs no module of Node, because the page uses it. */

import type { TokenUsage } from "./message.js";

/** How much a run or a step has used. */
export interface Usage extends TokenUsage {
  /** How many messages say what they have used. 0: only the tokens of the run are stored. */
  messages: number;
  /** How long the models took, in ms. Where the framework counts for the run: how long the nodes took. Null: it is not stored. */
  durationMs: number | null;
  /** In the currency of the prices. Null: no prices were given, or there is none for the models. */
  cost: number | null;
  /** The same for each model, the one with the most tokens first. `model` is null if its name is not stored. */
  models: ModelUsage[];
}

/** How much of a model a run or a step has used. */
export interface ModelUsage extends TokenUsage {
  model: string | null;
  messages: number;
  durationMs: number | null;
  cost: number | null;
}

/** How many tokens a run has used. */
export interface RunUsage {
  /** The tokens of the run. A fork does not count what it has from its source. Null: none are stored. */
  total: Usage | null;
  /** The steps that have added some, the oldest first. */
  steps: Array<{ id: string; step: number; usage: Usage }>;
  /** Whether all steps were read. If not, `total` has what the newest steps still contain. */
  complete: boolean;
  /** The models without a price. Empty if the inspector has no `prices`. */
  unpriced: string[];
}
