export {
Answer
Change
CheckpointDetail
CheckpointInfo
CheckpointRef
CourseProgram
Conversation
ConversationMessage
ConversationQuery
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
ReadCourse
RunCourse
RunGraph
Question
RunInfo
RunQuery
RunRef
RunUsage
SavedPerHour
Size
Space
SpaceStats
Status
StoreEvent
StoreInfo
TokenUsage
ToolResult
Usage
UsageOptions
StoredAnswer
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
    readFrom?: string | undefined;
    prices?: ModelPrices | undefined;
}
declare function openInspector(target: string | URL | Store, options?: InspectorOptions): Promise<Inspector>;
