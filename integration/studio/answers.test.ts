// Tests questions and answers in a browser: in the list, in the head of a run, on a phone, and with an answer that is stored once.
import { join } from "node:path";
import { Annotation, END, START, StateGraph, interrupt } from "@langchain/langgraph";
import { ForkpointSaver, recover } from "forkpoint/langgraph";
import { expect, onTestFinished, test } from "vitest";
import { folder, inBrowser, runAt, show, useBrowser } from "./browser.js";

useBrowser();

const hostile = `<img src=x onerror="document.title='owned'">\u202e\u0007 http://example.com/`;

const questions = {
  plain: "Refund $480?",
  tool: { question: "May I pay?\nIt is a lot.", tool: "refund", args: { amount: 480, to: "Zoë" } },
  choices: { question: "Which town?", choices: ["Lisbon", "Porto", hostile] },
  agent: {
    actionRequests: [
      { name: "send_mail", args: { to: "b@example.com" }, description: "Tool execution requires approval" },
    ],
    reviewConfigs: [{ actionName: "send_mail", allowedDecisions: ["approve", "reject"] }],
  },
  hostile: { question: hostile, tool: hostile, args: { [hostile]: hostile } },
};

const State = Annotation.Root({
  ask: Annotation<unknown>(),
  said: Annotation<unknown[]>({ reducer: (before, after) => [...before, ...after], default: () => [] }),
});

/** Makes a database with a thread for each question, and one that asks two questions at once. */
async function waiting() {
  const target = join(folder(), "agent.db");
  const saver = new ForkpointSaver(target, { program: "desk" });
  onTestFinished(() => saver.close());
  const graph = new StateGraph(State)
    .addNode("settle", ({ ask }) => ({ said: [interrupt(ask)] }))
    .addEdge(START, "settle")
    .addEdge("settle", END)
    .compile({ checkpointer: saver as never });
  const both = new StateGraph(State)
    .addNode("left", () => ({ said: [interrupt("Left?")] }))
    .addNode("right", () => ({ said: [interrupt("Right?")] }))
    .addEdge(START, "left")
    .addEdge(START, "right")
    .compile({ checkpointer: saver as never });
  const config = (thread_id: string) => ({ configurable: { thread_id }, durability: "sync" as const });
  for (const [name, ask] of Object.entries(questions)) await graph.invoke({ ask }, config(name));
  await both.invoke({}, config("both"));
  const said = async (name: string) => (await graph.getState(config(name))).values.said as unknown[];
  return { target, goOn: () => recover(graph, saver), goOnBoth: () => recover(both, saver), said };
}

const at = (run: string) => runAt(run, "langgraph");

