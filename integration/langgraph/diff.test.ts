// What a step of LangGraph has changed: the message first, and LangGraph's own values apart.
import { join } from "node:path";
import { AIMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { MessagesAnnotation } from "@langchain/langgraph";
import { openInspector } from "forkpoint/inspect";
import { expect, it } from "vitest";
import { cli } from "./command.js";
import { folder, open, sequence, thread } from "./helpers.js";

const ref = { space: "langgraph", run: "chat" };

/** Lets a graph answer three times, and then drop and edit messages. */
async function chat(path: string): Promise<void> {
  const saver = open(path);
  const graph = sequence(MessagesAnnotation, {
    agent: ({ messages }) => ({
      messages: [new AIMessage({ id: `ai-${messages.length}`, content: `answer ${messages.length}` })],
    }),
  }).compile({ checkpointer: saver });
  for (let n = 0; n < 3; n++) {
    await graph.invoke(
      { messages: [new HumanMessage({ id: `human-${n}`, content: `question ${n}` })] },
      thread("chat"),
    );
  }
  // The first message goes, and the third one is edited: every later one moves.
  await graph.updateState(thread("chat"), {
    messages: [new RemoveMessage({ id: "human-0" }), new HumanMessage({ id: "human-1", content: "edited" })],
  });
  await saver.close();
}

it("a step shows the message, and one line for LangGraph's own values", async () => {
  const path = join(folder(), "chat.db");
  await chat(path);
  const inspector = await openInspector(path);
  const { items } = await inspector.checkpoints(ref);
  const answers = items.filter(({ label }) => label === "loop");
  expect(answers).toHaveLength(6);
  const last = answers.at(-1)!;
  const { changes } = await inspector.diff(last.parent, last);
  const others = changes.filter(({ own }) => own === undefined);
  expect(others).toMatchObject([{ part: "state", op: "add", path: ["messages", 5] }]);
  expect(changes.length - others.length).toBeGreaterThan(3);
  for (const { own } of changes) expect([undefined, true]).toContain(own);

  const text = cli("diff", "chat", "--db", path, last.id);
  expect(text).toMatch(/^\+ added +state\.messages\[5\] +assistant: "answer 5"$/m);
  expect(text).not.toContain("channel_versions");
  expect(text).not.toContain("branch:to");
  expect(text).toContain(`not shown: ${changes.length - others.length} changes of LangGraph's own values (--full)`);
  const full = cli("diff", "chat", "--db", path, "--full", last.id);
  expect(full).toContain("rest.channel_versions");
  expect(full).not.toContain("not shown");
  // JSON has all of them.
  const json = JSON.parse(cli("diff", "chat", "--db", path, "--json", last.id)) as { changes: unknown[] };
  expect(json.changes).toEqual(changes);
  await inspector.close();
});

it("messages are compared by their ids, when earlier ones are gone", async () => {
  const path = join(folder(), "chat.db");
  await chat(path);
  const inspector = await openInspector(path);
  const { items } = await inspector.checkpoints(ref);
  const { changes } = await inspector.diff(items.at(-2)!, items.at(-1)!, { parts: ["state"] });
  const others = changes.filter(({ own }) => own === undefined);
  expect(others).toMatchObject([
    { op: "remove", path: ["messages", 0] },
    { op: "replace", path: ["messages", 1, "kwargs", "content"], before: "question 1", after: "edited" },
  ]);
  // The question is what the first step has, and LangGraph took it over in the second.
  const [first, second] = items;
  const begun = (await inspector.diff(null, first!)).changes.filter(({ own }) => own === undefined);
  expect(begun).toMatchObject([{ op: "add", path: ["__start__"] }]);
  const taken = (await inspector.diff(first!, second!)).changes.filter(({ own }) => own === undefined);
  expect(taken).toMatchObject([{ op: "add", path: ["messages"] }]);
  await inspector.close();
});
