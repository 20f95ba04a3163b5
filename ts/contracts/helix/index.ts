/** The entry `forkpoint/helix`. */

import "../../bridge/bundled.js";
export { generateCheckpointId, parseCheckpointId, type ParsedCheckpointId } from "./checkpoint-id.js";
export { SessionStore } from "./store.js";
export type * from "./contract.js";
export type { SessionInfo, SessionStats, SessionsPage } from "./sessions.js";
export type { CheckpointCreatedEvent } from "./events.js";
export type { SessionPruneResult } from "./expiry.js";
export type { SessionStoreOptions } from "./options.js";
