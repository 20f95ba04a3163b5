// Tests which nodes a resume runs again, which nodes it replays from their recorded results, and which nodes it skips.
import { type Checkpoint, CheckpointStore, type EffectClass, resumePlan } from "forkpoint";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { AgentGraph, END, START, humanNode, streamResume } from "./framework.js";
import {
  Tools,
  backends,
  chain,
  everyNode,
  extension,
  failing,
  folder,
  open,
  savedAt,
  schema,
  ticket,
  ticketTools,
  tool,
  watch,
} from "./harness.js";

describe.each(backends)("on %s", (_backend, target) => {
  it("resumes an interrupted run by its run id", async () => {
    const checkpointStore = open(target());
    const tools = ticketTools({ report: failing(1, "closed") });
    const graph = ticket().compile({ checkpointStore, deps: tools.deps });
    const run = await watch(graph.stream({ ticket: 7 }));
    expect(run.interrupted).toBe("report");
    expect(await graph.resume(run.runId)).toEqual({
      load: "load!",
      score: { risk: 0.9 },
      file: "file!",
      review: "review!",
      report: "closed",
    });
    expect(tools.calls).toEqual(["load", "score", "file", "review", "report", "report"]);
  });

  it("resumes by checkpoint id from that very checkpoint: what came later runs again", async () => {
    const checkpointStore = open(target());
    const tools = ticketTools();
    const graph = ticket().compile({ checkpointStore, deps: tools.deps });
    const run = await watch(graph.stream({}));
    tools.calls.length = 0;
    expect(await graph.resume(savedAt(run, "score"))).toEqual(run.output);
    // AgentOS' own store behaves differently: its early checkpoints contain the results of later nodes.
    expect(tools.calls).toEqual(["file", "review", "report"]);
  });

  it.each(["nobody", "", "00000000-0000-4000-8000-000000000000", "' OR 1=1 --", "%", "ключ", "\0", "\ud800"])(
    "refuses the unknown identifier %j with the framework's own error",
    async (identifier) => {
      const checkpointStore = open(target());
      const graph = ticket().compile({ checkpointStore, deps: ticketTools().deps });
      await graph.invoke({});
      await expect(graph.resume(identifier)).rejects.toThrow(`No checkpoint found for identifier ${identifier}`);
      expect(await checkpointStore.latest(identifier)).toBeNull();
    },
  );

  it("does not run the branch that was skipped", async () => {
    const checkpointStore = open(target());
    const tools = ticketTools({ review: failing(1, "by a person") });
    const graph = ticket().compile({ checkpointStore, deps: tools.deps });
    const run = await watch(graph.stream({}));
    expect((await checkpointStore.latest(run.runId))!.skippedNodes).toEqual(["refund"]);
    expect(await graph.resume(savedAt(run, "route"))).toMatchObject({ review: "by a person", report: "report!" });
    expect(tools.count("refund")).toBe(0);
    expect(tools.count("report")).toBe(1);
  });

  it("does not choose another branch even if the state would: the choice is in the record", async () => {
    const checkpointStore = open(target());
    const tools = ticketTools();
    const graph = ticket().compile({ checkpointStore, deps: tools.deps });
    const run = await watch(graph.stream({}));
    tools.calls.length = 0;
    const forked = await checkpointStore.fork(savedAt(run, "route"), { artifacts: { score: { risk: 0 } } });
    await graph.resume(forked);
    expect(tools.calls).toEqual(["review", "report"]);
  });

  it.each<EffectClass>(["write", "external"])("does not repeat a %s node whose outcome is recorded", async (effect) => {
    const checkpointStore = open(target());
    const tools = new Tools({ act: failing(1, "second try") });
    const graph = chain({ act: tool("act", effect), done: tool("done", "pure") });
    const compiled = graph.compile({ checkpointStore, deps: tools.deps });
    const run = await watch(compiled.stream({}));
    expect((await checkpointStore.latest(run.runId))!.nodeResults["act"]!.effectClass).toBe(effect);
    // AgentOS replays a failed node too, because the node may have had its effect.
    expect(await compiled.resume(run.runId)).toEqual({ done: "done!" });
    expect(tools.calls).toEqual(["act", "done"]);
  });

  it.each<EffectClass>(["pure", "read"])("re-executes a %s node whose outcome is recorded", async (effect) => {
    const checkpointStore = open(target());
    const tools = new Tools({ look: failing(1, "second try") });
    const graph = chain({ look: tool("look", effect), done: tool("done", "pure") });
    const compiled = graph.compile({ checkpointStore, deps: tools.deps });
    const run = await watch(compiled.stream({}));
    expect(run.interrupted).toBe("look");
    expect(await compiled.resume(run.runId)).toEqual({ look: "second try", done: "done!" });
    expect(tools.calls).toEqual(["look", "look", "done"]);
  });

  it("replays recorded outputs as they were, as resumePlan says, and re-executes the rest", async () => {
    const checkpointStore = open(target());
    const classes: EffectClass[] = ["pure", "read", "write", "external", "human"];
    const graph = chain(Object.fromEntries(classes.map((effect) => [effect, tool(effect, effect)])));
    const tools = new Tools();
    const compiled = graph.compile({ checkpointStore, deps: tools.deps });
    const run = await watch(compiled.stream({}));
    // Simulates a crash after the result was recorded and before the node was marked complete. Runtimes with parallel
    // branches can crash at this point.
    const finished = (await checkpointStore.latest(run.runId))!;
    const recorded = { at: new Date(5), tags: new Set(["a"]), nothing: undefined };
    const checkpoint: Checkpoint = { ...finished, id: "halfway", runId: "halfway-run", visitedNodes: [] };
    for (const effect of classes) checkpoint.nodeResults[effect]!.output = { ...recorded, effect };
    await checkpointStore.save(checkpoint);

    const plan = resumePlan((await checkpointStore.get("halfway"))!);
    expect(plan).toEqual({
      completed: [],
      skipped: [],
      replay: ["write", "external", "human"],
      reexecute: ["pure", "read"],
    });
    tools.calls.length = 0;
    const resumed = await watch(streamResume(compiled.toIR(), "halfway-run", checkpointStore, tools.deps));
    expect(tools.calls).toEqual(plan.reexecute);
    const ends = resumed.events.flatMap((event) => (event.type === "node_end" ? [[event.nodeId, event.output]] : []));
    expect(Object.fromEntries(ends)).toStrictEqual({
      pure: "pure!",
      read: "read!",
      write: { ...recorded, effect: "write" },
      external: { ...recorded, effect: "external" },
      human: { ...recorded, effect: "human" },
    });
  });

  it("gives every resume a state of its own, whatever an earlier one did to it", async () => {
    const checkpointStore = open(target());
    const tools = new Tools({
      plan: () => ({ list: ["one"] }),
      spoil: ({ scratch, input }) => {
        (scratch!["list"] as string[]).push("two");
        expect(Object.isFrozen(input)).toBe(true);
        return { seen: (scratch!["list"] as string[]).length };
      },
    });
    const graph = chain({ plan: extension("plan", "read"), spoil: extension("spoil", "pure") });
    const compiled = graph.compile({ checkpointStore, deps: tools.deps });
    const run = await watch(compiled.stream({ asked: ["by me"] }));
    const planned = savedAt(run, "plan");
    for (let i = 0; i < 3; i++) expect(await compiled.resume(planned)).toMatchObject({ spoil: { seen: 2 } });
    const checkpoint = await checkpointStore.get(planned);
    expect(checkpoint!.state).toMatchObject({ input: { asked: ["by me"] }, scratch: { list: ["one"] } });
    expect(Object.isFrozen(checkpoint!.state.input)).toBe(false);
  });
});

