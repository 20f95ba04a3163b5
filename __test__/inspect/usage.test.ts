// Tests the tokens and costs of runs: each message is counted once, whatever the steps and branches contain.
import { CheckpointStore, type Store } from "forkpoint";
import { type InspectorOptions, type ModelPrices, openInspector } from "forkpoint/inspect";
import { ForkpointStorage } from "forkpoint/agentium";
import { Checkpointer } from "forkpoint/tinyagents";
import { describe, expect, test } from "vitest";
import { opened as openedAt } from "../contents.js";
import { checkpoint, rejection } from "../helpers.js";

const opened = (): Promise<Store> => openedAt("memory:");

/** Saves a run of AgentOS with these messages, step by step. */
async function save(store: Store, runId: string, states: unknown[][], diagnostics: object[] = []): Promise<void> {
  const graphs = new CheckpointStore(store);
  for (const [n, messages] of states.entries()) {
    const { state } = checkpoint();
    const changed = { ...state, scratch: { messages }, diagnostics: diagnostics[n] ?? {} };
    await graphs.save(checkpoint({ id: `${runId}-${n}`, runId, timestamp: n, state: changed as never }));
  }
}

async function usageOf(store: Store, run: string, options: InspectorOptions = {}, query = {}) {
  await using inspector = await openInspector(store, options);
  return (await inspector.usage({ space: "agentos", run }, query))!;
}

const answer = (id: string | undefined, input: number, output: number, more = {}) => ({
  ...(id !== undefined && { id }),
  role: "assistant",
  content: "An answer.",
  model: "gpt-5",
  usage: { prompt_tokens: input, completion_tokens: output, total_tokens: input + output },
  ...more,
});

const question = { role: "user", content: "A question." };

describe("a message", () => {
  test("is counted at the step that has added it, and not again", async () => {
    const store = await opened();
    const [one, two] = [answer("1", 10, 2), answer("2", 20, 3)];
    await save(store, "run", [[question], [question, one], [question, one], [question, one, question, two], [two]]);
    const { total, steps, complete, unpriced } = await usageOf(store, "run");
    expect(total).toEqual({
      input: 30,
      output: 5,
      cached: null,
      reasoning: null,
      total: 35,
      messages: 2,
      durationMs: null,
      cost: null,
      models: [
        {
          model: "gpt-5",
          input: 30,
          output: 5,
          cached: null,
          reasoning: null,
          total: 35,
          messages: 2,
          durationMs: null,
          cost: null,
        },
      ],
    });
    expect(steps.map(({ id, step, usage }) => [id, step, usage.total, usage.messages])).toEqual([
      ["run-1", 1, 12, 1],
      ["run-3", 3, 23, 1],
    ]);
    expect({ complete, unpriced }).toEqual({ complete: true, unpriced: [] });
  });

  test("without an id is named by its content, and equal ones of a list are told apart", async () => {
    const store = await opened();
    const same = answer(undefined, 10, 2);
    await save(store, "run", [[same], [same, same], [same, same, same]]);
    const { total, steps } = await usageOf(store, "run");
    expect(total).toMatchObject({ total: 36, messages: 3 });
    expect(steps.map(({ usage }) => usage.total)).toEqual([12, 12, 12]);
  });

  test("that grows counts what it has more", async () => {
    const store = await opened();
    await save(store, "run", [[answer("1", 10, 2)], [answer("1", 25, 6)], [answer("1", 5, 1)]]);
    const { total, steps } = await usageOf(store, "run");
    expect(total).toMatchObject({ input: 25, output: 6, total: 31, messages: 1 });
    expect(steps.map(({ usage }) => [usage.total, usage.messages])).toEqual([
      [12, 1],
      [19, 0],
    ]);
  });

  test("in several entries, as Claude's SDK stores it, is counted once", async () => {
    const store = await opened();
    const entry = (uuid: string) => ({
      type: "assistant",
      uuid,
      message: {
        id: "msg",
        role: "assistant",
        content: [{ type: "text", text: uuid }],
        usage: { input_tokens: 1, output_tokens: 2 },
      },
    });
    await save(store, "run", [[{ type: "user", uuid: "u", message: question }, entry("a"), entry("b")]]);
    expect((await usageOf(store, "run")).total).toMatchObject({ total: 3, messages: 1 });
  });

  test("of the source of a fork is not counted in the fork", async () => {
    const store = await opened();
    const [one, two] = [answer("1", 10, 2), answer("2", 20, 3)];
    await save(store, "run", [[one]]);
    const fork = await new CheckpointStore(store).fork("run-0", { scratch: { messages: [one, two] } });
    expect((await usageOf(store, fork)).total).toMatchObject({ total: 23, messages: 1 });
    expect((await usageOf(store, "run")).total).toMatchObject({ total: 12, messages: 1 });
  });

  test("of all branches is counted", async () => {
    const store = await opened();
    const threads = new Checkpointer<{ messages: unknown[] }>(store);
    const put = (parentCheckpointId: string | undefined, ...messages: unknown[]) =>
      threads.put({
        threadId: "t",
        state: { messages },
        ...(parentCheckpointId !== undefined && { parentCheckpointId }),
      });
    const [one, two, three] = [answer("1", 1, 1), answer("2", 2, 2), answer("3", 3, 3)];
    const first = await put(undefined, one);
    await put(first, one, two);
    await put(first, one, three);
    await using inspector = await openInspector(store);
    const { total, steps } = (await inspector.usage({ space: "tinyagents", run: "t", ns: "" }))!;
    expect(total).toMatchObject({ total: 12, messages: 3 });
    expect(steps.map(({ usage }) => usage.total)).toEqual([2, 4, 6]);
  });
});

