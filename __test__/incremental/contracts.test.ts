// A long run of each contract: what is read back is what each step saved, whatever had been remembered.
import { CheckpointStore, openStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { SessionStore } from "forkpoint/helix";
import { Checkpointer } from "forkpoint/tinyagents";
import { deserialize, serialize } from "node:v8";
import { describe, expect, it } from "vitest";
import { checkpoint, kinds, place } from "../helpers.js";
import { Mutations } from "./mutations.js";
import { opened } from "../contents.js";

const STEPS = 60;

type State = Record<string, unknown>;

/** A store of a contract: how it saves a state, and how it reads it. */
interface Saver {
  save(step: number, state: State): Promise<unknown>;
  read(step: number): Promise<unknown>;
}

type Opened = Awaited<ReturnType<typeof openStore>>;

const savers: Record<string, (store: Opened) => Saver> = {
  AgentOS(store) {
    const checkpoints = new CheckpointStore(store);
    return {
      save: (step, state) => checkpoints.save(checkpoint({ id: `c${step}`, state: state as never })),
      read: async (step) => (await checkpoints.get(`c${step}`))?.state,
    };
  },
  Agentium(store) {
    const workflows = new WorkflowCheckpointStore<State>(store);
    return {
      save: (step, state) =>
        workflows.save({ id: `c${step}`, runId: "run", stepIndex: step, stepName: "step", state, createdAt: step }),
      read: async (step) => (await workflows.load(`c${step}`))?.state,
    };
  },
  TinyAgents(store) {
    const checkpointer = new Checkpointer<State>(store);
    return {
      save: (step, state) => checkpointer.put({ threadId: "thread", checkpointId: `c${step}`, state } as never),
      read: async (step) => (await checkpointer.get("thread", `c${step}`))?.state,
    };
  },
  Helix(store) {
    const sessions = new SessionStore(store);
    return {
      save: async (step, { scratch, ...customState }) => {
        const { messages } = scratch as { messages: object[] };
        if (step === 0) await sessions.createSession("session", { agentType: "agent" });
        const id = `c${step}`;
        // What a session's log holds is shared. The rest is the state's own.
        if (step % 2 === 1) await sessions.appendMessages("session", [messages.at(-1) as never]);
        const state = { agentType: "agent", status: "active", stepCount: step, customState, messages };
        await sessions.saveCheckpoint({ id, sessionId: "session", stepCount: step, timestamp: step, state } as never);
      },
      read: async (step) => {
        const found = (await sessions.getCheckpoint("session", `c${step}`))?.state as unknown as State;
        const { messages, customState } = found;
        return { ...(customState as State), scratch: { messages } };
      },
    };
  },
};

describe.each(kinds)("over %s", (kind) => {
  it.each(["v8", "json"] as const)(
    "%s: every state is read back as it was saved",
    { timeout: 120_000 },
    async (serializer) => {
      for (const [name, saverOf] of Object.entries(savers)) {
        const store = await opened(place(kind), { serializer, durability: "off" });
        const saver = saverOf(store);
        const mutations = new Mutations(11, serializer === "v8" ? [undefined, 1n] : []);
        let state = mutations.state();
        const large = "x".repeat(5_000);
        for (const message of state.scratch.messages) message["text"] = large;
        const expected: unknown[] = [];
        for (let step = 0; step < STEPS; step++) {
          state = mutations.mutate(state);
          state.scratch.messages.push({ step, text: large });
          const given =
            name === "Helix" ? { artifacts: state.artifacts, scratch: { messages: state.scratch.messages } } : state;
          await saver.save(step, given as State);
          expected.push(serializer === "json" ? JSON.parse(JSON.stringify(given)) : deserialize(serialize(given)));
        }
        for (let step = 0; step < STEPS; step++) {
          expect(await saver.read(step), `${name}, step ${step}`).toStrictEqual(expected[step]);
        }
      }
    },
  );
});
