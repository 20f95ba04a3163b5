/** Finds the calls of tools that ask for an approval, or that have one. */

import { isArray } from "../../bridge/errors.js";

export interface Message {
  id?: unknown;
  role?: unknown;
  parts?: unknown;
}

/** A part of a message, as far as approvals matter. */
export interface ToolPart {
  type?: unknown;
  toolName?: unknown;
  toolCallId?: unknown;
  state?: unknown;
  input?: unknown;
  approval?: { id?: unknown; approved?: unknown; reason?: unknown };
}

/** A part that asks, or that has an answer. */
export interface Found {
  messageId: unknown;
  part: ToolPart;
}

/** The states of a call that is over. */
const OVER: ReadonlySet<unknown> = new Set(["output-available", "output-error", "output-denied"]);

/** The messages behind the last one of a user. */
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

/** The SDK looks at the answer, and not at the state. */
export const isAnswered = ({ part: { state, approval } }: Pick<Found, "part">): boolean =>
  state === "approval-responded" ||
  (approval?.approved !== undefined && approval.approved !== null && !OVER.has(state));

/** Returns true if a chat asks for an approval at its end. */
export const asks = (messages: readonly unknown[]): boolean =>
  callsIn(lastPart(messages as Message[])).some(isQuestion);