const gated = () =>
  new AgentGraph(schema, everyNode)
    .addNode("draft", tool("draft", "external"))
    .addNode("gate", humanNode({ prompt: "Send it?" }))
    .addNode("send", extension("send", "external"))
    .addEdge(START, "draft")
    .addEdge("draft", "gate")
    .addEdge("gate", "send")
    .addEdge("send", END);
const answering = () => new Tools({ send: ({ scratch }) => ({ sent: scratch?.["answer"] ?? "nobody has answered" }) });

describe("a human gate", () => {
  it("saves a checkpoint at the interrupt, which survives the process", async () => {
    const path = join(folder(), "agent.db");
    const store = new CheckpointStore(path);
    const run = await watch(gated().compile({ checkpointStore: store, deps: answering().deps }).stream({}));
    await store.close();
    expect(run.interrupted).toBe("gate");
    const waiting = await open(path).latest(run.runId);
    expect(waiting).toMatchObject({
      nodeId: "gate",
      visitedNodes: ["draft"],
      nodeResults: { gate: { effectClass: "human", output: { prompt: "Send it?" } } },
    });
  });

  it("takes an answer from the patch of a fork, and the draft is not written twice", async () => {
    const checkpointStore = open("memory:");
    const tools = answering();
    const graph = gated().compile({ checkpointStore, deps: tools.deps });
    const run = await watch(graph.stream({}));
    const waiting = savedAt(run, "gate");
    const answer = (text: string, approved: boolean) =>
      checkpointStore.fork(waiting, { scratch: { answer: text }, artifacts: { gate: { approved } } });
    const [yes, no] = [await answer("yes", true), await answer("no", false)];
    expect(await graph.resume(yes)).toEqual({ draft: "draft!", gate: { approved: true }, send: { sent: "yes" } });
    expect(await graph.resume(no)).toEqual({ draft: "draft!", gate: { approved: false }, send: { sent: "no" } });
    expect(tools.calls).toEqual(["draft", "send", "send"]);
  });

  it("is passed without an answer when its own run is resumed: the recorded question is replayed", async () => {
    const checkpointStore = open("memory:");
    const tools = answering();
    const graph = gated().compile({ checkpointStore, deps: tools.deps });
    const run = await watch(graph.stream({}));
    expect(await graph.resume(run.runId)).toMatchObject({ send: { sent: "nobody has answered" } });
    expect(tools.calls).toEqual(["draft", "send"]);
  });

  it("a second gate, met in a resumed run, is saved as the newest checkpoint of the same run", async () => {
    const checkpointStore = open("memory:");
    const tools = new Tools();
    const graph = chain({
      first: humanNode({ prompt: "1?" }),
      work: tool("work", "write"),
      second: humanNode({ prompt: "2?" }),
      done: tool("done", "pure"),
    }).compile({ checkpointStore, deps: tools.deps });
    const run = await watch(graph.stream({}));
    await graph.resume(run.runId);
    const latest = await checkpointStore.latest(run.runId);
    expect(latest).toMatchObject({ nodeId: "second", visitedNodes: ["first", "work"] });
    expect(await graph.resume(run.runId)).toEqual({ work: "work!", done: "done!" });
    expect(tools.calls).toEqual(["work", "done"]);
  });
});
