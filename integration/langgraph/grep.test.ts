/** Tests the search in threads of LangGraph: messages, questions, errors, subgraphs, and steps. */

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { Annotation, MessagesAnnotation, interrupt } from "@langchain/langgraph";
import { type SearchHit, type SearchOptions, formatPath, openInspector } from "forkpoint/inspect";
import { ForkpointSaver } from "forkpoint/langgraph";
import { expect, test } from "vitest";
import { sequence, openShared } from "./helpers.js";

test("a search finds messages, questions and states of subgraphs", async () => {
  const store = await openShared("memory:");
  const saver = new ForkpointSaver(store);
  const inner = sequence(Annotation.Root({ secret: Annotation<string>() }), {
    look: () => ({ secret: "the code is 0815" }),
  }).compile({ checkpointer: true });
  const graph = sequence(MessagesAnnotation, {
    agent: () => ({ messages: [new AIMessage({ id: "a1", content: "I refund the parcel." })] }),
    inner: async () => {
      await inner.invoke({ secret: "" });
      return {};
    },
    ask: () => {
      interrupt({ question: "Refund the Parcel?" });
      return {};
    },
  }).compile({ checkpointer: saver });
  const config = { configurable: { thread_id: "t" }, durability: "sync" as const };
  await graph.invoke({ messages: [new HumanMessage({ id: "h1", content: "Where is my parcel?" })] }, config);

  const inspector = await openInspector(store);
  const found = async (text: string, options?: SearchOptions) => {
    const hits: SearchHit[] = [];
    for await (const hit of inspector.search(text, options)) hits.push(hit);
    return hits.map(
      ({ ns, step, part, path }) => `${ns === "" ? "root" : "inner"} ${step} ${formatPath([part, ...path])}`,
    );
  };
  const last = (await inspector.run({ space: "langgraph", run: "t" }))!.latest.step;
  expect(await found("parcel")).toEqual([
    `root ${last} state.messages[0].kwargs.content`,
    `root ${last} state.messages[1].kwargs.content`,
  ]);
  expect((await found("parcel", { ignoreCase: true })).at(-1)).toMatch(/^root \d+ writes\[\d\]\.value.*question$/);
  expect(await found("0815")).toEqual([expect.stringMatching(/^inner \d state\.secret$/)]);
  expect(await found("0815", { ns: "" })).toEqual([]);
  // Each message is found in the step that has it first.
  const steps = (await found("parcel", { allSteps: true, run: "t" })).filter((hit) => hit.includes("state.messages"));
  expect(steps).toHaveLength(2);
  expect(new Set(steps.map((hit) => hit.split(" ")[1])).size).toBe(2);
  await inspector.close();
});
