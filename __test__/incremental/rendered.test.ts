// How often a message is serialized in a conversation that grows: not more often, the longer it is.
import { CheckpointStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { SessionStore } from "forkpoint/helix";
import { Checkpointer } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { checkpoint as agentStep } from "../agentium/helpers.js";
import { make as claudeSessions } from "../claude-agent-sdk/helpers.js";
import { type Kind, checkedAfter, checkpoint, kinds, place } from "../helpers.js";
import { counted, countRendered } from "./rendered.js";

const message = (n: number) => ({ role: "user", content: `message ${n} `.repeat(40), ...counted });
type Message = ReturnType<typeof message>;

/** Saves a conversation with one message more. */
type Save = (messages: Message[], step: number) => Promise<unknown>;

const stores: Record<string, (kind: Kind) => Save> = {
  AgentOS(kind) {
    const store = checkedAfter(new CheckpointStore(place(kind)));
    const scratch: { messages: Message[] } = { messages: [] };
    return (messages, step) => {
      // AgentOS passes the same state at each step.
      scratch.messages = messages;
      return store.save(checkpoint({ id: `c${step}`, timestamp: step, state: { scratch } as never }));
    };
  },
  Agentium(kind) {
    const store = checkedAfter(new WorkflowCheckpointStore<object>(place(kind)));
    return (messages, stepIndex) => store.save(agentStep({ stepIndex, state: { messages } }));
  },
  TinyAgents(kind) {
    const store = checkedAfter(new Checkpointer(place(kind)));
    let parentCheckpointId: string | null = null;
    return async (messages, step) => {
      const node = "agent";
      // A graph stores what a node has returned, and then the checkpoint after it.
      if (parentCheckpointId !== null) {
        const write = { node, taskId: `t${step}`, idx: 0, channel: "messages", payload: [messages.at(-1)] };
        await store.putWrites({ threadId: "t", checkpointId: parentCheckpointId }, [write]);
      }
      const state = { messages };
      parentCheckpointId = await store.put({ threadId: "t", parentCheckpointId, state, nextNodes: [node] });
    };
  },
  Helix(kind) {
    const store = checkedAfter(new SessionStore(place(kind)));
    return async (messages, stepCount) => {
      if (stepCount === 0) await store.createSession("s", { agentType: "agent" });
      await store.appendMessages("s", [messages.at(-1) as never]);
      const state = { status: "active", stepCount, customState: {}, messages };
      const id = `s:${stepCount}`;
      await store.saveCheckpoint({ id, sessionId: "s", stepCount, timestamp: stepCount, state } as never);
    };
  },
};

/** How often a message is serialized in the step that adds it: the small value with it alone, and its list. */
const TIMES: Record<string, number> = { AgentOS: 1, Agentium: 1, TinyAgents: 2, Helix: 2 };

describe.each(kinds)("on %s", (kind) => {
  it.each(Object.keys(stores))("%s: a step serializes its new message", async (name) => {
    const save = stores[name]!(kind);
    const rendered = countRendered();
    const all = Array.from({ length: 60 }, (_, n) => message(n));
    for (let step = 0; step < 60; step++) {
      const messages = all.slice(0, step + 1);
      await save(messages, step);
      const count = rendered();
      const alone = TIMES[name]! - 1;
      // Text files have each state as a whole. Elsewhere, short lists are serialized as a whole, and a longer list is kept from its second save on.
      if (kind === "jsonl") expect(count).toBe(messages.length + (step === 0 && name === "TinyAgents" ? 0 : alone));
      else if (step > 18) expect(count).toBe(1 + alone);
    }
  });

  it("Claude Agent SDK: an entry is serialized when it is appended", async () => {
    const store = claudeSessions(kind, {});
    const rendered = countRendered();
    for (let step = 0; step < 30; step++) {
      const entry = { type: "user", uuid: `u${step}`, message: message(step) };
      await store.append({ projectKey: "-work", sessionId: "s" }, [entry as never]);
      expect(rendered()).toBe(1);
    }
  });
});
