// Tests what the inspector shows of a state that waits for approvals, and runs the code that is printed for it with the real SDK.
import * as agents from "@openai/agents";
import { Agent, run, setTracingDisabled, tool } from "@openai/agents";
import { ScriptedModel, assistantMessage, functionCall } from "@openai/agents-core/testing";
import { openStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { failure } from "../../__test__/helpers.js";
import { runPrinted } from "../../__test__/printed.js";
import { statesAt } from "./helpers.js";

setTracingDisabled(true);

it("shows the tools that wait for an approval, and code that approves each", async () => {
  const store = await openStore("memory:");
  onTestFinished(() => store.close());
  const states = statesAt(store);
  const sent: string[] = [];
  const send = tool({
    name: "send",
    description: "Sends a mail",
    parameters: z.object({ to: z.string() }),
    needsApproval: true,
    execute: async ({ to }) => `sent ${sent.push(to)}`,
  });
  const call = (n: number) => functionCall("send", { to: `bob ${n} \u2028` }, { callId: `c"${n}` });
  const model = new ScriptedModel([[call(1), call(2)], [assistantMessage("done")]]);
  const agent = new Agent({ name: "mailer", model, tools: [send] });
  const name = `a "quoted" \u2028 '\`\${1} run`;
  await states.save(name, (await run(agent, "Mail.")).state.toString());
  const inspector = await openInspector(store, { write: true });
  const ref = { space: "openai-agents-states", run: name };
  const why = (await inspector.run(ref, { withWhy: true }))!.question;
  expect(why).toBe('send({"to":"bob 1 \u2028"}) (and 1 more)');
  for (const n of [1, 2]) {
    const questions = await inspector.questions(ref);
    expect(questions.at(-1)).toMatchObject({
      id: 'c"2',
      node: "mailer",
      tool: "send",
      args: { to: "bob 2 \u2028" },
      canAnswer: false,
    });
    const question = questions.find(({ id }) => id === `c"${n}`)!;
    expect(question.answered).toBeNull();
    await failure(inspector.answer(ref, { id: question.id, approve: true }), "UNSUPPORTED");
    await runPrinted(question.code, { agent, states }, { "@openai/agents": agents });
  }
  expect(sent).toEqual(["bob 1 \u2028", "bob 2 \u2028"]);
  expect(await inspector.questions(ref)).toEqual([]);
  expect((await inspector.run(ref))!.status).toBe("finished");
});
