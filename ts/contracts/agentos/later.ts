/** What is not needed to open a store, to save and to read. It is loaded when it is needed. */

export { once } from "./current-run.js";
export { describe } from "./describe-graph.js";
export { recover } from "./recover-graph.js";
export { withEffects } from "./with-effects.js";
