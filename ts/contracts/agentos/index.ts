/** The entry `forkpoint/agentos`. */

import "../../bridge/bundled.js";
export { CheckpointStore, type RunInfo, type RunsPage, type CheckpointStoreOptions } from "./checkpoint-store.js";
export { resumePlan, type ResumePlan } from "./resume-plan.js";
export { describe } from "./describe.js";
export type { DescribeOptions, ProgramDescription } from "../../store/description.js";
export { recover } from "./recover.js";
export { once, withEffects } from "./effects.js";
export type * from "./recover-graph.js";
export type * from "./contract.js";
export type { RunStats as CheckpointStats } from "../../store/results.js";
export type { RecoverableGraph } from "./graph.js";
export type { EffectGraph } from "./with-effects.js";
export type { ContextOnce } from "../shared/once.js";