describe("what is not stored", () => {
  test("is null, and never 0", async () => {
    const store = await opened();
    await save(store, "run", [[question, { role: "assistant", content: "x" }]]);
    await save(store, "only output", [[answer("1", 0, 0, { usage: { output_tokens: 5 }, model: undefined })]]);
    expect(await usageOf(store, "run")).toEqual({ total: null, steps: [], complete: true, unpriced: [] });
    expect((await usageOf(store, "only output")).total).toMatchObject({
      input: null,
      output: 5,
      total: null,
      models: [{ model: null, output: 5 }],
    });
  });

  test.each<[string, object]>([
    ["negative numbers", { input_tokens: -5, output_tokens: -1 }],
    ["texts", { input_tokens: "5", total_tokens: "9" }],
    ["NaN and Infinity", { input_tokens: Number.NaN, total_tokens: Number.POSITIVE_INFINITY }],
    ["a list", []],
  ])("%s are no tokens", async (_, usage) => {
    const store = await opened();
    await save(store, "run", [[question, answer("1", 0, 0, { usage })]]);
    expect((await usageOf(store, "run")).total).toBeNull();
  });

  test("in messages may be in the diagnostics of AgentOS", async () => {
    const store = await opened();
    const diagnostics = [100, 100, 350].map((totalTokensUsed, n) => ({
      totalTokensUsed,
      totalDurationMs: 1_000 * (n + 1),
    }));
    await save(store, "run", [[question], [question], [question]], diagnostics);
    const { total, steps } = await usageOf(store, "run");
    expect(total).toMatchObject({ total: 350, input: null, durationMs: 3_000, messages: 0 });
    expect(steps.map(({ step, usage }) => [step, usage.total])).toEqual([
      [0, 100],
      [2, 250],
    ]);
  });

  test("in some messages is not mixed with the diagnostics of AgentOS", async () => {
    const store = await opened();
    const diagnostics = [{ totalTokensUsed: 100 }, { totalTokensUsed: 112 }];
    await save(store, "run", [[question], [question, answer("1", 10, 2)]], diagnostics);
    const { total, steps } = await usageOf(store, "run");
    expect(total).toMatchObject({ total: 12, input: 10 });
    expect(steps.map(({ step }) => step)).toEqual([1]);
  });

  test("a state of OpenAI's Agents SDK has the answers of the model", async () => {
    const store = await opened();
    await new ForkpointStorage(store).set("values", "state", {
      modelResponses: [
        {
          responseId: "r",
          usage: {
            inputTokens: 7,
            outputTokens: 2,
            totalTokens: 9,
            inputTokensDetails: [{ cached_tokens: 3 }, { cached_tokens: 1 }],
          },
          output: [],
        },
      ],
    } as never);
    await using inspector = await openInspector(store);
    const { total } = (await inspector.usage({ space: "storage", run: "state", ns: "values" }))!;
    expect(total).toMatchObject({ input: 7, cached: 4, output: 2, total: 9 });
  });
});

