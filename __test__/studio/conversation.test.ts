// Tests the routes of conversations and tokens: pages, long texts that are cut, and answers that stay small.
import { ForkpointStorage } from "forkpoint/agentium";
import { describe, expect, test } from "vitest";
import { opened } from "../contents.js";
import { errorOf, saveRun, start } from "./helpers.js";

const MAX = 512 * 2 ** 10;
const run = { space: "agentos", run: "run" };

/** Starts a studio over a run with these messages. */
async function studio(...states: unknown[][]) {
  const store = await opened("memory:");
  await saveRun(
    store,
    "run",
    states.map((messages) => ({ messages })),
  );
  return start(store);
}

const said = (n: number, content: unknown = `m ${n}`) => ({ role: n % 2 === 0 ? "user" : "assistant", content });
const many = (count: number, content?: (n: number) => unknown) =>
  Array.from({ length: count }, (_, n) => said(n, content?.(n)));

describe("conversation", () => {
  test("is what the inspector reads, of a step, of a list and of a page", async () => {
    const { get, inspector } = await studio(many(3), many(5));
    const query = { from: 1, limit: 2 };
    expect(await get("conversation", { ...run, ...query })).toEqual(await inspector.conversation(run, query));
    expect(await get("conversation", { ...run, step: 0 })).toMatchObject({ total: 3, from: 0 });
    expect(await get("conversation", { ...run, id: "run-0", list: "scratch.messages" })).toMatchObject({ total: 3 });
    expect((await get("checkpoint", run)).hasMessages).toBe(true);
    expect((await get("checkpoint", { ...run, path: "scratch" })).hasMessages).toBeUndefined();
  });

  test("of a state without messages is empty, and the page knows it", async () => {
    const { get } = await studio([]);
    expect(await get("conversation", run)).toMatchObject({ list: null, lists: [], messages: [] });
    expect((await get("checkpoint", run)).hasMessages).toBe(false);
  });

  test("cuts long texts and values, and sends more of them on demand", async () => {
    const text = "é".repeat(1_000_000);
    const call = { id: "1", name: "find", args: { text, list: Array.from({ length: 500 }, (_, n) => n) } };
    const { get } = await studio([said(0, text), { role: "assistant", content: "", tool_calls: [call] }]);
    const { messages } = await get("conversation", run);
    expect(messages[0].parts[0].text).toHaveLength(4_000);
    expect(messages[0].parts[0].more).toBe(996_000);
    const { args } = messages[1].parts[0];
    expect(args.text).toMatchObject({ $type: "More", of: "Text" });
    expect(args.list.at(-1)).toMatchObject({ $type: "More", count: 450 });
    const whole = await get("conversation", { ...run, from: 0, limit: 1, text: 200_000 });
    expect(whole.messages[0].parts[0].text).toHaveLength(200_000);
  });

  test("an answer has at most 512 KB, from both ends", async () => {
    const { ask, get } = await studio(many(1_000, (n) => `${n} ${"x".repeat(3_900)}`));
    for (const from of [0, -1_000, 500, -300]) {
      const { status, text } = await ask(`conversation?space=agentos&run=run&from=${from}&limit=1000`);
      expect(status).toBe(200);
      expect(Buffer.byteLength(text)).toBeLessThan(MAX);
      const { messages, from: first, total } = JSON.parse(text);
      expect(total).toBe(1_000);
      expect(messages.length).toBeGreaterThan(50);
      // A page from the end keeps its last messages.
      if (from < 0) expect(first + messages.length).toBe(1_000);
      else expect(first).toBe(from);
      expect(messages[0].path).toBe(`scratch.messages[${first}]`);
    }
    const next = await get("conversation", { ...run, from: 0, limit: 1 });
    expect(next.messages).toHaveLength(1);
  });

  test.each<[string, unknown]>([
    [
      "a message of many long texts",
      said(
        0,
        Array.from({ length: 3_000 }, () => ({ type: "text", text: "x".repeat(4_000) })),
      ),
    ],
    [
      "a message with a long role, id and model",
      { role: "r".repeat(2e6), content: "x", id: "i".repeat(2e6), model: "m".repeat(2e6), name: "n".repeat(2e6) },
    ],
    [
      "calls with long names",
      {
        role: "assistant",
        content: "",
        tool_calls: Array.from({ length: 2_000 }, () => ({ name: "n".repeat(5_000), args: "a".repeat(9_000) })),
      },
    ],
    [
      "a result of many parts",
      {
        role: "tool",
        tool_call_id: "1",
        content: Array.from({ length: 5_000 }, () => ({ type: "text", text: "y".repeat(500) })),
      },
    ],
    ["a key as long as an answer", { role: "user", content: [{ type: "x".repeat(1e6), ["k".repeat(1e6)]: 1 }] }],
  ])("%s makes no larger answer", async (_, message) => {
    const { ask } = await studio([said(0), message as never]);
    for (const more of ["", "&text=400000", "&from=1&limit=1&text=400000"]) {
      const { status, text } = await ask(`conversation?space=agentos&run=run${more}`);
      expect(status).toBe(200);
      expect(Buffer.byteLength(text)).toBeLessThan(MAX);
      const { messages } = JSON.parse(text);
      expect(messages.length).toBeGreaterThan(0);
    }
  });

  test("says what is wrong with a request", async () => {
    const { ask } = await studio(many(2));
    const refused = async (query: string) => errorOf(await ask(`conversation?space=agentos&${query}`));
    expect(await refused("run=none")).toMatchObject({ status: 404, code: "NOT_FOUND" });
    expect(await refused("run=run&id=none")).toMatchObject({ status: 404, code: "NOT_FOUND" });
    expect(await refused("run=run&list=other")).toMatchObject({ status: 404, code: "NOT_FOUND" });
    expect(await refused("run=run&limit=0")).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
    expect(await refused("run=run&text=9999999")).toMatchObject({ status: 400, code: "INVALID_ARGUMENT" });
  });
});

