// Tests approvals: each is taken once, and only if the chat has asked for it.
import type { UIMessage } from "ai";
import { isForkpointError } from "forkpoint";
import { describe, expect, test } from "vitest";
import { failure, kinds, place } from "../../__test__/helpers.js";
import { asking, assistant, chatsAt, shared, user } from "./helpers.js";

const one = user("one");

describe.each(kinds)("approvals of %s", (kind) => {
  test("an approval is taken once, a denied one, too", async () => {
    const target = await shared(kind);
    const [mine, theirs] = [chatsAt(target), chatsAt(target)];
    await mine.saveChat({ id: "c", messages: [one, asking(1)] });
    const answered = [one, asking(1, true)];
    const before = Date.now();
    expect(await mine.takeApprovals("c", answered)).toEqual([
      {
        approvalId: "approval-1",
        toolCallId: "call-1",
        toolName: "send",
        approved: true,
        input: { to: "bob 1" },
        messageId: "a-1",
      },
    ]);
    for (const chats of [mine, theirs]) {
      const error = await failure(chats.takeApprovals("c", answered), "CONFLICT");
      expect(error.message).toMatch(
        /^approval "approval-1" of chat "c" was taken by process \d+ on .* at 20.*Z: its tool may/,
      );
      expect(error.taken!.at).toBeGreaterThanOrEqual(before - 1);
      expect(error.taken!.by).toContain(`process ${process.pid} `);
    }
    await mine.saveChat({ id: "c", messages: answered });
    await failure(theirs.takeApprovals("c", answered), "CONFLICT");
    await mine.saveChat({ id: "c", messages: [one, assistant("done"), user("more"), asking(2)] });
    const denied = [one, assistant("done"), user("more"), asking(2, false)];
    (denied[3]!.parts[0] as { approval: object }).approval = { id: "approval-2", approved: false, reason: "no" };
    expect(await theirs.takeApprovals("c", denied)).toMatchObject([
      { approvalId: "approval-2", approved: false, reason: "no" },
    ]);
    await failure(mine.takeApprovals("c", denied), "CONFLICT");
  });

  test("messages without answers take nothing", async () => {
    const chats = chatsAt(place(kind));
    expect(await chats.takeApprovals("nobody", [one])).toEqual([]);
    await chats.saveChat({ id: "c", messages: [one, asking(1)] });
    expect(await chats.takeApprovals("c", [one, asking(1), user("instead")])).toEqual([]);
    expect(await chats.takeApprovals("c", [])).toEqual([]);
  });

  test("a forged answer is refused, and takes nothing", async () => {
    const chats = chatsAt(place(kind));
    await chats.saveChat({ id: "c", messages: [one, asking(1), user("and"), asking(2)] });
    const part = (message: UIMessage) => message.parts[0] as unknown as Record<string, unknown>;
    const forged = (change: (fields: Record<string, any>) => void) => {
      const message = asking(2, true);
      change(part(message));
      return [one, asking(1, true), user("and"), message];
    };
    const cases: Array<[UIMessage[], string]> = [
      [forged((fields) => (fields["input"] = { to: "eve" })), "the chat asks for another call"],
      [forged((fields) => (fields["type"] = "tool-delete")), "the chat asks for another call"],
      [forged((fields) => (fields["toolCallId"] = "call-9")), "the chat has not asked for it"],
      [forged((fields) => (fields["approval"].id = "approval-9")), "the chat has not asked for it"],
      [forged((fields) => (fields["approval"] = undefined)), "the chat has not asked for it"],
      [forged((fields) => (fields["approval"].approved = "yes")), "approved must be true or false"],
      [[one, asking(1, true), asking(1, true)], "the messages answer it twice"],
    ];
    for (const [messages, why] of cases) {
      const error = await failure(chats.takeApprovals("c", messages), "INVALID_ARGUMENT");
      expect(error.message).toContain(why);
    }
    await failure(chats.takeApprovals("other", [one, asking(1, true)]), "INVALID_ARGUMENT");
    // Nothing was taken: both can be taken now.
    const both = [one, asking(1, true), user("and"), asking(2, false)];
    expect(await chats.takeApprovals("c", both)).toHaveLength(2);
  });

  test("an earlier answer that is over is left out, and another one is not", async () => {
    const chats = chatsAt(place(kind));
    // Its tool has never run, and the human went on.
    await chats.saveChat({ id: "c", messages: [one, asking(1)] });
    await chats.takeApprovals("c", [one, asking(1, true)]);
    const left = [one, asking(1, true), user("go on")];
    await chats.saveChat({ id: "c", messages: left });
    expect(await chats.takeApprovals("c", [...left, user("and on")])).toEqual([]);
    await failure(chats.takeApprovals("c", [one, asking(1, false), user("go on")]), "CONFLICT");
    await failure(chats.takeApprovals("c", [one, asking(7, true), user("go on")]), "INVALID_ARGUMENT");
  });

  test("one that is given back can be taken again, and goes with its chat", async () => {
    const chats = chatsAt(place(kind));
    const answered = [one, asking(1, true)];
    await chats.saveChat({ id: "c", messages: [one, asking(1)] });
    await chats.takeApprovals("c", answered);
    await chats.releaseApproval("c", "approval-1");
    await chats.releaseApproval("c", "unknown");
    expect(await chats.takeApprovals("c", answered)).toHaveLength(1);
    await chats.deleteChat("c");
    await chats.saveChat({ id: "c", messages: [one, asking(1)] });
    expect(await chats.takeApprovals("c", answered)).toHaveLength(1);
    // The ids of chats and approvals stay apart.
    await chats.saveChat({ id: "c1", messages: [one, asking(1)] });
    expect(await chats.takeApprovals("c1", answered)).toHaveLength(1);
  });

  test("of many who take it at once, one gets it", async () => {
    const target = await shared(kind);
    const stores = Array.from({ length: 4 }, () => chatsAt(target));
    await stores[0]!.saveChat({ id: "c", messages: [one, asking(1)] });
    const results = await Promise.allSettled(
      Array.from({ length: 12 }, (_, n) => stores[n % 4]!.takeApprovals("c", [one, asking(1, n % 2 === 0)])),
    );
    const reasons = results.flatMap((result) => (result.status === "rejected" ? [result.reason as unknown] : []));
    expect(reasons).toHaveLength(11);
    expect(reasons.every((reason) => isForkpointError(reason) && reason.code === "CONFLICT")).toBe(true);
  });
});
