/** The entry `forkpoint`. */

import "./bridge/bundled.js";
export * from "./contracts/agentos/index.js";
export { copyStore } from "./inspect/copy-store.js";
export type { CopyOptions, CopyResult, CopyProgress } from "./inspect/copy-runs.js";
export {
  type ErrorCode,
  ForkpointError,
  type InvalidArgumentError,
  type LeaseHolder,
  type StoppedBy,
  type TakenBy,
  isForkpointError,
} from "./bridge/errors.js";
export { postgresSchema, type PostgresSchemaOptions } from "./store/postgres.js";
export { openStore, Store } from "./store/store.js";
export { ContractStore, RunStore } from "./store/contract-store.js";
export type { StoreOptions } from "./store/options.js";
export type { MigrateOptions, MigrateResult } from "./store/migrate.js";
export type { PruneOptions, StatsOptions } from "./store/retention.js";
export type { PruneProgress, PruneResult, RunPruneResult, StoreStats, LineageStats } from "./store/results.js";
export type { CheckOptions } from "./store/check.js";
export type { VerifyReport, Finding } from "./bridge/wire.js";
export type { Sweep } from "./bridge/sweeps.js";
export type { StrandedRuns } from "./bridge/strandings.js";
export type { StoreWarning } from "./bridge/warnings.js";
export type { Serializer } from "./bridge/serializer.js";
export type { BackupOptions, BackupProgress, BackupResult, RestoreOptions, RestoreResult } from "./store/backup.js";
export type {
  TracingChannelName,
  FailureChannelName,
  CallSubject,
  CallContext,
  CallFailure,
} from "./bridge/channels.js";
export type { RunName, RunRef } from "./store/run-ref.js";
export type { LeaseOptions, Lease } from "./store/lease.js";
export type { ExclusiveOptions, Work } from "./store/scope.js";
export type { WhenBusy } from "./store/waiting.js";
export type { StopOptions } from "./store/stop.js";
export type { StopResult } from "./store/results.js";
export type { DeleteOptions } from "./store/removing.js";
export type { RunStatus, RecoverOptions, RecoverReport, UnrecoveredRun } from "./contracts/shared/recover-options.js";
export type { ChangedRun, ChangeDecision, ProgramVersion } from "./contracts/shared/recover-options.js";