describe("the limits", () => {
  test("only the newest steps are read, and the total has what they contain", async () => {
    const store = await opened();
    const answers = Array.from({ length: 40 }, (_, n) => answer(String(n), 1, 1));
    await save(
      store,
      "run",
      answers.map((_, n) => answers.slice(0, n + 1)),
    );
    const { total, steps, complete } = await usageOf(store, "run", {}, { last: 10 });
    expect({ total: total!.total, complete, steps: steps.map(({ step }) => step) }).toEqual({
      total: 80,
      complete: false,
      steps: [30, 31, 32, 33, 34, 35, 36, 37, 38, 39],
    });
    expect((await usageOf(store, "run", {}, { maxBytes: 0 })).steps).toHaveLength(1);
    expect((await usageOf(store, "run", {}, { last: 40 })).complete).toBe(true);
  });

  test("a signal stops it", async () => {
    const store = await opened();
    await save(store, "run", [[answer("1", 1, 1)]]);
    const reason = new Error("enough");
    const signal = AbortSignal.abort(reason);
    expect(await rejection(usageOf(store, "run", {}, { signal }))).toBe(reason);
  });
});

describe("costs", () => {
  const priced = async (prices: ModelPrices, ...messages: unknown[]) => {
    const store = await opened();
    await save(store, "run", [messages]);
    return usageOf(store, "run", { prices });
  };

  test("are computed for each model, with cheaper tokens from a cache", async () => {
    const cached = {
      usage: { input_tokens: 1_000_000, output_tokens: 100_000, input_tokens_details: { cached_tokens: 400_000 } },
    };
    const { total, unpriced } = await priced(
      { "gpt-5": { input: 1, output: 10, cached: 0.1 }, "claude-opus-4-1": { input: 15, output: 75 } },
      answer("1", 0, 0, cached),
      answer("2", 1_000_000, 0, { model: "claude-opus-4-1-20250805" }),
      answer("3", 5, 5, { model: "gpt-5-mini" }),
    );
    expect(total!.cost).toBeCloseTo(0.6 + 0.04 + 1 + 15);
    expect(total!.models.map(({ model, cost }) => [model, cost === null ? null : Number(cost.toFixed(4))])).toEqual([
      ["gpt-5", 1.64],
      ["claude-opus-4-1-20250805", 15],
      ["gpt-5-mini", null],
    ]);
    expect(unpriced).toEqual(["gpt-5-mini"]);
  });

  test("are null without a price, and without stored input or output", async () => {
    const { total } = await priced(
      { "gpt-5": { input: 1, output: 1 } },
      answer("1", 0, 0, { usage: { total_tokens: 5 } }),
    );
    expect(total).toMatchObject({ total: 5, cost: null });
    expect((await priced({}, answer("1", 1, 1))).total!.cost).toBeNull();
  });

  test.each<[unknown, string]>([
    [[], "prices"],
    [{ "gpt-5": 1 }, '["gpt-5"] must be an object'],
    [{ "gpt-5": { input: 1 } }, '["gpt-5"].output must be the price of a million tokens'],
    [{ "gpt-5": { input: -1, output: 1 } }, '["gpt-5"].input must be'],
    [{ "gpt-5": { input: 1, output: "1" } }, '["gpt-5"].output must be'],
    [{ "gpt-5": { input: 1, output: 1, cache: 1 } }, 'unknown key "cache"'],
    [{ "gpt-5": { input: 1, output: Number.NaN } }, '["gpt-5"].output must be'],
  ])("%j are no prices", async (prices, message) => {
    const error = await rejection(openInspector(await opened(), { prices: prices as ModelPrices }));
    expect(error).toMatchObject({ name: "TypeError", code: "INVALID_ARGUMENT" });
    expect((error as Error).message).toContain(message);
  });
});
