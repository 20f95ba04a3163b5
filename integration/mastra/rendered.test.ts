// How often a message of Mastra's memory is serialized: when it is saved.
import { describe, expect, it } from "vitest";
import { counted, countRendered } from "../../__test__/incremental/rendered.js";
import { kinds, place } from "../../__test__/helpers.js";
import { storeAt } from "./helpers.js";

describe.each(kinds)("on %s", (kind) => {
  it("a turn serializes its own messages", async () => {
    const memory = (await storeAt(place(kind)).getStore("memory"))!;
    const at = new Date(1_000);
    await memory.saveThread({ thread: { id: "t", resourceId: "u", title: "t", createdAt: at, updatedAt: at } });
    const rendered = countRendered();
    for (let turn = 0; turn < 30; turn++) {
      const messages = ["user", "assistant"].map((role, n) => ({
        id: `m${turn}-${n}`,
        threadId: "t",
        resourceId: "u",
        role: role as "user" | "assistant",
        createdAt: new Date(1_000 * turn + n),
        content: { format: 2 as const, parts: [{ type: "text" as const, text: "x".repeat(500) }], metadata: counted },
      }));
      await memory.saveMessages({ messages });
      expect(rendered()).toBe(2);
    }
  });
});
