export {
Change
CheckpointDetail
CheckpointInfo
CheckpointRef
CourseProgram
DrainReport
DrainedRun
EffectDetail
EffectInfo
EffectRef
ForkEdit
GraphEdge
GraphNode
InspectedStats
Page
PartInfo
ReadCourse
RunCourse
RunGraph
RunInfo
RunQuery
RunRef
SavedPerHour
Size
Space
SpaceStats
Status
StoreEvent
StoreInfo
WatchedEffect
WaterfallRow
WriteInfo
stepName
graphMermaid
graphOf
graphText
timeOf
waterfallOf
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
