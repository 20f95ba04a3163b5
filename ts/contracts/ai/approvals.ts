/** Approvals that run once: the answers of humans to the questions that a chat has asked. */

import { ForkpointError, isArray, isOvertaken, quote, readingArgument, show, typeError } from "../../bridge/errors.js";
import { copyOf } from "../../bridge/serializer.js";
import type { Engine } from "../../store/engine.js";
import { thisProcess } from "../../store/holder.js";
import type { Approval } from "./contract.js";
import { isSame } from "./same.js";
import { readChat } from "./state.js";
import { chatCalls } from "./wire.js";

/** A part of a message, as far as approvals matter. */
interface ToolPart {
  type?: unknown;
  toolName?: unknown;
  toolCallId?: unknown;
  state?: unknown;
  input?: unknown;
  approval?: { id?: unknown; approved?: unknown; reason?: unknown };
}

/** The answers in messages, and the messages. */
export interface Answers {
  messages: ReadonlyArray<{ id?: unknown; parts?: unknown }>;
}

/** Copies messages, because the caller may change them. */
export function answersIn(messages: unknown): Answers {
  if (!isArray(messages)) throw typeError(`messages must be an array, but is ${show(messages)}`);
  const copies = readingArgument("messages", () => Array.from(messages as unknown[])).map((message, at) => {
    if (typeof message === "object" && message !== null) return copyOf(message, `messages[${at}]`);
    throw typeError(`messages[${at}] must be an object, but is ${show(message)}`);
  });
  return { messages: copies };
}

/**
 * Takes the answers that are new in the messages. Begins again if the chat was changed meanwhile.
 *
 * A model's call runs a tool only for answers in the last message. An earlier message that the chat has too is left out, because its
 * answers are over. One that differs from the chat's is looked at.
 */
export async function takeApprovals(engine: Engine, chat: string, { messages }: Answers): Promise<Approval[]> {
  for (;;) {
    const found = await readChat(engine, chat, undefined);
    const stored = found?.messages ?? [];
    const isOver = (message: object, at: number) => at < messages.length - 1 && isSame(message, stored[at]);
    const answered = messages.flatMap((message, at) =>
      isOver(message, at)
        ? []
        : partsOf(message)
            .filter(isAnswered)
            .map((part) => ({ message, part })),
    );
    if (answered.length === 0) return [];
    const ids = answered.map(({ part }) => approvalId(part));
    await refuseTaken(engine, chat, ids);
    const asked = stored.flatMap((message) =>
      partsOf(message as object).filter(({ state }) => state === "approval-requested"),
    );
    const approvals = answered.map(({ message, part }) => match(chat, message, part, asked));
    if (new Set(ids).size < ids.length) throw invalid(chat, ids[0], "the messages answer it twice");
    const fields = { chat, seen: found!.row.place, approvals: ids.map(String), by: thisProcess(), savedAt: Date.now() };
    try {
      await chatCalls.call(engine.native, "take", fields);
      return approvals;
    } catch (error) {
      if (!isOvertaken(error)) throw error;
    }
  }
}

const partsOf = ({ parts }: { parts?: unknown }): ToolPart[] =>
  isArray(parts) ? parts.filter((part): part is ToolPart => typeof part === "object" && part !== null) : [];

const isAnswered = ({ state }: ToolPart): boolean => state === "approval-responded";

const approvalId = ({ approval }: ToolPart): unknown => approval?.id;

async function refuseTaken({ native }: Engine, chat: string, ids: unknown[]): Promise<void> {
  const approvals = ids.filter((id): id is string => typeof id === "string" && id.isWellFormed());
  const [taken] = await chatCalls.call(native, "taken", { chat, approvals });
  if (taken === undefined) return;
  const { approval, at, by } = taken;
  const message =
    `approval ${quote(approval)} of chat ${quote(chat)} was taken by ${by} at ${new Date(at).toISOString()}: its tool may ` +
    "have run. If it has not, give the approval back with releaseApproval()";
  throw new ForkpointError("CONFLICT", message, { taken: { at, by } });
}

/** Compares an answer with what the chat has asked. */
function match(chat: string, { id }: { id?: unknown }, part: ToolPart, asked: ToolPart[]): Approval {
  const { toolCallId, approval, type, toolName } = part;
  const question = asked.find(
    (each) => each.toolCallId === toolCallId && approvalId(each) === approval?.id && typeof approval?.id === "string",
  );
  if (question === undefined) throw invalid(chat, approval?.id, "the chat has not asked for it");
  const isTool = question.type === type && question.toolName === toolName;
  if (!isTool || !isSame(question.input, part.input))
    throw invalid(chat, approval?.id, "the chat asks for another call");
  if (typeof approval?.approved !== "boolean") throw invalid(chat, approval?.id, "approved must be true or false");
  const { approved, reason } = approval;
  return {
    approvalId: String(approval.id),
    toolCallId: String(toolCallId),
    toolName: String(toolName ?? String(type).replace(/^tool-/, "")),
    approved,
    ...(typeof reason === "string" && { reason }),
    input: part.input,
    messageId: String(id),
  };
}

function invalid(chat: string, approval: unknown, why: string): ForkpointError {
  const name = typeof approval === "string" ? quote(approval) : show(approval);
  const message = `approval ${name} of chat ${quote(chat)} was not taken: ${why}. Nothing was taken`;
  return new ForkpointError("INVALID_ARGUMENT", message);
}
