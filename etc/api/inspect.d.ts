export {
Change
CheckpointDetail
CheckpointInfo
CheckpointRef
ForkEdit
ImportReport
InspectedStats
Page
PartInfo
PathStep
RunInfo
RunQuery
RunRef
SavedPerHour
Size
Snippet
Space
Status
StoreEvent
StoreInfo
WriteInfo
compress
decompress
formatPath
fromJsonForm
parseJson
parsePath
safeJson
safeText
toJsonForm
valueAt
} from "./inspector.js";
export {
Finding
VerifyReport
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
    write?: boolean | undefined;
}
declare function openInspector(target: string | URL | Store, options?: InspectorOptions): Promise<Inspector>;
