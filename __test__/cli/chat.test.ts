// Tests `get --chat`, `usage` and `ls --usage`: what they print, in 80 columns, and what they refuse.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CheckpointStore } from "forkpoint";
import { describe, expect, test } from "vitest";
import { checkpoint, folder } from "../helpers.js";
import { answer, cli, copies, expectSafe, json, refused } from "./run.js";

const usage = (input_tokens: number, output_tokens: number, more = {}) => ({ input_tokens, output_tokens, ...more });

const question = { role: "user", content: "My lamp arrived broken \u001b[31m\u202e. Can I have my money back?" };
const call = {
  role: "assistant",
  id: "a1",
  model: "gpt-5-2025-08-07",
  content: [
    { type: "thinking", thinking: "I have to find the order." },
    { type: "text", text: "I look it up." },
    { type: "tool_use", id: "1", name: "find_order", input: { order: 9001 } },
    {
      type: "tool_use",
      id: "2",
      name: "find_invoice",
      input: { order: 9001, parts: Array.from({ length: 40 }, (_, n) => `part ${n}`) },
    },
  ],
  usage: usage(310, 58),
};
const results = {
  role: "user",
  content: [
    { type: "tool_result", tool_use_id: "1", content: '{"items":["lamp"]}' },
    { type: "tool_result", tool_use_id: "2", is_error: true, content: "the invoices are down" },
  ],
};
const reply = {
  role: "assistant",
  id: "a2",
  model: "claude-opus-4-1",
  content: `Sorry for that. ${"We refund the lamp today. ".repeat(10)}\n\n${"x".repeat(200)}\n漢字漢字漢字`,
  usage: usage(1_000, 240, { cache_read_input_tokens: 500 }),
};

/** Makes a database with a conversation in three steps, and a run without one. */
const chats = copies(async (path) => {
  const store = new CheckpointStore(path);
  const all = [[question], [question, call], [question, call, results, reply]];
  for (const [n, messages] of all.entries()) {
    const state = {
      ...checkpoint().state,
      scratch: { messages, notes: n === 2 ? [question, question] : [] },
      diagnostics: {},
    };
    await store.save(checkpoint({ id: `chat-${n}`, runId: "chat", timestamp: n, state: state as never }));
  }
  await store.save(
    checkpoint({
      id: "plain-0",
      runId: "plain",
      timestamp: 9,
      state: { ...checkpoint().state, diagnostics: {} } as never,
    }),
  );
  await store.close();
});

