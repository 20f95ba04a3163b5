/** The entry `forkpoint/agentos`. */

import "../../bridge/bundled.js";
export {
  CheckpointStore,
  resumePlan,
  type RunInfo,
  type RunsPage,
  type ResumePlan,
  type CheckpointStoreOptions,
} from "./checkpoint-store.js";
export {
  recover,
  type WaitingNode,
  type FailedRun,
  type AgentosRecoverOptions,
  type RunOutcome,
  type RecoveredRun,
} from "./recovery.js";
export type {
  EffectClass,
  DiagnosticsView,
  StatePartitions,
  Checkpoint,
  CheckpointMetadata,
  ICheckpointStore,
} from "./contract.js";
export type { RunStats as CheckpointStats } from "../../store/results.js";
export type { RecoverableGraph } from "./graph.js";
