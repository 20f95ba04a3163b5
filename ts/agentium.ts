import "./bundled.js";
export { DrainController, RunDrainedError } from "./drain.js";
export { ForkpointStorage, InMemoryStorage } from "./agentium/drivers.js";
export { StorageBackedCheckpointStore } from "./agentium/storage.js";
export { WorkflowCheckpointStore } from "./agentium/store.js";
export { Workflow } from "./agentium/workflow.js";
