// Tests the edits that wait for a fork, which values can be edited, and how messages are recognized.
import { describe, expect, test } from "vitest";
import {
  LONGEST,
  addEdit,
  clearEdits,
  editsOf,
  settingsOf,
  undoEdit,
  whyNoEdit,
} from "../../../tools/studio/page/edits.js";
import { messageText } from "../../../tools/studio/page/message-text.js";

const of = (id: string, run = "run") => ({ space: "agentos", run, ns: null, id });

describe("edits", () => {
  test("belong to a checkpoint, keep their order, and can be undone", () => {
    const [first, other] = [of("1"), of("1", "other")];
    expect(editsOf(first)).toEqual([]);
    addEdit(first, { path: ["a", 0], before: 1, value: 2 });
    addEdit(first, { path: ["a key"], before: "x", value: { $type: "Undefined" } });
    addEdit(other, { path: ["b"], before: 1, value: null });
    addEdit(first, { path: ["a", 0], before: 1, value: 3 });
    expect(settingsOf(editsOf(first))).toEqual([
      ['["a key"]', { $type: "Undefined" }],
      ["a[0]", 3],
    ]);
    // The root graph of LangGraph is the namespace "".
    expect(editsOf({ ...first, ns: "" })).toBe(editsOf(first));
    undoEdit(first, ["a key"]);
    undoEdit(first, ["not", "there"]);
    expect(settingsOf(editsOf(first))).toEqual([["a[0]", 3]]);
    clearEdits(first);
    expect(editsOf(first)).toEqual([]);
    expect(settingsOf(editsOf(other))).toEqual([["b", null]]);
  });

  test("of a value around or inside an edited one are refused", () => {
    const edits = [{ path: ["a", "b"], before: 1, value: 2 }];
    expect(whyNoEdit(edits, ["a"], {})).toContain("A value inside it has an edit");
    expect(whyNoEdit(edits, [], {})).toContain("A value inside it has an edit");
    expect(whyNoEdit(edits, ["a", "b", 0], 1)).toContain("a.b has an edit");
    for (const path of [["a", "b"], ["a", "c"], ["a", "bc"], ["b"]]) expect(whyNoEdit(edits, path, 1)).toBeNull();
  });

  test("of large and of opaque values are refused", () => {
    expect(whyNoEdit([], ["a"], "x".repeat(LONGEST - 10))).toBeNull();
    expect(whyNoEdit([], ["a"], "x".repeat(LONGEST))).toContain("--patch");
    const more = { $type: "More", path: ["a"], count: 9, of: "List", bytes: 2_000_000 };
    expect(whyNoEdit([], ["a"], more)).toMatch(/2 MB.*Select a value inside it/);
    expect(whyNoEdit([], ["a"], { ...more, bytes: 900 })).toBeNull();
    expect(whyNoEdit([], ["a"], { ...more, of: "Text", text: "t" })).toContain("--patch");
    const opaque = { $type: "Opaque", tag: "mine\u001b", bytes: 9, base64: "AA==" };
    expect(whyNoEdit([], ["a"], opaque)).toMatch(/^This value is opaque \(mine\\u001b\)/);
    expect(whyNoEdit([], ["a"], [1, { inside: opaque }])).toMatch(/^A value inside it is opaque/);
    let deep: unknown = opaque;
    for (let n = 0; n < 50_000; n++) deep = [deep];
    expect(whyNoEdit([], ["a"], deep)).toMatch(/^A value inside it is opaque/);
  });
});

describe("messages", () => {
  const langchain = (kind: string, kwargs: unknown) => ({
    lc: 1,
    type: "constructor",
    id: ["langchain_core", "messages", kind],
    kwargs,
  });

  test.each<[unknown, unknown]>([
    [langchain("HumanMessage", { content: "hi" }), { role: "user", text: "hi", calls: [] }],
    [
      langchain("AIMessageChunk", {
        content: [{ type: "text", text: "a" }, { type: "image" }],
        tool_calls: [{ name: "f" }],
      }),
      { role: "assistant", text: "a [image]", calls: ["f"] },
    ],
    [
      { role: "tool", content: "{}" },
      { role: "tool", text: "{}", calls: [] },
    ],
    [
      { role: "ai", content: { $type: "More", path: [], count: 9, of: "Text", text: "begin" } },
      { role: "assistant", text: "begin…", calls: [] },
    ],
    [langchain("Document", { content: "no message" }), null],
    [langchain("HumanMessage", null), null],
    [{ role: "tool", content: { $type: "More", path: [], count: 9, of: "List" } }, null],
    [{ role: "tool" }, null],
    [{ role: 7, content: "x" }, null],
    [null, null],
    ["text", null],
    [[], null],
  ])("%j", (form, expected) => {
    expect(messageText(form)).toEqual(expected);
  });
});
