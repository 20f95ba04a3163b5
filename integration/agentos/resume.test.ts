// Tests which nodes a resume runs again, which nodes it replays from their recorded results, and which nodes it skips.
import { type Checkpoint, type EffectClass, resumePlan } from "forkpoint";
import { describe, expect, it } from "vitest";
import { humanNode, streamResume } from "./framework.js";
import {
  Tools,
  backends,
  chain,
  external,
  extension,
  open,
  savedAt,
  ticket,
  ticketTools,
  tool,
  watch,
} from "./harness.js";

describe.each(backends)("on %s", (_backend, target) => {
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
    const replay = ["write", "external", "human"];
    expect(plan).toEqual({ completed: [], skipped: [], replay, reexecute: ["pure", "read"] });
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
});

const gated = () =>
  chain({ ...external("draft"), gate: humanNode({ prompt: "Send it?" }), send: extension("send", "external") });
const answering = () => new Tools({ send: ({ scratch }) => ({ sent: scratch?.["answer"] ?? "nobody has answered" }) });

describe("a human gate", () => {
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
});
