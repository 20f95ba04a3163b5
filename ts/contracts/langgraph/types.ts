/** The types of the entry `forkpoint/langgraph`. */
export { type SaverOptions, type SaverStats, ForkpointSaver } from "./forkpoint-saver.js";
export type { PruneStrategy, SaverPruneOptions, SaverPruneResult } from "./threads.js";
export type { NodeError, ThreadStatus } from "./status.js";
export type { ListThreadsOptions, ThreadsPage } from "./list-threads.js";
export type { ImportOptions, ImportProgress, ImportResult } from "./import.js";
export type { SkippedThread } from "./thread-import.js";
export type { ExportOptions, ExportProgress, ExportResult } from "./export.js";
export type { UnexportedThread } from "./thread-export.js";
export { describe } from "./describe.js";
export type { DescribeOptions, ProgramDescription } from "../../store/description.js";
export { recover } from "./recover.js";
export type * from "./recover-threads.js";
export type { RecoverableThreads } from "./mark.js";
export { type ForkpointCacheOptions, ForkpointCache } from "./store/forkpoint-cache.js";
export { type ForkpointStoreOptions, ForkpointStore } from "./store/forkpoint-store.js";
