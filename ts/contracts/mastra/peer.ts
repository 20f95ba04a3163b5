/** Mastra's package, in the copy of the user's program. */
export type Peer = typeof import("@mastra/core/storage");
