export {
Change
CheckpointDetail
CheckpointInfo
CheckpointRef
DrainReport
DrainedRun
EffectDetail
EffectInfo
EffectRef
ForkEdit
InspectedStats
Page
PartInfo
RunInfo
RunQuery
RunRef
SavedPerHour
SearchHit
SearchOptions
SearchProgress
Size
Snippet
Space
SpaceStats
Status
StoreEvent
StoreInfo
WatchedEffect
WriteInfo
} from "./inspector.js";
export {
Finding
PathStep
VerifyReport
formatPath
fromJsonForm
parseJson
parsePath
safeJson
safeText
toJsonForm
valueAt
} from "./shared.js";
export {
Inspector
openInspector
};
export type {
InspectorOptions
};
interface InspectorOptions {
    serializers?: Serializer[] | undefined;
    busyTimeout?: number | undefined;
    maxPayloadBytes?: number | undefined;
    write?: boolean | undefined;
    readFrom?: string | undefined;
}
declare function openInspector(target: string | URL | Store, options?: InspectorOptions): Promise<Inspector>;
