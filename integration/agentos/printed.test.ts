// Runs the code that is printed for runs of AgentOS, in each of their statuses.
import * as agentos from "forkpoint/agentos";
import { openInspector } from "forkpoint/inspect";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Printed, printed, runPrinted } from "../../__test__/printed.js";
import { humanNode } from "./framework.js";
import { chain, external, folder, open, tool } from "./harness.js";

it.for(["waiting", "finished", "unfinished"])("the code that is printed for a run that is %s", async (status) => {
  const target = join(folder(), "agent.db");
  const store = open(target, { program: "printed" });
  const calls: string[] = [];
  const processToolCall = async ({ toolCallRequest: { toolName } }: { toolCallRequest: { toolName: string } }) => {
    if (status === "unfinished" && toolName === "refund") throw new Error("out of paper");
    calls.push(toolName);
    return { success: true, output: `${toolName} done` };
  };
  const first = status === "waiting" ? humanNode({ prompt: "Refund 480?" }) : tool("look", "external");
  const deps = { toolOrchestrator: { processToolCall } };
  const graph = chain({ first, ...external("refund") }).compile({ checkpointStore: store, deps });
  await graph.invoke({ order: 7 }).catch(() => {});
  await using inspector = await openInspector(target);
  const { items } = await inspector.runs();
  const [{ space, run }] = items as [(typeof items)[0]];
  expect([space, items[0]!.status]).toEqual(["agentos", status]);
  const asked = await printed(inspector, { space, run });
  expect(asked).toHaveLength(status === "waiting" ? 1 : 0);
  if (status !== "waiting") return;
  const [{ code }] = asked as [Printed];
  await runPrinted(code, { graph, store }, { "forkpoint/agentos": agentos });
  expect(calls).toEqual(["refund"]);
  expect((await inspector.run({ space, run }))!.status).toBe("finished");
  expect(await printed(inspector, { space, run })).toEqual([]);
});
