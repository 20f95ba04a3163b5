export {
ForkpointChats
ForkpointResumableStreamStore
};
export type {
AiModule
Approval
Chat
ChatInfo
ChatMessage
ChatMetadata
ChatPruneOptions
ChatStopResult
ChatVersion
ForkpointChatsOptions
ResumableStreamOptions
SavedChat
};
interface AiModule {
    readUIMessageStream(options: any): AsyncIterable<any>;
}
interface Approval {
    approvalId: string;
    toolCallId: string;
    toolName: string;
    approved: boolean;
    reason?: string;
    input: unknown;
    messageId: string;
}
interface Chat<MESSAGE> extends ChatInfo {
    messages: MESSAGE[];
}
interface ChatInfo {
    id: string;
    activeStreamId: string | null;
    metadata: ChatMetadata | null;
    version: number;
    updatedAt: number;
}
interface ChatMessage {
    id: string;
    role: "system" | "user" | "assistant";
    metadata?: unknown;
    parts: any[];
}
type ChatMetadata = Record<string, unknown>;
interface ChatPruneOptions {
    olderThan?: Date | number | null;
    waiting?: boolean;
    dryRun?: boolean;
    signal?: AbortSignal;
}
interface ChatStopResult<MESSAGE> extends StopResult {
    answer: "stopped" | "interrupted" | "ended" | "failed" | "open" | null;
    streamId: string | null;
    message: MESSAGE | null;
    saved: boolean;
}
interface ChatVersion {
    version: number;
    messages: number;
    savedAt: number;
}
declare class ForkpointChats<MESSAGE extends ChatMessage = ChatMessage> extends ContractStore {
    #private;
    constructor(target: string | URL | Store, options?: ForkpointChatsOptions);
    createChat(options?: {
        id?: string;
        metadata?: ChatMetadata | null;
    }): Promise<string>;
    loadChat(id: string, options?: {
        version?: number;
    }): Promise<MESSAGE[]>;
    readChat(id: string): Promise<Chat<MESSAGE> | null>;
    saveChat(chat: SavedChat<MESSAGE>): Promise<{
        version: number;
    }>;
    listChats(options?: {
        limit?: number;
        cursor?: string | null;
        metadata?: ChatMetadata;
    }): Promise<{
        chats: ChatInfo[];
        cursor: string | null;
    }>;
    deleteChat(id: string, options?: DeleteOptions): Promise<void>;
    versions(id: string, options?: {
        limit?: number;
        cursor?: string | null;
    }): Promise<{
        versions: ChatVersion[];
        cursor: string | null;
    }>;
    fork(id: string, options?: {
        version?: number;
        id?: string;
    }): Promise<string>;
    takeApprovals(id: string, messages: readonly MESSAGE[]): Promise<Approval[]>;
    releaseApproval(id: string, approvalId: string): Promise<void>;
    createNewResumableStream(streamId: string, makeStream: (given: {
        readonly signal: AbortSignal;
    }) => ReadableStream<string> | Promise<ReadableStream<string>>, options?: ResumableStreamOptions): Promise<ReadableStream<string>>;
    resumeExistingStream(streamId: string, skipCharacters?: number): Promise<ReadableStream<string> | null | undefined>;
    hasExistingStream(streamId: string): Promise<null | true | "DONE">;
    stop(id: string, options?: StopOptions): Promise<ChatStopResult<MESSAGE>>;
    partialMessage(id: string): Promise<MESSAGE | null>;
    prune(options?: ChatPruneOptions): Promise<{
        chats: number;
    }>;
    withLease(lease: Lease): ForkpointChats<MESSAGE>;
}
interface ForkpointChatsOptions extends Omit<StoreOptions, "keepLastN" | "maxBytes"> {
    keepVersions?: number | null;
    ttlMs?: number | null;
    waitingTtlMs?: number | null;
    makerTtlMs?: number;
    ai?: AiModule;
}
declare class ForkpointResumableStreamStore extends ContractStore {
    #private;
    constructor(target: string | URL | Store, options?: StoreOptions);
    acquire(streamId: string, _options?: {
        ttlMs?: number;
    }): Promise<"producer" | "consumer">;
    append(streamId: string, chunk: Uint8Array): Promise<void>;
    finalize(streamId: string, status: "done" | "error", error?: string): Promise<boolean>;
    read(streamId: string, cursor: string, signal: AbortSignal): AsyncGenerator<{
        cursor: string;
        chunk: Uint8Array;
    }>;
    status(streamId: string): Promise<"streaming" | "done" | "error" | "missing">;
    delete(streamId: string): Promise<void>;
    withLease(lease: Lease): ForkpointResumableStreamStore;
}
interface ResumableStreamOptions {
    waitUntil?: (promise: Promise<unknown>) => unknown;
}
interface SavedChat<MESSAGE> {
    chatId?: string;
    id?: string;
    messages?: readonly MESSAGE[];
    activeStreamId?: string | null;
    endedStreamId?: string;
    metadata?: ChatMetadata | null;
    expectedVersion?: number;
}
