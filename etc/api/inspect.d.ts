export {
Change
CheckpointDetail
CheckpointInfo
CheckpointRef
Conversation
ConversationMessage
ConversationQuery
DrainReport
DrainedRun
EffectDetail
EffectInfo
EffectRef
ForkEdit
InspectedStats
MessagePart
ModelPrice
ModelUsage
Page
PartInfo
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
