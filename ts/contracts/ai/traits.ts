/** What the chats and streams of the AI SDK are, for those who know no framework: see {@link Traits}. */

import type { Traits } from "../../plugin/traits.js";

export const ai = {
  ordered: true,
  beside: ["ai/rows", "ai/approvals"],
  madeKeys: ["messages"],
  insteadOfFork: "call fork() of ForkpointChats",
} satisfies Traits;

export const streams = {
  single: true,
  // A text is put together from its chunks.
  isJoined: () => true,
  insteadOfFork: "fork the chat of the stream",
} satisfies Traits;
