// Runs the code that is printed for a chat of the AI SDK that asks for an approval.
import { AbstractChat, type ChatTransport, type UIMessage } from "ai";
import { openInspector } from "forkpoint/inspect";
import { expect, test } from "vitest";
import { place } from "../../__test__/helpers.js";
import { type Printed, printed, runPrinted } from "../../__test__/printed.js";
import { asking, chatsAt, user } from "./helpers.js";

/** The chat of a page, as `useChat()` has it. It sends nothing. */
class PageChat extends AbstractChat<UIMessage> {
  constructor(id: string, messages: UIMessage[]) {
    const state = {
      status: "ready" as const,
      error: undefined,
      messages,
      pushMessage: (message: UIMessage) => void messages.push(message),
      popMessage: () => void messages.pop(),
      replaceMessage: (index: number, message: UIMessage) => void (messages[index] = message),
      snapshot: <T>(value: T): T => structuredClone(value),
    };
    super({ id, state, transport: {} as ChatTransport<UIMessage> });
  }
}

test("the code that is printed for a chat answers its approval", async () => {
  const target = place("sqlite");
  const chats = chatsAt(target);
  const id = `c"'\`\${1}`;
  await chats.saveChat({ id, messages: [user("mail"), asking(1)] });
  await using inspector = await openInspector(target);
  const ref = { space: "ai", run: id };
  const waiting = async () => {
    const { items } = await inspector.runs({ space: "ai", status: "waiting", withQuestion: true });
    return items.map(({ run, question }) => [run, question]);
  };
  expect(await waiting()).toEqual([[id, expect.stringMatching(/^\w+\(/)]]);
  const asked = await printed(inspector, ref);
  expect(asked).toHaveLength(1);
  const page = new PageChat(id, [user("mail"), asking(1)]);
  const [{ code }] = asked as [Printed];
  await runPrinted(code, { addToolApprovalResponse: page.addToolApprovalResponse });
  const taken = await chats.takeApprovals(id, page.messages);
  expect(taken).toMatchObject([{ approvalId: "approval-1", approved: true }]);
  await chats.saveChat({ id, messages: page.messages });
  expect(await printed(inspector, ref)).toEqual([]);
  expect(await waiting()).toEqual([]);
});
