// How often a message of a chat is serialized: when it is new, although each request has new objects for all messages.
import { describe, expect, it } from "vitest";
import { counted, countRendered } from "../../__test__/incremental/rendered.js";
import { kinds, place } from "../../__test__/helpers.js";
import { chatsAt, user } from "./helpers.js";

describe.each(kinds)("on %s", (kind) => {
  it("a request serializes its new message", async () => {
    const chats = chatsAt(place(kind));
    const rendered = countRendered();
    let messages: Array<ReturnType<typeof user>> = [];
    for (let request = 0; request < 30; request++) {
      messages = [...structuredClone(messages), { ...user(`request ${request}`), metadata: counted }];
      rendered();
      await chats.saveChat({ chatId: "c", messages });
      expect(rendered()).toBe(1);
    }
  });
});
