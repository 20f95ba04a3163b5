export {
Answer
AnsweredQuestion
Change
CheckpointDetail
CheckpointInfo
CheckpointRef
Conversation
ConversationMessage
ConversationQuery
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
MessagePart
ModelPrice
ModelUsage
Page
PartInfo
Question
ReadCourse
RunCourse
RunGraph
RunInfo
RunQuery
RunRef
RunUsage
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
StoredAnswer
Stranded
StrandedCount
TokenUsage
ToolResult
Usage
UsageOptions
VersionCount
WatchedEffect
WaterfallRow
WriteInfo
graphMermaid
graphOf
graphText
stepName
timeOf
waterfallOf
} from "./inspector.js";
export {
Finding
PathStep
RunStop
StopOptions
StopResult
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
ModelPrices
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
    prices?: ModelPrices | undefined;
}
declare function openInspector(target: string | URL | Store, options?: InspectorOptions): Promise<Inspector>;
