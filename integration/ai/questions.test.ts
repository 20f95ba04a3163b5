// Questions of chats, which take an answer only in their own program, and of runs that ask nothing.
import { openStore } from "forkpoint";
import { ForkpointChats } from "forkpoint/ai";
import { openInspector } from "forkpoint/inspect";
import { expect, onTestFinished, test } from "vitest";
import { failure } from "../../__test__/helpers.js";

test("a run that asks nothing has no questions, and what cannot be answered here says so", async () => {
  const store = await openStore("memory:");
  onTestFinished(() => store.close());
  const inspector = await openInspector(store, { write: true });
  expect(await inspector.questions({ space: "langgraph", run: "nobody" })).toEqual([]);
  expect(await inspector.questions({ space: "storage", run: "key" })).toEqual([]);
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
  await failure(inspector.answer({ space: "ai", run: "chat" }, { approve: true }), "UNSUPPORTED");
  await chats.saveChat({ id: "chat", messages: [...messages, { ...user, id: "u2" }] as never });
  expect(await inspector.questions({ space: "ai", run: "chat" })).toEqual([]);
});
