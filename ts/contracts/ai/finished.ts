/** Finishes an interrupted answer, so that the chat can go on with it. */

import { isArray } from "../../bridge/errors.js";
import type { ToolPart } from "./questions.js";

interface Message {
  role?: unknown;
  parts?: unknown;
}

interface Part extends ToolPart {
  text?: unknown;
  output?: unknown;
  preliminary?: unknown;
  providerExecuted?: unknown;
  title?: unknown;
  toolMetadata?: unknown;
  errorText?: unknown;
}

/** The result of a call without a result. The model reads it. */
export const INTERRUPTED = "The answer was interrupted before this call returned a result. The call may have run.";

const isCall = ({ toolCallId }: Part): boolean => toolCallId !== undefined;

/** Returns true for a call without a result that no person is asked about. */
function isPending({ state, preliminary }: Part): boolean {
  if (state === "output-available") return preliminary === true;
  return state !== "output-error" && state !== "output-denied" && state !== "approval-requested";
}

const isOpen = (part: Part): boolean => (isCall(part) ? isPending(part) : part.state === "streaming");

/** A provider's own content, which only a complete answer of the model may have. */
const OWN: ReadonlySet<unknown> = new Set(["reasoning", "reasoning-file", "custom"]);

/** Parts that end no answer. */
const ENDLESS: ReadonlySet<unknown> = new Set(["step-start", "reasoning", "reasoning-file"]);

const isBlank = ({ text }: Part): boolean => typeof text !== "string" || text.trim() === "";

/**
 * Returns the message without open parts, or the message itself if it has none. Null: nothing of it can be used.
 *
 * - `convertToModelMessages` makes a call without a result of a pending call, and `streamText` then throws. The call may
 *   have run, so the model gets an error as its result. A call with incomplete input has not run, and is left out. So
 *   is a call that the provider runs, because the provider lacks its result.
 * - In the step that was cut, the provider has not stored its answer. Reasoning and the provider's own data refer to
 *   it, so providers reject them.
 * - Providers reject blank text.
 */
export function finished<M extends Message>(message: M): M | null {
  const parts = isArray(message.parts) ? (message.parts as Part[]) : [];
  const step = parts.findLastIndex(({ type }) => type === "step-start") + 1;
  const isCut = parts.slice(step).some(isOpen);
  const kept: Part[] = [];
  for (const [at, part] of parts.entries()) {
    const done = finishedPart(part, isCut && at >= step);
    if (done !== undefined) kept.push(done);
  }
  while (kept.length > 0 && ENDLESS.has(kept.at(-1)!.type)) kept.pop();
  if (kept.length === 0) return null;
  const isSame = kept.length === parts.length && kept.every((part, at) => part === parts[at]);
  return isSame ? message : { ...message, parts: kept };
}

/** Does the same for an assistant's message. Other messages stay as they are. */
export const finishedAnswer = <M extends Message>(message: M): M | null =>
  message.role === "assistant" ? finished(message) : message;

function finishedPart(part: Part, isCut: boolean): Part | undefined {
  if (isCall(part)) return isPending(part) ? interrupted(part) : isCut ? bare(part) : part;
  if (!isCut) return part;
  if (part.type === "text") return isBlank(part) ? undefined : { ...bare(part), state: "done" };
  return OWN.has(part.type) ? undefined : part;
}

/** Returns a part without the provider's data. */
function bare(part: Part): Part {
  const {
    providerMetadata: _,
    callProviderMetadata: _2,
    resultProviderMetadata: _3,
    ...rest
  } = part as Part & Record<string, unknown>;
  return rest;
}

/** Returns a call with an error as its result. A denied call is denied. Undefined: the call has not run. */
function interrupted(part: Part): Part | undefined {
  const { type, toolName, toolCallId, title, toolMetadata, state, input, approval, providerExecuted } = part;
  if (state === "input-streaming" || providerExecuted === true) return undefined;
  const call: Part = { type, toolCallId, state, input };
  if (toolName !== undefined) call.toolName = toolName;
  if (title !== undefined) call.title = title;
  if (toolMetadata !== undefined) call.toolMetadata = toolMetadata;
  if (approval !== undefined) call.approval = approval;
  if (approval?.approved === false) return { ...call, state: "output-denied" };
  return { ...call, state: "output-error", errorText: INTERRUPTED };
}

/** Returns the message that was made further. Both are finished, and are made of the same chunks. */
export function furtherOf<M extends Message>(one: M | null, other: M | null): M | null {
  if (one === null || other === null) return one ?? other;
  return progress(other) > progress(one) ? other : one;
}

/** A number that never gets less while an answer is made. Reasoning may be left out of a finished message. */
function progress({ parts }: Message): number {
  let sum = 0;
  for (const part of isArray(parts) ? (parts as Part[]) : []) {
    if (isCall(part)) sum += part.state === "approval-requested" ? 1 : part.errorText === INTERRUPTED ? 2 : 3;
    else if (part.type === "text") sum += 1 + String(part.text).length;
    else if (part.type !== "step-start" && !OWN.has(part.type)) sum += 1;
  }
  return sum;
}
