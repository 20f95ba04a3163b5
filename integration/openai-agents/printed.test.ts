// Runs the code that is printed for a saved run of the OpenAI Agents SDK.
import * as agents from "@openai/agents";
import { ScriptedModel, assistantMessage, functionCall } from "@openai/agents-core/testing";
import { openInspector } from "forkpoint/inspect";
import { expect, it } from "vitest";
import { z } from "zod";
import { place } from "../../__test__/helpers.js";
import { type Printed, printed, runPrinted } from "../../__test__/printed.js";
import { statesAt } from "./helpers.js";

agents.setTracingDisabled(true);

it("the code that is printed for a state approves a call, and stores what comes of it", async () => {
  const target = place("sqlite");
  const states = statesAt(target);
  const sent: string[] = [];
  const send = agents.tool({
    name: "send",
    description: "Sends a mail",
    parameters: z.object({ to: z.string() }),
    needsApproval: true,
    execute: async ({ to }) => `${sent.push(to)} sent`,
  });
  const model = new ScriptedModel([
    [functionCall("send", { to: "bob" }, { callId: "c1" })],
    [assistantMessage("done")],
  ]);
  const agent = new agents.Agent({ name: "mailer", model, tools: [send] });
  const run = `r"'\`\${1}`;
  const result = await agents.run(agent, "mail");
  await states.save(run, result.state.toString());
  await using inspector = await openInspector(target);
  const ref = { space: "openai-agents-states", run };
  const asked = await printed(inspector, ref);
  expect(asked).toHaveLength(1);
  const [{ code }] = asked as [Printed];
  await runPrinted(code, { agent, states }, { "@openai/agents": agents });
  expect(sent).toEqual(["bob"]);
  expect(await printed(inspector, ref)).toEqual([]);
});
