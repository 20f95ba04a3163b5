// Tests the routes for questions and answers: what they send, and what they refuse.
import type { Space } from "forkpoint/inspect";
import { Checkpointer, Graph, START } from "forkpoint/tinyagents";
import { expect, test } from "vitest";
import { opened } from "../contents.js";
import { errorOf, start } from "./helpers.js";

const MAX = 512 * 2 ** 10;

async function asking(question: unknown) {
  const store = await opened("memory:");
  const graph = new Graph<{ said?: unknown }>({
    nodes: { settle: (_, context) => ({ said: context.interrupt(question) }) },
    edges: [[START, "settle"]],
    reducer: (state, update) => ({ ...state, ...update }),
    checkpointer: new Checkpointer(store),
  });
  await graph.invoke({}, { threadId: "t" });
  return { store, graph };
}

const run = { space: "tinyagents" as Space, run: "t" };

test("questions are what the inspector reads, and runs have the first line", async () => {
  const { store } = await asking({ question: "Refund?\nNow?", tool: "refund", args: { n: 1 } });
  const { get, inspector } = await start(store);
  expect(await get("questions", run)).toEqual({ questions: await inspector.questions(run), more: 0 });
  const { runs } = await get("runs", { of: JSON.stringify([["tinyagents", "t", ""]]) });
  expect(runs[0].question).toBe('refund({"n":1}) Refund?');
  expect((await get("runs", { withWhy: "false" })).runs[0].question).toBeNull();
  expect(await get("questions", { space: "agentos", run: "nobody" })).toEqual({ questions: [], more: 0 });
});

test("a huge question is cut, and its id and its answer stay", async () => {
  const { store } = await asking({
    question: "x".repeat(10_000_000),
    tool: "t",
    args: { text: "y".repeat(10_000_000) },
  });
  const { get, inspector } = await start(store);
  const answered = await get("questions", run);
  expect(JSON.stringify(answered).length).toBeLessThan(MAX);
  expect(answered.questions[0].text.length).toBeLessThan(10_000);
  expect(answered.questions[0].id).toBe((await inspector.questions(run))[0]!.id);
  expect(JSON.stringify(await get("runs", { of: '[["tinyagents","t",""]]' })).length).toBeLessThan(20_000);
});

test("answer stores one answer, and says what is wrong with others", async () => {
  const { store, graph } = await asking("Refund?");
  const studio = await start(store);
  const post = (body: unknown) => studio.post("answer", body);
  expect(errorOf(await post({ ...run, ns: null }))).toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(errorOf(await post({ ...run, approve: true, unknown: 1 }))).toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(errorOf(await post({ ...run, id: "nothing", approve: true }))).toMatchObject({ code: "NOT_FOUND" });
  const stored = await post({ ...run, value: { $type: "Date", value: "2026-01-01T00:00:00.000Z" }, by: "Ana" });
  expect(stored.status).toBe(201);
  const [question] = (await studio.get("questions", run)).questions;
  expect(question.answered).toMatchObject({ value: { $type: "Date" }, by: "Ana" });
  const again = await post({ ...run, approve: true });
  expect([again.status, errorOf(again).code]).toEqual([409, "CONFLICT"]);
  expect((await graph.resume("t")).state.said).toEqual(new Date("2026-01-01T00:00:00.000Z"));
});

test("lists, runs and answers say that the last version of a program cannot continue a run", async () => {
  const store = await opened("memory:");
  const graph = (name: string) =>
    new Graph<{ said?: unknown }>({
      name: "desk",
      nodes: { [name]: (_, context) => ({ said: context.interrupt("Refund?") }) },
      edges: [[START, name]],
      reducer: (state, update) => ({ ...state, ...update }),
      checkpointer: new Checkpointer(store),
    });
  await graph("old").invoke({}, { threadId: "t" });
  await graph("new".repeat(1_000)).invoke({}, { threadId: "u" });
  const { get, post } = await start(store);
  const stranded = {
    program: "desk",
    to: { version: null },
    differences: [expect.stringMatching(/^`old`, which is next, is gone; /)],
  };
  const byRun = Object.fromEntries((await get("runs")).runs.map((each: any) => [each.run, each.stranded]));
  expect(byRun).toMatchObject({ t: stranded, u: null });
  expect(byRun.t.differences[0].length).toBe(500);
  expect((await get("runs", { stranded: "true" })).runs.map((each: any) => each.run)).toEqual(["t"]);
  expect((await get("runs", { of: '[["tinyagents","t",""]]' })).runs[0]).toMatchObject({ stranded });
  expect((await get("run", run)).run).toMatchObject({ stranded });
  const answer = async (body: object) => JSON.parse((await post("answer", body)).text);
  expect(await answer({ ...run, approve: true })).toMatchObject({ answered: { value: true }, stranded });
  expect(await answer({ ...run, run: "u", approve: true })).toMatchObject({ stranded: null });
});
