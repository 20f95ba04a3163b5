// Tests answers that the inspector stores for human nodes: `recover` takes them, and the run goes on as with `onWaiting`.
import { recover } from "forkpoint";
import { type Inspector, openInspector } from "forkpoint/inspect";
import { describe, expect, it, onTestFinished } from "vitest";
import { Tools, backends, graphOf, open as openAs, refundNodes, watch } from "./harness.js";

const open = (target: string) => openAs(target, { program: "tests" });

const refund = () => graphOf(refundNodes(), ["START approve route refund END", "route decline END"]);

async function inspect(target: string): Promise<Inspector> {
  const inspector = await openInspector(target, { write: true });
  onTestFinished(() => inspector.close());
  return inspector;
}

const onDisk = backends.filter(([name]) => name !== "memory");

describe.each(onDisk)("on %s", (_, makeTarget) => {
  it.each([
    [{ approve: true }, { approved: true }, "refund"],
    [{ reject: true }, { approved: false }, "decline"],
    [{ reject: "too much" }, { approved: false, reason: "too much" }, "decline"],
    [{ value: { approved: true, note: "é" } }, { approved: true, note: "é" }, "refund"],
  ])("an answer %j is stored once, and recover continues with it", async (answer, output, ran) => {
    const target = makeTarget();
    const store = open(target);
    const tools = new Tools();
    const graph = refund().compile({ checkpointStore: store, deps: tools.deps });
    const { runId } = await watch(graph.stream({ order: 7 }));
    const inspector = await inspect(target);
    const ref = { space: "agentos", run: runId };
    const [question, ...others] = await inspector.questions(ref);
    expect(others).toEqual([]);
    const expected = { id: "approve", node: "approve", text: "Refund 480?", canAnswer: true, answered: null };
    expect(question).toMatchObject(expected);
    expect(question!.code).toContain("onWaiting");
    expect((await inspector.run(ref, { withWhy: true }))!.question).toBe("Refund 480?");

    const ended = await Promise.allSettled([
      inspector.answer(ref, { ...answer, by: "Ana" }),
      inspector.answer(ref, { ...answer, by: "Ana" }),
    ]);
    expect(ended.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    for (const end of ended) if (end.status === "rejected") expect(end.reason).toMatchObject({ code: "CONFLICT" });
    expect((await inspector.run(ref))!.status).toBe("unfinished");
    const { runs } = await store.runs();
    expect(runs.map(({ status }) => status)).toEqual(["unfinished"]);
    expect((await inspector.questions(ref))[0]!.answered).toMatchObject({ value: output, by: "Ana" });

    const asked: unknown[] = [];
    const [run] = (await recover(graph, store, { onWaiting: (node) => void asked.push(node) })).runs;
    expect(run).toMatchObject({ outcome: "finished", output: { approve: output, [ran]: `${ran}!` } });
    expect(asked).toEqual([]);
    expect(tools.calls).toEqual([ran]);
    expect((await inspector.run(ref))!.status).toBe("finished");
    const kept = [];
    for (const { id } of (await inspector.checkpoints(ref)).items)
      kept.push(...(await inspector.questions({ ...ref, id })).filter((each) => each.answered !== null));
    expect(kept).toHaveLength(1);
    expect(kept[0]!.answered).toMatchObject({ value: output, by: "Ana" });
    await expect(inspector.answer(ref, { approve: true })).rejects.toMatchObject({ code: "CONFLICT" });
  });

  it("an answer of onWaiting counts, and no fork gets an answer", async () => {
    const target = makeTarget();
    const store = open(target);
    const tools = new Tools();
    const graph = refund().compile({ checkpointStore: store, deps: tools.deps });
    const inspector = await inspect(target);
    const { runId } = await watch(graph.stream({ order: 7 }));
    const ref = { space: "agentos", run: runId };
    await inspector.answer(ref, { approve: true, by: "Ana" });
    const answered = (await store.latest(runId))!.id;
    const forks = [
      await store.fork(answered),
      await store.fork(answered, { scratch: { changed: true } }),
      (await inspector.fork({ ...ref, id: answered })).run,
    ];
    for (const fork of forks) expect((await inspector.run({ ...ref, run: fork }))!.status).toBe("waiting");
    const given = { approved: false };
    const onWaiting = ({ runId: of }: { runId: string }) => (of === forks[0] ? given : undefined);
    const { runs } = await recover(graph, store, { onWaiting, runs: [runId, ...forks] });
    expect(runs.map(({ outcome }) => outcome).toSorted()).toEqual(["finished", "finished", "waiting", "waiting"]);
    expect(tools.calls.toSorted()).toEqual(["decline", "refund"]);
    const own = { ...ref, run: forks[0]! };
    const refused = inspector.answer(own, { approve: true, by: "Ben" });
    await expect(refused).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(refused).rejects.toThrow(/by the program at .* with \{"approved":false\}/);
    const kept = [];
    for (const { id } of (await inspector.checkpoints(own)).items)
      kept.push(...(await inspector.questions({ ...own, id })).filter((each) => each.answered !== null));
    expect(kept.map(({ answered: is }) => [is!.value, is!.program])).toEqual([[given, true]]);
  });
});
