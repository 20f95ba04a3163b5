// The nodes that made a checkpoint, for the frameworks that the package has itself.
import { CheckpointStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { SessionStore } from "forkpoint/helix";
import { stepName } from "forkpoint/inspect";
import { Checkpointer, Command, Graph, START, Send } from "forkpoint/tinyagents";
import { describe, expect, it } from "vitest";
import { inspected } from "../contents.js";
import { checkpoint, kinds, place } from "../helpers.js";

describe.each(kinds)("on %s", (kind) => {
  const opened = () => inspected(place(kind));

  it("TinyAgents: one for each task", async () => {
    const { store, inspector } = await opened();
    interface State {
      log: string[];
    }
    const says = (name: string) => () => ({ log: [name] });
    const graph = new Graph<State, State>({
      reducer: (state, { log }) => ({ log: [...state.log, ...log] }),
      nodes: {
        plan: () => new Command({ update: { log: ["plan"] }, goto: [1, 2, 3].map((n) => new Send("read", { n })) }),
        read: says("read"),
        write: says("write"),
      },
      edges: [
        [START, "plan"],
        ["read", "write"],
      ],
      checkpointer: new Checkpointer<State>(store),
    });
    await graph.invoke({ log: [] }, { threadId: "thread" });
    const { items } = await inspector.checkpoints({ space: "tinyagents", run: "thread" });
    expect(items.map(stepName)).toEqual(["input", "plan", "read x3", "write"]);
    expect(items.map(({ nodes }) => nodes)).toEqual([null, ["plan"], ["read", "read", "read"], ["write"]]);
    expect((await inspector.runs({ space: "tinyagents" })).items[0]!.latest).toEqual(items.at(-1));
  });

  it("Helix: the step, and the role of the last message", async () => {
    const { store, inspector } = await opened();
    const sessions = new SessionStore(store);
    await sessions.createSession("s", { agentType: "writer" });
    const roles = ["user", "assistant", "tool", "x".repeat(41), "\ud800", "", undefined];
    const state = (await sessions.loadState("s"))!;
    const messages: Array<{ role: "user"; content: string }> = [];
    for (const [n, role] of roles.entries()) {
      messages.push({ role: role as "user", content: `${n}` });
      await sessions.appendMessages("s", messages.slice(-1));
      await sessions.saveCheckpoint({
        id: `c${n}`,
        sessionId: "s",
        stepCount: n,
        timestamp: n,
        state: { ...state, messages },
      });
    }
    await sessions.saveCheckpoint({ id: "none", sessionId: "s", stepCount: 9, timestamp: 9, state });
    const { items } = await inspector.checkpoints({ space: "helix", run: "s" });
    const others = [3, 4, 5, 6, 9].map((step) => `step ${step}: active`);
    const names = ["step 0: user", "step 1: assistant", "step 2: tool", ...others];
    expect(items.slice(0, -1).map(stepName)).toEqual(names);
    for (const { id } of items.slice(0, -1)) expect(await sessions.getCheckpoint(id)).not.toBeNull();
  });

  it("AgentOS and Agentium: the label", async () => {
    const { store, inspector } = await opened();
    await new CheckpointStore(store).save(checkpoint({ nodeId: "classify" }));
    const steps = new WorkflowCheckpointStore<object>(store);
    await steps.save({ id: "a", runId: "flow", stepIndex: 0, stepName: "book", state: {}, createdAt: 1 });
    const latest = async (space: string) => (await inspector.runs({ space })).items[0]!.latest;
    expect((await latest("agentos")).nodes).toEqual(["classify"]);
    expect((await latest("agentium")).nodes).toEqual(["book"]);
  });
});
