// `exportTo` into LangGraph's PostgresSaver, and `importFrom` of one.
import "./setup.js";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { describe, expect, it } from "vitest";
import { chat, exportTests } from "../langgraph/export-to.js";
import { all, saver, thread } from "../langgraph/helpers.js";
import { withSerde } from "../langgraph/other-savers.js";
import { poolOf } from "./databases.js";

async function make(): Promise<any> {
  const other = new PostgresSaver(poolOf());
  await other.setup();
  return withSerde(other as any);
}

exportTests([{ name: "PostgresSaver", make }], ["sqlite", "postgres"]);

describe("PostgresSaver", () => {
  it("reports branches whose values it mixes up", async () => {
    const [ours, other] = [saver("memory"), await make()];
    for (const content of ["one", "two"]) {
      await chat(ours).updateState(thread("branches"), { messages: [{ content }] }, "say");
    }
    await ours.copyThread("branches", "line");
    const [, first] = await all(chat(ours).getStateHistory(thread("branches")));
    await chat(ours).updateState(first!.config, { messages: [{ content: "three" }] }, "say");
    const { threads, skippedThreads } = await ours.exportTo(other);
    expect(threads).toBe(1);
    expect(skippedThreads).toMatchObject([{ threadId: "branches", why: "differs" }]);
    expect(skippedThreads[0]!.message).toContain('channel "messages" of checkpoint');
  });
});
