/**
 * Approvals that run once: a human's answers to the questions of a chat.
 *
 * The SDK runs a tool for an answered part, unless a user's message follows. Only parts after the user's last message
 * therefore matter. Their questions must also be open at the end of the stored chat. Otherwise a browser could send its
 * own question and answer it.
 */

import { ForkpointError, isArray, isOvertaken, quote, readingArgument, show, typeError } from "../../bridge/errors.js";
import { copyOf } from "../../bridge/serializer.js";
import type { Engine } from "../../store/engine.js";
import { thisProcess } from "../../bridge/holder.js";
import type { Approval } from "./contract.js";
import { type Found, type Message, type ToolPart, callsIn, isAnswered, isQuestion, lastPart } from "./questions.js";
import { isSame } from "./same.js";
import { readChat } from "./state.js";
import { chatCalls } from "./wire.js";

/** The messages that a browser sent after the user's last message. */
export interface Sent {
  /** All parts with a tool call. */
  parts: readonly Found[];
}

/** Copies the relevant parts of the messages, because the caller may change them. */
export function sentIn(messages: unknown): Sent {
  if (!isArray(messages)) throw typeError(`messages must be an array, but is ${show(messages)}`);
  const list = readingArgument("messages", () => Array.from(messages as unknown[]));
  for (const [at, message] of list.entries()) {
    if (typeof message !== "object" || message === null) {
      throw typeError(`messages[${at}] must be an object, but is ${show(message)}`);
    }
  }
  const last = lastPart(list as Message[]);
  return { parts: callsIn(last.map((message, at) => copyOf(message, `messages[${list.length - last.length + at}]`))) };
}

/** Takes the answers. Repeats if the chat was changed in between. */
export async function takeApprovals(engine: Engine, chat: string, { parts }: Sent): Promise<Approval[]> {
  const answers = parts.filter(isAnswered);
  const questions = parts.filter(isQuestion);
  if (answers.length === 0 && questions.length === 0) return [];
  for (;;) {
    const found = await readChat(engine, chat, undefined);
    const stored = callsIn(lastPart((found?.messages ?? []) as Message[]));
    const asked = stored.filter(isQuestion);
    for (const question of questions) requireAsked(chat, question, asked);
    if (answers.length === 0) return [];
    const marks = await marksOf(engine, chat, answers);
    // An answer that was released may already be stored.
    const isReleased = ({ part }: Found) => isAnswered({ part }) && marks.get(part.approval?.id)?.released === true;
    const open = [...asked, ...stored.filter(isReleased)];
    const approvals = answers.map((answer) => match(chat, answer, parts, open));
    const taken = approvals.map(({ approvalId: id }) => ({ id, released: marks.has(id) }));
    const fields = { chat, seen: found!.row.revision, approvals: taken, by: thisProcess(), savedAt: Date.now() };
    try {
      await chatCalls.call(engine.native, "take", fields);
      return approvals;
    } catch (error) {
      if (!isOvertaken(error)) throw error;
    }
  }
}

/** Releases an approval. */
export async function releaseApproval({ native }: Engine, chat: string, approval: string): Promise<void> {
  const [mark] = await chatCalls.call(native, "taken", { chat, approvals: [approval] });
  if (mark === undefined || mark.released) return;
  await chatCalls.call(native, "release", { chat, approval, by: mark.by, savedAt: Date.now() });
}

/** Reads which approvals were taken or released. Throws if an answer was taken. */
async function marksOf({ native }: Engine, chat: string, answers: readonly Found[]) {
  const approvals = answers
    .map(({ part }) => part.approval?.id)
    .filter((id): id is string => typeof id === "string" && id.isWellFormed());
  const marks = await chatCalls.call(native, "taken", { chat, approvals });
  const taken = marks.find(({ released }) => !released);
  if (taken === undefined) return new Map<unknown, (typeof marks)[0]>(marks.map((mark) => [mark.approval, mark]));
  const { approval, at, by } = taken;
  const message =
    `approval ${quote(approval)} of chat ${quote(chat)} was taken by ${by} at ${new Date(at).toISOString()}: its tool may ` +
    "have run. If it has not, give the approval back with releaseApproval()";
  throw new ForkpointError("CONFLICT", message, { taken: { at, by } });
}

const isOf = ({ toolCallId, approval }: ToolPart, other: ToolPart): boolean =>
  toolCallId === other.toolCallId && typeof approval?.id === "string" && approval.id === other.approval?.id;

function isSameCall({ type, toolName, input }: ToolPart, other: ToolPart): boolean {
  return type === other.type && toolName === other.toolName && isSame(asJson(input), asJson(other.input));
}

/** Returns a value as a browser would send it back. */
const asJson = (value: unknown): unknown => (value === undefined ? value : JSON.parse(JSON.stringify(value) ?? "null"));

/** Refuses a question that is not open in the chat. */
function requireAsked(chat: string, { part }: Found, asked: readonly Found[]): ToolPart {
  const question = asked.find((each) => isOf(part, each.part));
  if (question === undefined) throw invalid(chat, part, "the chat does not ask for it");
  if (!isSameCall(part, question.part)) throw invalid(chat, part, "the chat asks for another call");
  return question.part;
}

/** Compares an answer with the open questions of the chat. */
function match(chat: string, answer: Found, all: readonly Found[], asked: readonly Found[]): Approval {
  const { messageId, part } = answer;
  const { toolCallId, approval, type, toolName, input, state } = part;
  requireAsked(chat, answer, asked);
  if (state !== "approval-responded") throw invalid(chat, part, `the call has the state ${show(state)}`);
  if (typeof approval!.approved !== "boolean") throw invalid(chat, part, "approved must be true or false");
  const isAgain = (other: ToolPart) =>
    other !== part && (other.toolCallId === toolCallId || other.approval?.id === approval!.id);
  if (all.some((other) => isAgain(other.part))) throw invalid(chat, part, "the messages have the call twice");
  const { approved, reason } = approval as { approved: boolean; reason?: unknown };
  return {
    approvalId: String(approval!.id),
    toolCallId: String(toolCallId),
    toolName: String(toolName ?? String(type).replace(/^tool-/, "")),
    approved,
    ...(typeof reason === "string" && { reason }),
    input,
    messageId: String(messageId),
  };
}

function invalid(chat: string, { approval }: ToolPart, why: string): ForkpointError {
  const id = approval?.id;
  const name = typeof id === "string" ? quote(id) : show(id);
  const message = `approval ${name} of chat ${quote(chat)} was not taken: ${why}. Nothing was taken`;
  return new ForkpointError("INVALID_ARGUMENT", message);
}
