// Many sessions with more messages than may be kept in memory. What each save stored is what is read back.
import { SessionStore, type Message } from "forkpoint/helix";
import { expect, it } from "vitest";
import { stateOf } from "./helpers.js";
import { closing } from "../helpers.js";

const SESSIONS = 250;
const ROUNDS = 6;
const MESSAGES = 20;

it.each(["v8", "json"] as const)(
  "%s: 1,500 saves of 250 sessions in turn are read back, while one message of each has a list that grows",
  { timeout: 300_000 },
  async (serializer) => {
    const store = closing(new SessionStore("memory:", { serializer }));
    const text = "x".repeat(12_500);
    const sessions = Array.from({ length: SESSIONS }, (_, session) => ({
      id: `session ${session}`,
      messages: Array.from({ length: MESSAGES }, (__, n) => ({ role: "user", content: `${session} ${n} ${text}` })),
      parts: Array.from({ length: 20 }, (__, n) => ({ type: "text", n })),
    }));
    for (const { id, messages, parts } of sessions) {
      Object.assign(messages[10]!, { parts });
      await store.createSession(id, { agentType: "agent" });
    }
    let [saves, equal] = [0, 0];
    for (let round = 0; round < ROUNDS; round++) {
      for (const { id, messages, parts } of sessions) {
        parts.push({ type: "text", n: parts.length });
        await store.saveState(id, stateOf({ messages: messages as Message[] }));
        saves += 1;
        const read = (await store.loadState(id))!.messages as typeof messages;
        expect(read, `${id}, round ${round}`).toHaveLength(MESSAGES);
        expect(read, `${id}, round ${round}`).toEqual(messages);
        equal += 1;
      }
    }
    expect([saves, equal]).toEqual([SESSIONS * ROUNDS, SESSIONS * ROUNDS]);
  },
);