describe("get --chat", () => {
  test("prints a conversation in 80 columns, with what the step has added", async () => {
    const db = await chats();
    const printed = await answer(["get", "chat", "--chat", "--db", db]);
    expectSafe(printed);
    for (const line of printed.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
    expect(printed).toContain(String.raw`broken \u001b[31m\u202e. Can I have`);
    expect(printed).toMatch(/^chat · step 2 node-1 · 3 messages · \+ 3 added by this step$/m);
    expect(printed).toMatch(/^ {2}assistant {2}gpt-5-2025-08-07 · 310 in, 58 out$/m);
    expect(printed).toMatch(/^\+ assistant {2}claude-opus-4-1 · 1,500 in, 240 out$/m);
    expect(printed).toContain(
      '  ~ I have to find the order.\n  I look it up.\n  → find_order { "order": 9001 }\n   += {"items":["lamp"]}\n',
    );
    expect(printed).toMatch(/^ {3}\+✗ the invoices are down$/m);
    expect(printed).toContain("\n    …\n");
    expect(printed.replaceAll(/\n */g, "")).toContain("x".repeat(200));
  });

  test("marks what Claude's SDK has written itself, and what belongs to a subagent", async () => {
    const db = join(folder(), "agent.db");
    const store = new CheckpointStore(db);
    const entry = (more: object) => ({ type: "user", uuid: "u", ...more, message: { role: "user", content: "Hi" } });
    const entries = [entry({}), entry({ isMeta: true }), entry({ isMeta: true, isSidechain: true })];
    const state = { ...checkpoint().state, scratch: { entries } };
    await store.save(checkpoint({ id: "chat-0", runId: "chat", state: state as never }));
    await store.close();
    const printed = await answer(["get", "chat", "--chat", "--db", db]);
    expect(printed.match(/^\+ user.*$/gm)).toEqual(["+ user", "+ user [meta]", "+ user [meta] [sidechain]"]);
    const { messages } = (await json(["get", "chat", "--chat", "--db", db])) as { messages: object[] };
    expect(messages[2]).toMatchObject({ marks: ["meta", "sidechain"] });
  });

  test("takes a step, and a list by its path", async () => {
    const db = await chats();
    expect(await answer(["get", "chat", "--chat", "--step", "0", "--db", db])).toMatch(
      /step 0 .* 1 message · \+ 1 added/,
    );
    expect(await answer(["get", "chat", "chat-1", "--chat", "--db", db])).toContain("→ find_order");
    const { stdout, stderr } = await cli(["get", "chat", "--chat", "--path", "scratch.notes", "--db", db]);
    expect(stdout).toContain("2 messages");
    expect(stderr).toContain("--path scratch.messages");
  });

  test("prints JSON of all messages", async () => {
    const found = await json(["get", "chat", "--chat", "--db", await chats()]);
    expect(found).toMatchObject({ list: "scratch.messages", total: 3, from: 0, checkpoint: { id: "chat-2" } });
    expect(found.messages[2]).toMatchObject({ role: "assistant", added: true, usage: { input: 1_500, cached: 500 } });
  });

  test("of a state without messages says so, and wrong flags are refused", async () => {
    const db = await chats();
    const { code, stdout, stderr } = await cli(["get", "plain", "--chat", "--db", db]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toContain("no messages");
    expect(await refused(["get", "chat", "--chat", "--raw", "--db", db], 2)).toMatchObject({ code: "USAGE" });
    expect(await refused(["get", "chat", "--chat", "--part", "state", "--db", db], 2)).toMatchObject({ code: "USAGE" });
    expect(await refused(["get", "chat", "--chat", "--path", "other", "--db", db], 3)).toMatchObject({
      code: "NOT_FOUND",
    });
  });

  test("prints 2,500 messages, all pages of them", async () => {
    const path = join(folder(), "agent.db");
    const store = new CheckpointStore(path);
    const messages = Array.from({ length: 2_500 }, (_, n) => ({ role: "user", content: `message ${n}` }));
    await store.save(
      checkpoint({ id: "l", runId: "long", state: { ...checkpoint().state, scratch: { messages } } as never }),
    );
    await store.close();
    expect((await json(["get", "long", "--chat", "--db", path])).messages).toHaveLength(2_500);
    expect((await answer(["get", "long", "--chat", "--db", path])).match(/message \d+/g)).toHaveLength(2_500);
  });
});

/** Writes a file with prices. */
function pricesIn(text: string): string {
  const path = join(folder(), "prices.json");
  writeFileSync(path, text);
  return path;
}

describe("usage", () => {
  test("adds up the tokens of a run, for each step and model", async () => {
    const printed = await answer(["usage", "chat", "--db", await chats()]);
    expect(printed).toBe(`chat · 2,108 tokens · 2 answers

STEP  TOKENS  INPUT  CACHED  OUTPUT  MODEL
   1     368    310       -      58  gpt-5-2025-08-07
   2   1,740  1,500     500     240  claude-opus-4-1
 all   2,108  1,810     500     298  claude-opus-4-1, gpt-5-2025-08-07

MODEL             TOKENS  INPUT  CACHED  OUTPUT
claude-opus-4-1    1,740  1,500     500     240
gpt-5-2025-08-07     368    310       -      58
`);
  });

  test("computes costs from a file of prices, and names models without a price", async () => {
    const db = await chats();
    const prices = pricesIn('{ "gpt-5": { "input": 1000, "output": 10000 } }');
    const { stdout, stderr } = await cli(["usage", "chat", "--prices", prices, "--db", db]);
    expect(stdout).toMatch(/^ +1 +368 +310 +- +58 +0\.89 +gpt-5-2025-08-07$/m);
    expect(stdout).toMatch(/^ +2 +1,740 +1,500 +500 +240 +- +claude-opus-4-1$/m);
    expect(stderr).toContain("no price for claude-opus-4-1");
    const found = await json(["usage", "chat", "--prices", prices, "--db", db]);
    expect(found).toMatchObject({ space: "agentos", run: "chat", complete: true, unpriced: ["claude-opus-4-1"] });
    expect(found.total.cost).toBeCloseTo(0.89);
    expect(found.steps.map(({ usage }: { usage: { cost: number | null } }) => usage.cost === null)).toEqual([
      false,
      true,
    ]);
  });

  test("of a run without tokens says so, and never 0", async () => {
    const db = await chats();
    const { code, stdout, stderr } = await cli(["usage", "plain", "--db", db]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toContain("no tokens");
    expect(await json(["usage", "plain", "--db", db])).toMatchObject({ total: null, steps: [] });
  });

  test.each<[string, string, string]>([
    ["no JSON", "{", "--prices"],
    ["a text as a price", '{"gpt-5":{"input":"1","output":2}}', "price of a million tokens"],
  ])("a file of prices with %s is wrong usage", async (_, text, message) => {
    const error = await refused(["usage", "chat", "--prices", pricesIn(text), "--db", await chats()], 2);
    expect(error.code).toBe("USAGE");
    expect(error.message).toContain(message);
  });

  test("a missing file of prices and a missing run are errors", async () => {
    const db = await chats();
    expect(await refused(["usage", "chat", "--prices", "none.json", "--db", db], 2)).toMatchObject({ code: "USAGE" });
    expect(await refused(["usage", "none", "--db", db], 3)).toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("ls --usage", () => {
  test("has the tokens of the listed runs, and sorts by them", async () => {
    const db = await chats();
    const rows = (text: string) =>
      text
        .split("\n")
        .slice(1, -1)
        .map((line) => line.trim().split(/ {2,}/));
    const listed = rows(await answer(["ls", "--usage", "--db", db]));
    expect(listed.map((cells) => [cells[1], cells.at(-1)])).toEqual([
      ["plain", "-"],
      ["chat", "2,108"],
    ]);
    const sorted = rows(await answer(["ls", "--usage", "--sort", "tokens", "--db", db]));
    expect(sorted.map((cells) => cells[1])).toEqual(["chat", "plain"]);
    const prices = pricesIn('{ "gpt-5": { "input": 1000, "output": 10000 } }');
    const { runs } = await json(["ls", "--usage", "--sort", "cost", "--prices", prices, "--db", db]);
    expect(runs.map(({ run, usage }: any) => [run, usage?.total ?? null])).toEqual([
      ["chat", 2_108],
      ["plain", null],
    ]);
    expect((await json(["ls", "--db", db])).runs[0].usage).toBeUndefined();
  });

  test.each([
    [["--sort", "tokens"], "--sort tokens needs --usage"],
    [["--sort", "cost", "--usage"], "--sort cost needs --prices"],
    [["--prices", "x.json"], "--prices needs --usage"],
  ])("%j is wrong usage", async (flags, message) => {
    expect(await refused(["ls", ...flags, "--db", await chats()], 2)).toMatchObject({ code: "USAGE", message });
  });
});
