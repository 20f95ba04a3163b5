/** The entry `forkpoint/helix`. */

import "../../bridge/bundled.js";
export { generateCheckpointId, parseCheckpointId } from "./checkpoint-id.js";
export { SessionStore } from "./store.js";
