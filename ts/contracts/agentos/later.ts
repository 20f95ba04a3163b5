/** Modules that opening a store, saving and reading do not need. They are loaded on first use. */

export { once } from "./current-run.js";
export { describe } from "./describe-graph.js";
export { recover } from "./recover-graph.js";
export { withEffects } from "./with-effects.js";
