/** Chats and messages for tests. */
import * as ai from "ai";
import type { UIMessage } from "ai";
import { type Store, openStore } from "forkpoint";
import { ForkpointChats, type ForkpointChatsOptions } from "forkpoint/ai";
import { onTestFinished } from "vitest";
import { type Kind, checkedAfter, place } from "../../__test__/helpers.js";

type Target = string | URL | Store;

/** The package is not installed beside the SDK here, so it gets the SDK as an option. */
export const chatsAt = (target: Target, options?: ForkpointChatsOptions): ForkpointChats =>
  checkedAfter(new ForkpointChats(target, { ai, ...options }));

/** A target that several stores can be opened on: for memory, an open store. */
export async function shared(kind: Kind): Promise<Target> {
  const target = place(kind);
  if (kind !== "memory") return target;
  const store = await openStore(target);
  onTestFinished(() => store.close());
  return store;
}

export const user = (text: string, id = `u-${text}`): UIMessage => ({
  id,
  role: "user",
  parts: [{ type: "text", text }],
});

export const assistant = (text: string, id = `a-${text}`): UIMessage => ({
  id,
  role: "assistant",
  parts: [{ type: "step-start" }, { type: "text", text, state: "done" }],
});

/** A message that asks whether a tool may run, or that has the answer. */
export const asking = (n: number, answer?: boolean, input: unknown = { to: `bob ${n}` }): UIMessage =>
  ({
    id: `a-${n}`,
    role: "assistant",
    parts: [
      {
        type: "tool-send",
        toolCallId: `call-${n}`,
        input,
        ...(answer === undefined
          ? { state: "approval-requested", approval: { id: `approval-${n}` } }
          : { state: "approval-responded", approval: { id: `approval-${n}`, approved: answer } }),
      },
    ],
  }) as UIMessage;

/** The text of each message. */
export const texts = (messages: readonly UIMessage[]): string[] =>
  messages.map(({ parts }) => parts.map((part) => (part.type === "text" ? part.text : "")).join(""));
