/** The entry `forkpoint/agentos`. */

import "../../bridge/bundled.js";
export { CheckpointStore, resumePlan } from "./checkpoint-store.js";
export { recover } from "./recovery.js";