inBrowser("questions", () => {
  test.each([1_440, 390])("are in the list of runs at %i pixels, as text", async (width) => {
    const { target } = await waiting();
    const { the, page } = await show({ of: target, viewport: { width, height: 900 } });
    await expect.poll(() => the("run-question").count()).toBe(6);
    const row = (run: string) => page.locator(`[data-testid=run-row][data-run=${run}]`);
    expect(await row("plain").textContent()).toContain("Refund $480?");
    expect(await row("tool").textContent()).toContain('refund({"amount":480,"to":"Zoë"}) May I pay?');
    expect(await row("both").textContent()).toContain("(and 1 more)");
    for (const run of ["plain", "tool"]) expect(await row(run).getByTestId("run-question").isVisible()).toBe(true);
    expect(await page.locator("img, [data-testid=run-question] a").count()).toBe(0);
    expect(await page.title()).not.toBe("owned");
  });

  test("are in the head of a run with the code, if the studio is read-only", async () => {
    const { target } = await waiting();
    const { the, go, page } = await show({ of: target, viewport: { width: 390, height: 844 } });
    await go(at("tool"));
    await the("question").waitFor();
    const text = (await the("question").textContent())!;
    for (const part of ["settle asks", "refund", "amount: 480", "May I pay?\nIt is a lot."])
      expect(text).toContain(part);
    expect(await the("answer-form").count()).toBe(0);
    const code = (await the("answer-code").textContent())!;
    expect(code).toContain("new Command(");
    expect(code).toContain('thread_id: "tool"');
    expect(code).toContain("--write");
    await go(at("hostile"));
    await expect.poll(() => the("question").textContent()).toContain("onerror=");
    expect(await page.locator("img, [data-testid=question] a").count()).toBe(0);
    expect(await page.title()).not.toBe("owned");
  });

  test("are answered once: approved, with the name, and the program continues", async () => {
    const { target, goOn, said } = await waiting();
    const { the, go, inspector, page } = await show({ of: target, write: true });
    await go(at("tool"));
    await the("answer-by").fill("Ana");
    await the("answer-submit").click();
    await the("answered-by").waitFor();
    expect(await the("answered-by").textContent()).toContain("Answered true by Ana");
    expect(await the("answer-form").count()).toBe(0);
    await expect.poll(() => the("run-status").textContent()).toBe("unfinished");
    const ref = { space: "langgraph", run: "tool" };
    await expect(inspector.answer(ref, { reject: true })).rejects.toMatchObject({ code: "CONFLICT" });
    const { runs } = await goOn();
    expect(runs.find(({ threadId }) => threadId === "tool")).toMatchObject({ outcome: "finished" });
    expect(await said("tool")).toEqual([true]);
    // The page notices the new step.
    await expect.poll(() => the("run-status").textContent()).toBe("finished");
    await expect.poll(() => the("question").count()).toBe(0);
    // The step with the question shows the name of the person.
    await the("step-row").nth(1).click();
    await expect.poll(() => the("answered-by").textContent()).toContain("by Ana");
    expect(await page.locator("[data-testid=write-row][data-channel=__forkpoint_answers__]").count()).toBe(1);
  });

  test.each([
    ["reject", "plain", "reject", "", false],
    ["a text", "plain", "text", "not today", "not today"],
    ["JSON", "plain", "json", '{"amount": 9}', { amount: 9 }],
    ["a choice", "choices", "Porto", null, "Porto"],
    ["a hostile choice", "choices", hostile, null, hostile],
    ["a decision", "agent", "approve", null, { decisions: [{ type: "approve" }] }],
    ["a reason", "agent", "reject", "too late", { decisions: [{ type: "reject", message: "too late" }] }],
  ])("can be answered with %s", async (_, run, way, text, expected) => {
    const { target, goOn, said } = await waiting();
    const { the, go, page } = await show({ of: target, write: true });
    await go(at(run));
    await the("answer-form").waitFor();
    await page
      .locator(`[data-testid=answer-way][data-way=${JSON.stringify(way).replaceAll("\\u0007", "\u0007")}]`)
      .click();
    if (text !== null) await the("answer-text").fill(text);
    await the("answer-submit").click();
    await the("answered-by").waitFor();
    await goOn();
    expect(await said(run)).toEqual([expected]);
  });

  test("of which there are two get an answer each, and the run waits for both", async () => {
    const { target, goOnBoth, said } = await waiting();
    const { the, go } = await show({ of: target, write: true });
    await go(at("both"));
    await expect.poll(() => the("question").count()).toBe(2);
    await the("answer-submit").first().click();
    await expect.poll(() => the("answered-by").count()).toBe(1);
    expect(await the("run-status").textContent()).toBe("waiting");
    expect((await goOnBoth()).runs.find(({ threadId }) => threadId === "both")).toMatchObject({ outcome: "waiting" });
    await the("answer-submit").click();
    await expect.poll(() => the("answered-by").count()).toBe(2);
    await expect.poll(() => the("run-status").textContent()).toBe("unfinished");
    await goOnBoth();
    expect(await said("both")).toEqual([true, true]);
  });

  test("of a run that the last version of its program cannot continue say so: in the list, on its page, after the answer", async () => {
    const { target } = await waiting();
    const saver = new ForkpointSaver(target, { program: "desk", version: "2" });
    onTestFinished(() => saver.close());
    const graph = new StateGraph(State)
      .addNode("review", ({ ask }) => ({ said: [interrupt(ask)] }))
      .addEdge(START, "review")
      .compile({ checkpointer: saver as never });
    await recover(graph, saver);
    const { the, go, page } = await show({ of: target, write: true });
    const row = page.locator("[data-testid=run-row][data-run=plain]");
    await row.getByTestId("stranded").waitFor();
    const why =
      "Version 2 of desk, which started last, can't continue it: `settle`, which is next, is not in this program";
    expect(await row.getByTestId("stranded").getAttribute("title")).toBe(why);
    await go(at("plain"));
    await expect.poll(() => the("stranded-why").textContent()).toBe(why);
    await the("answer-submit").click();
    await expect.poll(() => the("answer-done").textContent()).toContain(`Answered. ${why}`);
    await expect.poll(() => the("run-status").textContent()).toBe("unfinished");
    expect(await the("stranded").count()).toBe(1);
  });

  test("that another person has answered meanwhile say so", async () => {
    const { target } = await waiting();
    const { the, go, inspector } = await show({ of: target, write: true, quiet: false });
    await go(at("plain"));
    await the("answer-submit").waitFor();
    await inspector.answer({ space: "langgraph", run: "plain" }, { reject: true, by: "Bob" });
    await the("answer-submit").click();
    await expect.poll(() => the("answered-by").textContent()).toContain("Answered false by Bob");
    expect(await the("answer-form").count()).toBe(0);
  });

  test("with JSON that is wrong are not answered", async () => {
    const { target } = await waiting();
    const { the, go, page, inspector } = await show({ of: target, write: true });
    await go(at("plain"));
    await page.locator("[data-testid=answer-way][data-way=json]").click();
    await the("answer-text").fill("{ no");
    await the("answer-submit").click();
    await the("error").waitFor();
    expect((await inspector.run({ space: "langgraph", run: "plain" }))!.status).toBe("waiting");
  });

  test("are kept by a fork into a new thread, and a branch says that it takes them off the list", async () => {
    const { target } = await waiting();
    const { the, go, page, inspector } = await show({ of: target, write: true });
    await go(at("plain"));
    await the("step-row").first().waitFor();
    await page.getByTestId("fork").click();
    await the("fork-hides-question").waitFor();
    await page.locator("dialog footer input").fill("plain-again");
    await expect.poll(() => the("fork-hides-question").count()).toBe(0);
    await the("fork-submit").click();
    await the("fork-done").waitFor();
    expect((await inspector.run({ space: "langgraph", run: "plain" }, { withWhy: true }))!.question).toBe(
      "Refund $480?",
    );
  });
});