describe("usage", () => {
  const answer = (n: number) => ({
    ...said(1),
    id: String(n),
    model: "gpt-5",
    usage: { input_tokens: 10, output_tokens: n },
  });

  test("is what the inspector adds up, without the models of each step", async () => {
    const { get, inspector } = await studio([answer(1)], [answer(1), answer(2)]);
    const found = (await inspector.usage(run))!;
    const usage = await get("usage", run);
    expect(usage).toMatchObject({ total: found.total, complete: true, unpriced: [] });
    expect(usage.steps.map(({ id, usage: { total, models } }: any) => [id, total, models])).toEqual([
      ["run-0", 11, []],
      ["run-1", 12, []],
    ]);
  });

  test("of a run without tokens is null, and a run that is gone is 404", async () => {
    const store = await opened("memory:");
    await new ForkpointStorage(store).set("values", "value", { messages: many(2) } as never);
    const { get, ask } = await start(store);
    const value = { space: "storage", run: "value", ns: "values" };
    expect(await get("usage", value)).toMatchObject({ total: null, steps: [] });
    expect(errorOf(await ask("usage?space=agentos&run=none"))).toMatchObject({ status: 404, code: "NOT_FOUND" });
  });

  test("of some runs has no steps and models, in their order, and null for what is not there", async () => {
    const { get, ask, store } = await studio([answer(1)], [answer(1), answer(2)]);
    await saveRun(store, "other", [{ messages: [answer(5)] }]);
    const list = (...runs: string[]) => JSON.stringify(runs.map((name) => ["agentos", name, null]));
    const { usages } = await get("usage", { of: list("other", "none", "run") });
    expect(usages.map((each: any) => each && [each.total.total, each.total.models, each.complete, each.steps])).toEqual(
      [[15, [], true, undefined], null, [23, [], true, undefined]],
    );
    // At least one run is read, however short the time is.
    const short = await get("usage", { of: list(...Array.from({ length: 100 }, () => "run")), maxMs: 1 });
    expect(short.usages.length).toBeGreaterThan(0);
    expect(short.usages.length).toBeLessThan(100);
    for (const of of ["[", "{}", "[1]", list(...Array.from({ length: 101 }, () => "run"))])
      expect(errorOf(await ask(`usage?of=${encodeURIComponent(of)}`))).toMatchObject({
        status: 400,
        code: "INVALID_ARGUMENT",
      });
  });

  test("of 1,500 steps has the newest ones, in a small answer", async () => {
    const { ask } = await studio(...Array.from({ length: 1_500 }, (_, n) => [answer(n)]));
    const { text } = await ask("usage?space=agentos&run=run");
    expect(Buffer.byteLength(text)).toBeLessThan(MAX);
    const { steps, complete, total } = JSON.parse(text);
    expect({ complete, last: steps.at(-1).id, messages: total.messages }).toEqual({
      complete: false,
      last: "run-1499",
      messages: 1_001,
    });
  });
});
