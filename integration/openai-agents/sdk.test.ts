// Tests sessions and states inside the real SDK, with a scripted model.
import { mkdtempSync, readFileSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  Agent,
  OpenAIResponsesCompactionSession,
  OutputGuardrailTripwireTriggered,
  RunState,
  type Session,
  run,
  setTracingDisabled,
  tool,
} from "@openai/agents";
import { ScriptedModel, assistantMessage, functionCall, modelError } from "@openai/agents-core/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { everyKind, kinds, place, rejection, run as start, sharedKinds } from "../../__test__/helpers.js";
import { make, sessionAt, shared, sides, statesAt } from "./helpers.js";

setTracingDisabled(true);

const agentProcess = (args: string[], onLine?: Parameters<typeof start>[2]) =>
  start("../../integration/openai-agents/fixtures/agent.mjs", args, onLine);

/** Texts of states that earlier versions of the SDK have made: of the run `mailer([asks(1)])`. */
const folder = new URL("fixtures/states/", import.meta.url);
const old = readdirSync(folder).map((name) => [name, readFileSync(new URL(name, folder), "utf8")] as const);

type Steps = ConstructorParameters<typeof ScriptedModel>[0] extends Iterable<infer Step> | undefined ? Step[] : never;

/** An agent with a tool that needs an approval. `sent` has the mails. */
function mailer(steps: Steps, more: object = {}) {
  const sent: string[] = [];
  const send = tool({
    name: "send",
    description: "Sends a mail",
    parameters: z.object({ to: z.string() }),
    needsApproval: true,
    execute: async ({ to }) => {
      sent.push(to);
      return `sent to ${to}`;
    },
  });
  const agent = new Agent({ name: "mailer", model: new ScriptedModel(steps), tools: [send], ...more });
  return { agent, sent };
}

const resume = (agent: Agent<any, any>, state: RunState<any, Agent<any, any>>, session?: Session) =>
  run(agent, state, session && { session });

const asks = (n: number) => [functionCall("send", { to: `bob ${n}` }, { callId: `c${n}` })];
const types = async (session: Session) => (await session.getItems()).map(({ type = "message" }) => type);
const ended = ["message", "function_call", "function_call_result", "message"];

describe.each(sides)("the runner over a session: %s", (side) => {
  it("adds the items of a turn once, also if it streams", async () => {
    const session = await make(side);
    const agent = new Agent({
      name: "talker",
      model: new ScriptedModel([[assistantMessage("one")], [assistantMessage("two")]]),
    });
    await run(agent, "first", { session });
    const streamed = await run(agent, "second", { session, stream: true });
    for await (const event of streamed) expect(event.type).toBeTruthy();
    await streamed.completed;
    expect(streamed.finalOutput).toBe("two");
    expect(await types(session)).toEqual(Array.from({ length: 4 }, () => "message"));
  });

  it("adds each item once over several approvals", async () => {
    const session = await make(side);
    const { agent, sent } = mailer([asks(1), asks(2), asks(3), [assistantMessage("done")]]);
    let result: Awaited<ReturnType<typeof resume>> = await run(agent, "mail", { session });
    const counts = [(await session.getItems()).length];
    for (let approvals = 0; approvals < 3; approvals++) {
      const state = await RunState.fromString(agent, result.state.toString());
      for (const interruption of state.getInterruptions()) state.approve(interruption);
      result = await resume(agent, state, session);
      counts.push((await session.getItems()).length);
    }
    expect(result.finalOutput).toBe("done");
    expect(sent).toEqual(["bob 1", "bob 2", "bob 3"]);
    expect(counts).toEqual([2, 4, 6, 8]);
  });

  it("adds nothing if the model fails", async () => {
    const session = await make(side);
    const agent = new Agent({ name: "talker", model: new ScriptedModel([modelError(new Error("no model"))]) });
    await rejection(run(agent, "hello", { session }));
    expect(await session.getItems()).toEqual([]);
  });

  it("keeps the call and the result of a turn whose output was blocked", async () => {
    const session = await make(side);
    const noise = { name: "noise", execute: async () => ({ tripwireTriggered: true, outputInfo: {} }) };
    const { agent, sent } = mailer([asks(1), [assistantMessage("blocked")]], { outputGuardrails: [noise] });
    const asked = await run(agent, "mail", { session });
    const [interruption] = asked.interruptions;
    asked.state.approve(interruption!);
    expect(await rejection(run(agent, asked.state, { session }))).toBeInstanceOf(OutputGuardrailTripwireTriggered);
    expect(sent).toEqual(["bob 1"]);
    expect(await types(session)).toEqual(ended.slice(0, 3));
  });
});

