/** The entry `forkpoint/mcp`. */

import "../../bridge/bundled.js";
export { ForkpointEventStore } from "./events.js";
export type { ForkpointEventStoreOptions } from "./events.js";
export { ForkpointTaskMessageQueue } from "./queue.js";
export { ForkpointTaskStore } from "./tasks.js";
export type { ForkpointTaskStoreOptions, Task, TaskRequest, TaskStatus } from "./tasks.js";
