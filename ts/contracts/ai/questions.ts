/** Finds the tool calls with a question for approval, or with an answer. */

import { isArray } from "../../bridge/errors.js";

export interface Message {
  id?: unknown;
  role?: unknown;
  parts?: unknown;
}

/** The fields of a message's part that approvals use. */
export interface ToolPart {
  type?: unknown;
  toolName?: unknown;
  toolCallId?: unknown;
  state?: unknown;
  input?: unknown;
  approval?: { id?: unknown; approved?: unknown; reason?: unknown };
}

/** A part with a question or an answer. */
export interface Found {
  messageId: unknown;
  part: ToolPart;
}

/** The states of finished calls. */
const OVER: ReadonlySet<unknown> = new Set(["output-available", "output-error", "output-denied"]);

/** Returns the messages after the user's last message. */
export function lastPart(messages: readonly Message[]): readonly Message[] {
  return messages.slice(messages.findLastIndex((message) => message?.role === "user") + 1);
}

export function callsIn(messages: readonly (Message | null)[]): Found[] {
  return messages.flatMap((message) =>
    (isArray(message?.parts) ? (message.parts as unknown[]) : [])
      .filter((part): part is ToolPart => typeof part === "object" && part !== null && "toolCallId" in part)
      .map((part) => ({ messageId: message?.id, part })),
  );
}

export const isQuestion = ({ part }: Found): boolean => part.state === "approval-requested" && !isAnswered({ part });

/** The SDK checks the answer, and not the state. */
export const isAnswered = ({ part: { state, approval } }: Pick<Found, "part">): boolean =>
  state === "approval-responded" ||
  (approval?.approved !== undefined && approval.approved !== null && !OVER.has(state));

/** Returns true if a chat has an open approval at its end. */
export const asks = (messages: readonly unknown[]): boolean =>
  callsIn(lastPart(messages as Message[])).some(isQuestion);
