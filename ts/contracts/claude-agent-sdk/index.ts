/** The entry `forkpoint/claude-agent-sdk`. */

import "../../bridge/bundled.js";
export { SessionStore } from "./store.js";
export type { SessionPruneOptions, SessionStoreOptions } from "./store.js";
export type * from "./contract.js";
