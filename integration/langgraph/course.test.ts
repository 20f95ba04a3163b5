// The course of a thread: the steps of subgraphs are in the step that ran them, and the time of a question is no work.
import { Command, interrupt } from "@langchain/langgraph";
import { openInspector, timeOf, waterfallOf } from "forkpoint/inspect";
import { ForkpointSaver } from "forkpoint/langgraph";
import { expect, it } from "vitest";
import { Log, place, says, sequence, thread, openShared } from "./helpers.js";

const ref = { space: "langgraph", run: "thread", ns: "" };

async function opened() {
  const store = await openShared(place("memory"));
  return { checkpointer: new ForkpointSaver(store), inspector: await openInspector(store) };
}

it("nests the steps of subgraphs, and marks the step that waited", async () => {
  const { checkpointer, inspector } = await opened();
  const inner = sequence(Log, {
    first: says("first"),
    ask: () => ({ log: [interrupt<string, string>("inside?")] }),
  }).compile();
  const graph = sequence(Log, { before: says("before"), inner, after: says("after") }).compile({ checkpointer });
  await graph.invoke({ log: [] }, thread());
  // It waits inside: the subgraph is open, and the last row is the pause.
  const waiting = waterfallOf((await inspector.course(ref))!);
  expect(waiting.at(-1)).toMatchObject({ kind: "wait", to: null, waited: true });
  expect(waiting.find(({ kind }) => kind === "subgraph")).toMatchObject({ name: "inner", depth: 0 });
  await new Promise((resolve) => setTimeout(resolve, 30));
  await graph.invoke(new Command({ resume: "yes" }), thread());
  const course = (await inspector.course(ref))!;
  expect(course).toMatchObject({ status: "finished", next: [] });
  const rows = waterfallOf(course);
  const steps = rows.filter(({ kind, depth }) => kind === "step" && depth === 0);
  expect(steps).toHaveLength(course.steps.length);
  const at = rows.findIndex(({ kind }) => kind === "subgraph");
  // The step of the node "inner" is the third from the end: then comes "after".
  const owner = rows.slice(0, at).findLast(({ depth }) => depth === 0);
  expect(owner?.id).toBe(steps.at(-2)!.id);
  expect(owner?.waited).toBe(true);
  expect(rows.slice(at + 1).filter(({ depth }) => depth === 2)).toHaveLength(course.subgraphs.length);
  expect(course.subgraphs.length).toBeGreaterThan(2);
  expect(course.pauses).toContain(course.steps.at(-3)!.id);
  const time = timeOf(rows);
  expect(time.waited).toBeGreaterThanOrEqual(30);
  // The course of the subgraph alone has its own steps.
  const nested = (await inspector.course({ ...ref, ns: course.subgraphs[0]!.ns }))!;
  expect(nested.steps).toHaveLength(course.subgraphs.length);
  expect(nested.subgraphs).toEqual([]);
});
