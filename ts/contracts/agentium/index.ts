/** The entry `forkpoint/agentium`. */

import "../../bridge/bundled.js";
export { DrainController, RunDrainedError } from "../shared/drain.js";
export { ForkpointStorage, InMemoryStorage, type StorageDriver } from "./drivers.js";
export { EventBus, type WorkflowEvent, type WorkflowEvents, type EventBusEvents } from "./events.js";
export { StorageBackedCheckpointStore } from "./storage.js";
export {
  ForkpointWorkflowStore,
  WorkflowCheckpointStore,
  type WorkflowRunInfo,
  type WorkflowRunsPage,
  type WorkflowCheckpointStoreOptions,
  type WorkflowSaveOptions,
} from "./store.js";
export type { RunStats as WorkflowCheckpointStats } from "../../store/results.js";
export { describe } from "./describe.js";
export type { ProgramDescription } from "../../store/description.js";
export { Workflow, type WorkflowRegistry, registry } from "./workflow.js";
export type * from "./contract.js";
export type * from "./options.js";
export type { MaybePromise } from "../../bridge/maybe-promise.js";
export type {
  RunContext,
  StepContext,
  RetryPolicy,
  FunctionStep,
  ConditionStep,
  ParallelStep,
  AgentStep,
  StepDef,
  FailedStep,
} from "./steps.js";
export type { ContextOnce } from "../shared/once.js";
