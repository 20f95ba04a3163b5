/** Sessions and states for tests: of the SDK, and of this package on each kind of target. */
import * as agents from "@openai/agents";
import { type AgentInputItem, MemorySession } from "@openai/agents";
import { type Store, openStore } from "forkpoint";
import { ForkpointRunStates, type ForkpointRunStatesOptions, ForkpointSession } from "forkpoint/openai-agents";
import { onTestFinished } from "vitest";
import { type Kind, checkedAfter, kinds, place } from "../../__test__/helpers.js";

type Target = string | URL | Store;

export const sessionAt = (target: Target, sessionId = "s", more: { ttlMs?: number } = {}): ForkpointSession =>
  checkedAfter(new ForkpointSession(target, { sessionId, agents, ...more }));

export const statesAt = (target: Target, options?: ForkpointRunStatesOptions): ForkpointRunStates =>
  checkedAfter(new ForkpointRunStates(target, options));

/** A target that several stores can be opened on: for memory, an open store. */
export async function shared(kind: Kind): Promise<Target> {
  const target = place(kind);
  if (kind !== "memory") return target;
  const store = await openStore(target);
  onTestFinished(() => store.close());
  return store;
}

export type Side = "MemorySession" | Kind;
export const sides: readonly Side[] = ["MemorySession", ...kinds];

/** A session of the SDK or of this package, with items. */
export async function make(side: Side, items: AgentInputItem[] = []): Promise<MemorySession | ForkpointSession> {
  if (side === "MemorySession") return new MemorySession({ sessionId: "s", initialItems: items });
  const session = sessionAt(place(side));
  await session.addItems(items);
  return session;
}

export const user = (content: string, more: object = {}): AgentInputItem => ({ role: "user", content, ...more });

export const call = (callId: string, more: object = {}): AgentInputItem =>
  ({ type: "function_call", callId, name: "send", arguments: "{}", ...more }) as AgentInputItem;

export const result = (callId: string): AgentInputItem =>
  ({
    type: "function_call_result",
    callId,
    name: "send",
    status: "completed",
    output: { type: "text", text: "sent" },
  }) as AgentInputItem;

export const texts = async (session: { getItems(): Promise<AgentInputItem[]> }): Promise<unknown[]> =>
  (await session.getItems()).map((item) => (item as { content?: unknown }).content);