describe.each(everyKind)("runs over %s", (kind) => {
  it("go on after a failed write of the session, without running the tool again", async () => {
    const target = await shared(kind);
    const [session, states] =
      kind === "jsonl" ? [sessionAt(target), statesAt(place(kind))] : [sessionAt(target), statesAt(target)];
    const { agent, sent } = mailer([asks(1), [assistantMessage("done")], [assistantMessage("done")]]);
    const asked = await run(agent, "mail", { session });
    await states.save("r", asked.state.toString(), { sessionId: "s" });
    const { text } = await states.take("r", { sessionId: "s" });
    const state = await RunState.fromString(agent, text);
    for (const interruption of state.getInterruptions()) state.approve(interruption);
    const addItems = session.addItems.bind(session);
    session.addItems = () => Promise.reject(new Error("the disk is full"));
    expect((await rejection(run(agent, state, { session }))).message).toContain("disk is full");
    await states.release("r", state.toString());
    session.addItems = addItems;
    const again = await states.take("r", { sessionId: "s" });
    const result = await run(agent, await RunState.fromString(agent, again.text), { session });
    await states.delete("r");
    expect([result.finalOutput, sent]).toEqual(["done", ["bob 1"]]);
    expect(await types(session)).toEqual(ended);
  });

  it.each(old)("keep the state of an old version of the SDK: %s", async (name, text) => {
    const states = statesAt(place(kind));
    await states.save(name, text);
    expect((await states.take(name)).text).toBe(text);
    const { agent, sent } = mailer([[assistantMessage("done")]]);
    const state = await RunState.fromString(agent, text);
    expect(state.getInterruptions().map(({ name }) => name)).toEqual(["send"]);
    // This version of the SDK reads it, but does not go on with what it cannot verify.
    for (const interruption of state.getInterruptions()) state.approve(interruption);
    expect((await rejection(run(agent, state))).message).toContain("Cannot resume this checkpoint");
    await states.release(name, text);
    expect([sent, await states.load(name)]).toEqual([[], { runId: name, text }]);
  });

  it("compact through the SDK's wrapper", async () => {
    const session = sessionAt(place(kind));
    const compact = async () => ({
      id: "resp_1",
      output: [{ type: "compaction", id: "cmp_1", encrypted_content: "short" }],
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    });
    const client = { responses: { compact } } as never;
    const wrapped = new OpenAIResponsesCompactionSession({
      client,
      underlyingSession: session,
      compactionMode: "input",
    });
    await session.addItems(Array.from({ length: 4 }, (_, n) => ({ role: "user", content: `${n}` })));
    await wrapped.runCompaction({ force: true });
    expect(await types(session)).toEqual(["compaction"]);
    expect(await wrapped.getItems()).toEqual(await session.getItems());
  });
});

describe.each(sharedKinds)("processes over %s", (kind) => {
  /** Text files have one writer at a time. */
  const alone = kind === "jsonl";

  it("send one mail if the process that asked was killed, and two answers come", async () => {
    const target = place(kind);
    const mails = join(mkdtempSync(join(tmpdir(), "forkpoint-test-")), "mails");
    const asked = await agentProcess(["ask", target, "r"], (line, child) => {
      if (line === "saved") child.kill("SIGKILL");
    });
    expect([asked.lines, asked.errors]).toEqual([["saved"], ""]);
    const args = ["answer", target, "r", mails];
    const answers = [args, args];
    const ends = alone
      ? [await agentProcess(answers[0]!), await agentProcess(answers[1]!)]
      : await Promise.all(answers.map((args) => agentProcess(args)));
    expect(ends.map(({ errors }) => errors)).toEqual(["", ""]);
    const outcomes = ends.flatMap(({ lines }) => lines);
    expect(outcomes.filter((line) => line === "done")).toHaveLength(1);
    // The second one comes while the first one works, or after it.
    expect(outcomes.find((line) => line !== "done")).toMatch(/^(CONFLICT|NOT_FOUND)$/);
    expect(readFileSync(mails, "utf8").trim().split("\n")).toHaveLength(1);
    expect(await types(sessionAt(target, "s-r"))).toEqual(ended);
  });

  it("leave a state taken if they are killed in the tool", async () => {
    const target = place(kind);
    const mails = join(mkdtempSync(join(tmpdir(), "forkpoint-test-")), "mails");
    await agentProcess(["ask", target, "r"], (_, child) => void child.kill("SIGKILL"));
    const hung = await agentProcess(["hang", target, "r", mails]);
    expect(hung.signal).toBe("SIGKILL");
    const again = await agentProcess(["answer", target, "r", mails]);
    expect(again.lines).toEqual(["CONFLICT"]);
    expect(readFileSync(mails, "utf8").trim().split("\n")).toHaveLength(1);
    const states = statesAt(target);
    expect((await states.load("r"))!.taken!.by).toMatch(/^process \d+ on /);
    await states.take("r", { force: true });
  });
});

it.each(kinds)("a rewind while an approval waits leaves no result without its call: %s", async (kind) => {
  const session = sessionAt(place(kind));
  const { agent, sent } = mailer([asks(1), [assistantMessage("sent")]]);
  const { state, interruptions } = await run(agent, "tell bob", { session });
  expect(interruptions).toHaveLength(1);
  await expect(session.rewind(1)).rejects.toMatchObject({ code: "CONFLICT" });
  expect(await session.trim(0)).toBe(1);
  state.approve(interruptions[0]!);
  await resume(agent, state, session);
  expect(sent).toEqual(["bob 1"]);
  expect(await types(session)).toEqual(["function_call", "function_call_result", "message"]);
  await session.rewind(0);
});

describe.each(kinds)("large sessions over %s", (kind) => {
  it("of 10,000 items are stored, forked and rewound", { timeout: 120_000 }, async () => {
    const session = sessionAt(place(kind));
    const items = Array.from({ length: 10_000 }, (_, n) => ({
      role: "user" as const,
      content: `${n} ${"é".repeat(500)}`,
    }));
    for (let from = 0; from < items.length; from += 500) await session.addItems(items.slice(from, from + 500));
    expect(await session.getItems()).toEqual(items);
    const forked = await session.fork("t", 9_000);
    await session.rewind(10);
    expect(await session.getItems()).toEqual(items.slice(0, 10));
    expect(await forked.getItems(2)).toEqual(items.slice(8_998, 9_000));
    await forked.close();
  });
});
