// Tests conversations in a browser: messages with their calls, results and tokens, light markdown, and 2,000 messages.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, onTestFinished, test } from "vitest";
import { type Shown, type ShowOptions, inBrowser, runAt, show, useBrowser } from "./browser.js";
import { fillChats } from "./chats.mjs";
import { longTasks, watchTasks } from "./tasks.js";

useBrowser();

// The installed package, as its users have it.
const { openInspector } = (await import("forkpoint/inspect")) as typeof import("forkpoint/inspect");

const folder = mkdtempSync(join(tmpdir(), "forkpoint-chats-"));
const database = join(folder, "agent.db");

beforeAll(async () => {
  if (inject("chromium") !== null) await fillChats(database);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const support = runAt("chat-support", "langgraph");
const long = runAt("chat-long", "langgraph");

/** Shows the conversation of a run. */
async function showChat(hash: string, options: ShowOptions = {}): Promise<Shown> {
  const shown = await show({ of: database, ...options });
  await shown.go(`${hash}&view=chat`);
  await shown.the("message").last().waitFor();
  return shown;
}

const messagesOf = ({ the }: Pick<Shown, "the">) =>
  the("message").evaluateAll((all) => all.map(({ dataset }) => [dataset["role"], dataset["added"], dataset["path"]]));

inBrowser("a conversation", () => {
  test("has the messages of a step, with the results of tools in their calls", async () => {
    const shown = await showChat(support);
    const { the, page } = shown;
    expect(await messagesOf(shown)).toEqual([
      ["system", "false", "messages[0]"],
      ["user", "false", "messages[1]"],
      ["assistant", "false", "messages[2]"],
      ["assistant", "true", "messages[5]"],
    ]);
    const calls = the("tool-call");
    expect(await calls.evaluateAll((all) => all.map(({ dataset }) => dataset["state"]))).toEqual(["done", "error"]);
    expect(await calls.first().textContent()).toContain("find_order");
    expect(await calls.first().textContent()).toContain('{"order":9001,"items":["lamp","desk"]}');
    expect(await calls.last().textContent()).toContain("the invoices are down");
    expect(await the("media").textContent()).toBe("image/png3 KB");
    expect(await the("message").nth(2).textContent()).toContain("gpt-5-2025-08-07 · 310 in, 58 out");
    // Reasoning is folded.
    const reasoning = the("reasoning");
    expect(await reasoning.getByText("I have to find the order first.").isVisible()).toBe(false);
    await reasoning.locator("summary").click();
    expect(await reasoning.getByText("I have to find the order first.").isVisible()).toBe(true);
    // An older step has what it has added.
    await page.keyboard.press("[");
    await expect.poll(() => messagesOf(shown)).toHaveLength(3);
    await expect
      .poll(() => calls.evaluateAll((all) => all.map(({ dataset }) => dataset["added"])))
      .toEqual(["true", "true"]);
    expect(shown.at().get("view")).toBe("chat");
  });

  test("is a tab with a key, only where the state has messages", async () => {
    const { the, page, go, at } = await show({ of: database });
    await go(support);
    await the("tree-row").first().waitFor();
    await page.keyboard.press("m");
    await the("message").last().waitFor();
    expect(at().get("view")).toBe("chat");
    await page.keyboard.press("m");
    await the("tree-row").first().waitFor();
    expect(at().get("view")).toBeNull();
    await the("conversation-toggle").click();
    await the("conversation").waitFor();
    // Steps without messages show their state.
    await page.keyboard.press("?");
    expect(await the("keys").textContent()).toContain("show the conversation");
    await page.keyboard.press("Escape");
  });

  test("of a state without messages is not offered", async () => {
    const { the, page, go } = await show();
    await go(`${runAt("trip-4711-lisbon")}&view=chat`);
    await the("tree-row").first().waitFor();
    expect(await the("conversation-toggle").count()).toBe(0);
    await page.keyboard.press("m");
    expect(await the("conversation").count()).toBe(0);
  });

  test("shows markdown as elements without links, styles and markup of the text", async () => {
    const { the, page, requests, base } = await showChat(support);
    const reply = the("message").last();
    const count = (selector: string) => reply.locator(selector).count();
    expect(await reply.locator("strong").allTextContents()).toEqual(["arrived broken"]);
    expect(await reply.locator(".markdown i").allTextContents()).toEqual(["sorry"]);
    expect(await reply.locator(".markdown code").allTextContents()).toEqual([
      "orders 9001",
      "refund({ order: 9001 }); // <b>not bold</b>",
    ]);
    expect(await count(".item")).toBe(4);
    expect(await count(".quote")).toBe(1);
    expect(await reply.textContent()).toContain("[a link](javascript:window.harm=4) <img src=x");
    expect([await count("a"), await count("img"), await count("script"), await count("b")]).toEqual([0, 0, 0, 0]);
    expect(await page.evaluate(() => "harm" in window)).toBe(false);
    expect(requests.filter((url) => !url.startsWith(base) && !url.startsWith("data:"))).toEqual([]);
  });

  test("shows the stored values: of a message, and of all with a key", async () => {
    const { the, page } = await showChat(support);
    const last = the("message").last();
    await last.getByRole("button", { name: "Raw" }).click();
    await expect.poll(() => the("message-raw").textContent()).toContain('"answer-2"');
    await last.getByRole("button", { name: "Raw" }).click();
    await expect.poll(() => the("message-raw").count()).toBe(0);
    await page.keyboard.press("r");
    await page.locator('[data-path="messages[5]"]').waitFor();
    expect(await the("conversation-raw").getAttribute("aria-pressed")).toBe("true");
    expect(await the("state-tree").count()).toBe(1);
    await page.keyboard.press("r");
    await the("message").last().waitFor();
    await the("conversation-raw").click();
    await the("state-tree").waitFor();
  });
});

inBrowser("tokens", () => {
  test("are in the head of a run and beside its steps", async () => {
    const { the, go, page } = await show({ of: database });
    await go(support);
    await the("run-usage").waitFor();
    expect(await the("run-usage").textContent()).toBe("2,028 tokens (1,730 in, 298 out)");
    expect(await the("run-usage").getAttribute("title")).toContain("of it cached 256");
    const steps = the("step-usage");
    expect(await steps.allTextContents()).toEqual([" 1.7k tokens", " 368 tokens"]);
    const rows = page.locator("[data-testid=step-row]", { has: steps });
    expect(await rows.evaluateAll((all) => all.map(({ dataset }) => dataset["step"]))).toEqual(["4", "2"]);
    expect(await the("run-cost").count()).toBe(0);
  });

  test("have a cost if the inspector has prices", async () => {
    const inspector = await openInspector(database, { prices: { "gpt-5": { input: 1_000, output: 10_000 } } });
    onTestFinished(() => inspector.close());
    const { the, go } = await show({ of: inspector });
    await go(support);
    await the("run-cost").waitFor();
    expect(await the("run-cost").textContent()).toBe("cost 4.71");
    expect(await the("step-usage").last().getAttribute("title")).toBe("310 in, 58 out, cost 0.89");
  });

  test("of a run without any are not shown", async () => {
    const { the, go } = await show();
    await go(runAt("import-2026-02-27", "agentium"));
    await the("tree-row").first().waitFor();
    expect(await the("run-usage").count()).toBe(0);
    expect(await the("step-usage").count()).toBe(0);
  });
});

inBrowser("2,000 messages", () => {
  test("are loaded in pages, and few of them are in the document", async () => {
    expect(existsSync(database)).toBe(true);
    const { the, page, go } = await show({ of: database });
    await go(long);
    await the("step-row").first().waitFor();
    await watchTasks(page);
    const took = await page.evaluate(async (hash) => {
      const before = performance.now();
      location.hash = hash;
      while (document.querySelector("[data-testid=message]") === null) await new Promise(requestAnimationFrame);
      return performance.now() - before;
    }, `${long}&view=chat`);
    console.log(`first paint of 2,000 messages: ${Math.round(took)} ms`);
    const box = page.getByRole("region", { name: "Messages" });
    const range = async () => {
      const paths = await the("message").evaluateAll((all) => all.map(({ dataset }) => dataset["path"]!));
      const numbers = paths.map((path) => Number(/\d+/.exec(path)![0]));
      // They are next to each other.
      expect(numbers).toEqual(numbers.map((_, n) => numbers[0]! + n));
      return [numbers[0]!, numbers.at(-1)!, numbers.length] as const;
    };
    expect((await range())[1]).toBe(1_999);
    expect(await box.evaluate((each) => each.scrollHeight - each.scrollTop - each.clientHeight)).toBeLessThan(2);
    // Earlier messages come while one scrolls, and what is seen stays in its place.
    for (let n = 0; n < 12; n++) {
      const [before] = await range();
      await box.evaluate((each) => each.scrollTo(0, 0));
      await expect.poll(async () => (await range())[0]).toBeLessThan(before);
    }
    expect((await range())[2]).toBeLessThanOrEqual(80);
    expect((await range())[1]).toBeLessThan(1_999);
    const elements = await page.evaluate(() => document.querySelectorAll("*").length);
    console.log(`elements with 2,000 messages: ${elements} (budget: 3,000)`);
    expect(elements).toBeLessThan(3_000);
    // Later messages come too, and both ends are a button away.
    await box.evaluate((each) => each.scrollTo(0, each.scrollHeight));
    await page.getByRole("button", { name: "First" }).waitFor({ state: "attached" });
    await page.getByRole("button", { name: "First" }).click();
    await expect.poll(async () => (await range())[0]).toBe(0);
    expect(await the("message").first().textContent()).toContain("The first message.");
    await page.getByRole("button", { name: "Last" }).click();
    await expect.poll(async () => (await range())[1]).toBe(1_999);
    // A long text is cut, and loaded on demand.
    const cut = page.locator('[data-path="messages[1998]"]');
    await cut.getByRole("button", { name: "Show all: 996,000 more characters" }).click();
    await expect.poll(() => cut.textContent()).toContain("900,000 more characters");
    console.log(`longest tasks with 2,000 messages: ${await longTasks(page)} ms (budget: 100 ms)`);
  });
});
