// How often an item of a session is serialized: when it is added.
import { describe, expect, it } from "vitest";
import { counted, countRendered } from "../../__test__/incremental/rendered.js";
import { kinds, place } from "../../__test__/helpers.js";
import { sessionAt, user } from "./helpers.js";

describe.each(kinds)("on %s", (kind) => {
  it("a turn serializes its own items", async () => {
    const session = sessionAt(place(kind));
    const rendered = countRendered();
    for (let turn = 0; turn < 30; turn++) {
      await session.addItems([user("question", { providerData: counted }), user("answer", { providerData: counted })]);
      expect(rendered()).toBe(2);
    }
  });
});
