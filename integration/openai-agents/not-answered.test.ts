// Questions of frameworks that take an answer only in their own program.
import { openStore } from "forkpoint";
import { ForkpointChats } from "forkpoint/ai";
import { openInspector } from "forkpoint/inspect";
import { ForkpointRunStates } from "forkpoint/openai-agents";
import { expect, onTestFinished, test } from "vitest";
import { failure } from "../../__test__/helpers.js";

test("a run that asks nothing has no questions, and what cannot be answered here says so", async () => {
  const store = await openStore("memory:");
  onTestFinished(() => store.close());
  const inspector = await openInspector(store, { write: true });
  expect(await inspector.questions({ space: "langgraph", run: "nobody" })).toEqual([]);
  expect(await inspector.questions({ space: "storage", run: "key" })).toEqual([]);
  const states = new ForkpointRunStates(store);
  const call = { type: "function_call", name: "send_mail", callId: "call-1", arguments: '{"to":"Zoë\u2028"}' };
  const interruptions = [{ type: "tool_approval_item", rawItem: call, agent: { name: "Assistant" } }];
  await states.save(
    "order-7",
    JSON.stringify({
      $schemaVersion: "1.22",
      currentStep: { type: "next_step_interruption", data: { interruptions } },
    }),
  );
  const ref = { space: "openai-agents-states", run: "order-7" };
  const [question, ...others] = await inspector.questions(ref);
  expect(others).toEqual([]);
  expect(question).toMatchObject({
    id: "call-1",
    node: "Assistant",
    tool: "send_mail",
    args: { to: "Zoë\u2028" },
    canAnswer: false,
    answered: null,
  });
  expect(question!.code).toContain('states.take("order-7")');
  expect((await inspector.run(ref, { withWhy: true }))!.question).toBe('send_mail({"to":"Zoë\u2028"})');
  await failure(inspector.answer(ref, { approve: true }), "UNSUPPORTED");
  await failure(inspector.answer({ space: "storage", run: "key" }, { approve: true }), "NOT_FOUND");

  const chats = new ForkpointChats(store);
  const part = {
    type: "tool-send",
    toolCallId: "c",
    input: { to: "bob" },
    state: "approval-requested",
    approval: { id: "approval-1" },
  };
  const user = { id: "u", role: "user", parts: [{ type: "text", text: "Send it." }] };
  const messages = [user, { id: "a", role: "assistant", parts: [part] }];
  await chats.saveChat({ id: "chat", messages: messages as never });
  const asked = await inspector.questions({ space: "ai", run: "chat" });
  expect(asked).toMatchObject([{ id: "approval-1", tool: "send", args: { to: "bob" }, canAnswer: false }]);
  await chats.saveChat({ id: "chat", messages: [...messages, { ...user, id: "u2" }] as never });
  expect(await inspector.questions({ space: "ai", run: "chat" })).toEqual([]);
});
