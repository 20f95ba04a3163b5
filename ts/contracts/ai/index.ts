/** The entry `forkpoint/ai`. */

import "../../bridge/bundled.js";
export { ForkpointChats } from "./chats.js";
export { ForkpointResumableStreamStore } from "./resumable.js";
export type { ResumableStreamOptions } from "./streams.js";
export type * from "./contract.js";
export type { ForkpointChatsOptions } from "./options.js";
export type { AiModule } from "./sdk.js";
