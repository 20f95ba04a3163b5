/** The entry `forkpoint/claude-agent-sdk`. */

import "../../bridge/bundled.js";
export { SessionStore } from "./store.js";
export type { SessionStoreOptions } from "./store.js";
export type { SessionPruneOptions } from "../shared/session-retention.js";
export type * from "./contract.js";
