/** The entry `forkpoint/openai-agents`. */

import "../../bridge/bundled.js";
export { ForkpointSession } from "./session.js";
export type { ForkpointSessionOptions, SessionInfo } from "./session.js";
export { ForkpointRunStates } from "./states.js";
export type { ForkpointRunStatesOptions, SavedRunState } from "./states.js";
export type { SessionPruneOptions } from "../shared/session-retention.js";
export type { AgentsModule } from "./sdk.js";
export type { TakenBy } from "../../bridge/forkpoint-error.js";
