// What is left out of a copy of a run that others get.
import { fromJsonForm, toJsonForm } from "forkpoint/inspect";
import { expect, test } from "vitest";
import { LeavingOut } from "../../ts/inspect/leave-out.js";

const mark = (value: string) => ({ $type: "LeftOut", value });

const without = (paths: string[], form: unknown, at?: string[]) => new LeavingOut(paths).from(form, at);

test("leaves a value out wherever its path occurs, and counts", () => {
  const leaving = new LeavingOut([".apiKey", ".none"]);
  const form = { apiKey: "s", config: { apiKey: ["s"], url: "u" }, list: [{ apiKey: 1 }] };
  expect(leaving.from(form)).toEqual({
    apiKey: mark(".apiKey"),
    config: { apiKey: mark(".apiKey"), url: "u" },
    list: [{ apiKey: mark(".apiKey") }],
  });
  expect([...leaving.counts]).toEqual([
    [".apiKey", 3],
    [".none", 0],
  ]);
  // The given value stays as it is, and what has nothing to leave out is the same object.
  expect(form.apiKey).toBe("s");
  const same = { url: "u", deep: [{ a: 1 }] };
  expect(leaving.from(same)).toBe(same);
});

test("a star stands for any key or index, with the fields of LangChain's messages", () => {
  const plain = {
    messages: [
      { role: "ai", content: "x" },
      { role: "human", content: "y" },
    ],
  };
  const path = ".messages[*].content";
  expect(without([path], plain)).toEqual({
    messages: [
      { role: "ai", content: mark(path) },
      { role: "human", content: mark(path) },
    ],
  });
  const message = { lc: 1, type: "constructor", id: ["a"], kwargs: { content: "x", id: "1" } };
  expect(without([path], { messages: [message] })).toEqual({
    messages: [{ ...message, kwargs: { content: mark(path), id: "1" } }],
  });
  expect(without(["messages[*].kwargs.content"], { messages: [message] })).toEqual({
    messages: [{ ...message, kwargs: { content: mark("messages[*].kwargs.content"), id: "1" } }],
  });
  expect(without([".users.*.mail"], { users: { a: { mail: 1 }, b: { mail: 2, n: 3 } } })).toEqual({
    users: { a: { mail: mark(".users.*.mail") }, b: { mail: mark(".users.*.mail"), n: 3 } },
  });
  expect(without(["list[1]"], { list: [1, 2, 3] })).toEqual({ list: [1, mark("list[1]"), 3] });
  expect(without(['["a.b"].c'], { "a.b": { c: 1 } })).toEqual({ "a.b": { c: mark('["a.b"].c') } });
});

test("a write begins with its channel", () => {
  expect(without(["messages[*].content"], [{ content: "x" }], ["messages"])).toEqual([
    { content: mark("messages[*].content") },
  ]);
  expect(without(["apiKey"], "secret", ["apiKey"])).toEqual(mark("apiKey"));
  expect(without(["apiKey"], { a: "secret" }, ["config"])).toEqual({ a: "secret" });
});

test("all containers: Maps, Sets, Errors, objects with $type, lists with properties, __proto__", () => {
  const error = Object.assign(new Error("m"), { token: "t" });
  const list = Object.assign([1, { token: "t" }], { token: "t", other: 2 });
  const value = {
    map: new Map<unknown, unknown>([
      ["token", "t"],
      [{ token: "t" }, { token: "t", x: 1 }],
    ]),
    set: new Set([{ token: "t" }]),
    error,
    typed: { $type: "mine", token: "t" },
    list,
    proto: JSON.parse('{"__proto__":{"token":"t","n":1}}'),
  };
  const text = JSON.stringify(without(["token"], toJsonForm(value)));
  expect(text).not.toContain('"t"');
  expect(text.match(/LeftOut/g)).toHaveLength(9);
  expect(text).toContain('"__proto__"');
  // Other values stay what they are.
  const kept = fromJsonForm(without(["nothing"], toJsonForm(value))) as typeof value;
  expect(kept.map.get("token")).toBe("t");
});

test("a value that is written out at another place is left out there", () => {
  const shared = { apiKey: "secret", url: "u" };
  const value = { first: shared, config: shared };
  const form = toJsonForm(value);
  expect(JSON.stringify(form)).toContain("Ref");
  const left = without([".config.apiKey"], form);
  expect(JSON.stringify(left)).not.toContain("secret");
  expect(left).toMatchObject({ first: { apiKey: mark(".config.apiKey"), url: "u" } });
  // Through two references, and a key.
  const inner = { key: "secret" };
  const outer = { inner };
  const chain = toJsonForm({ a: inner, b: outer, c: { deep: outer } });
  expect(JSON.stringify(without([".c.deep.inner.key"], chain))).not.toContain("secret");
  // A cycle ends.
  const cycle: Record<string, unknown> = { key: "secret" };
  cycle["self"] = cycle;
  expect(JSON.stringify(without([".self.self.key"], toJsonForm(cycle)))).not.toContain("secret");
});

test("wrong paths are refused, with the reason", () => {
  for (const [path, why] of [
    ["a[0:2]", "no ranges"],
    ["a[-1]", "negative"],
    ["a[*]", "last step"],
    ["", "last step"],
    [".", "last step"],
    ["a[", "column"],
  ] as const) {
    expect(() => new LeavingOut([path]), path).toThrow(why);
  }
});

test("deep and wide values", () => {
  let deep: unknown = { token: "t" };
  for (let level = 0; level < 1_400; level++) deep = { a: deep };
  expect(JSON.stringify(without(["token"], deep))).toContain("LeftOut");
  const wide = { items: Array.from({ length: 20_000 }, (_, n) => ({ token: n, n })) };
  const leaving = new LeavingOut(["items[*].token"]);
  leaving.from(wide);
  expect(leaving.counts.get("items[*].token")).toBe(20_000);
});
