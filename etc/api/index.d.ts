export {
AgentosRecoverOptions
ChangedGraphRun
Checkpoint
CheckpointMetadata
CheckpointStore
CheckpointStoreOptions
DiagnosticsView
EffectClass
EffectGraph
FailedRun
ICheckpointStore
RecoverableGraph
RecoveredRun
ResumePlan
RunInfo
RunOutcome
RunsPage
StatePartitions
WaitingNode
describe
once
recover
resumePlan
withEffects
} from "./agentos.js";
export {
BackupOptions
BackupProgress
BackupResult
CallContext
CallFailure
CallSubject
ChangeDecision
ChangedRun
CheckOptions
RunStats as CheckpointStats
ContextOnce
ContractStore
DeleteOptions
DescribeOptions
ErrorCode
ExclusiveOptions
FailureChannelName
Finding
ForkpointError
InvalidArgumentError
Lease
LeaseHolder
LeaseOptions
LineageStats
MigrateOptions
MigrateResult
PostgresSchemaOptions
ProgramDescription
ProgramVersion
PruneOptions
PruneProgress
PruneResult
RecoverOptions
RecoverReport
RestoreOptions
RestoreResult
RunName
RunPruneResult
RunRef
RunStatus
RunStore
Serializer
StatsOptions
StopOptions
StopResult
StoppedBy
StoreOptions
StoreStats
StoreWarning
StrandedRuns
Sweep
TakenBy
TracingChannelName
UnrecoveredRun
VerifyReport
WhenBusy
Work
isForkpointError
openStore
postgresSchema
} from "./shared.js";
export {
CopyProgress
} from "./inspector.js";
export {
CopyOptions
CopyResult
Store
copyStore
};
declare function copyStore(from: string | URL | Store, to: string | URL | Store, options?: CopyOptions): Promise<CopyResult>;
