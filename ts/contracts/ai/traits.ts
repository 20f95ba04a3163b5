/** The traits of the AI SDK's chats and streams: see {@link Traits}. */

import type { Traits } from "../../plugin/traits.js";

export const ai = {
  ordered: true,
  beside: ["ai/rows", "ai/approvals"],
  madeKeys: ["messages"],
  insteadOfFork: "call fork() of ForkpointChats",
} satisfies Traits;

export const streams = {
  single: true,
  // A text is joined from its chunks.
  isJoined: () => true,
  insteadOfFork: "fork the chat of the stream",
} satisfies Traits;
