import "./bundled.js";
export { DrainController, RunDrainedError } from "./drain.js";
export { ForkpointStorage, InMemoryStorage } from "./agentium/drivers.js";
export { EventBus } from "./agentium/events.js";
export { registry } from "./agentium/registry.js";
export { StorageBackedCheckpointStore } from "./agentium/storage.js";
export { ForkpointWorkflowStore, ForkpointWorkflowStore as WorkflowCheckpointStore } from "./agentium/store.js";
export { Workflow } from "./agentium/workflow.js";
