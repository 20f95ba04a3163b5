/** What is not needed to open a store, to save and to read. It is loaded when it is needed. */

export { once } from "./current-run.js";
export { describe } from "./describing.js";
export { recover } from "./recovery.js";
export { withEffects } from "./with-effects.js";
