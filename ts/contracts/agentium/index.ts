/** The entry `forkpoint/agentium`. */

import "../../bridge/bundled.js";
export { DrainController, RunDrainedError } from "../shared/drain.js";
export { ForkpointStorage, InMemoryStorage } from "./drivers.js";
export { EventBus } from "./events.js";
export { registry } from "./registry.js";
export { StorageBackedCheckpointStore } from "./storage.js";
export { ForkpointWorkflowStore, ForkpointWorkflowStore as WorkflowCheckpointStore } from "./store.js";
export { Workflow } from "./workflow.js";
