// Shows the steps of a run by time and as a graph, in a browser.
import { join } from "node:path";
import { type Checkpoint, CheckpointStore, openStore } from "forkpoint";
import { effects } from "forkpoint/effects";
import { expect, test } from "vitest";
import { checkpoint, hostile } from "./contents.mjs";
import { copied, folder, inBrowser, runAt, show, useBrowser } from "./browser.js";
import { longTasks, watchTasks } from "./tasks.js";

useBrowser();

const lisbon = "trip-4711-lisbon";
const paris = "trip-4801-paris";

inBrowser("the waterfall", () => {
  test("has a bar for each step, follows the keys, and is in the address", async () => {
    const { the, page, go, at } = await show();
    await go(runAt(lisbon));
    await the("step-row").first().waitFor();
    await the("pane-waterfall").click();
    await expect.poll(() => at().get("pane")).toBe("waterfall");
    await expect.poll(() => the("waterfall-row").count()).toBe(7);
    expect(await the("waterfall-row").first().textContent()).toContain("plan");
    expect(await the("waterfall-row").last().getAttribute("aria-selected")).toBe("true");
    // Up is older.
    await page.keyboard.press("k");
    await expect.poll(() => at().get("at")).toBe(`${lisbon}-5`);
    await page.keyboard.press("]");
    await expect.poll(() => at().get("at")).toBe(`${lisbon}-6`);
    await the("waterfall-row").nth(2).click();
    await expect.poll(() => at().get("at")).toBe(`${lisbon}-2`);
    await page.keyboard.press("Enter");
    await expect.poll(() => page.evaluate(() => document.activeElement?.getAttribute("role"))).toBe("tree");
    await page.reload();
    await expect.poll(() => the("waterfall-row").count()).toBe(7);
    expect(await the("waterfall-row").nth(2).getAttribute("aria-selected")).toBe("true");
    await the("pane-steps").click();
    await expect.poll(() => at().get("pane")).toBeNull();
    await the("step-row").first().waitFor();
  });

  test("shows pauses as gaps, effects as marks, and new steps while they come", async () => {
    const path = copied();
    const store = await openStore(path);
    await effects(store)({ space: "agentos", run: paris }, "pay <b>TP753</b>", () => ({ receipt: 1 }));
    await store.close();
    const { the, go, save, page } = await show({ of: path });
    const run = "customer-2214";
    await go(runAt(run, "langgraph", "&pane=waterfall"));
    await the("waterfall-row").first().waitFor();
    // It waits for a person.
    await expect.poll(() => the("waterfall-row").last().getAttribute("data-kind")).toBe("wait");
    // A thread that waited once, and went on.
    await go(runAt("customer-2201", "langgraph", "&pane=waterfall"));
    await expect.poll(() => page.locator("[data-kind=step] .waited").count()).toBe(1);
    await go(runAt(paris, "agentos", "&pane=waterfall"));
    await expect.poll(() => the("waterfall-row").count()).toBe(5);
    await expect.poll(() => the("waterfall-row").last().getAttribute("data-kind")).toBe("effect");
    expect(await the("waterfall-row").last().textContent()).toContain("pay <b>TP753</b>");
    await the("waterfall-row").last().click();
    await the("effect").waitFor();
    await save(paris, 4, "more");
    await expect.poll(() => the("waterfall-row").count()).toBe(6);
  });

  test("on a phone, a row leads to its step and back", async () => {
    const { the, go, page } = await show({ viewport: { width: 390, height: 844 } });
    await go(runAt(lisbon, "agentos", "&pane=waterfall"));
    await expect.poll(() => the("waterfall-row").count()).toBe(7);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await the("waterfall-row").nth(1).click();
    await the("tree-row").first().waitFor();
    await page.getByRole("button", { name: "Back to the timeline" }).click();
    await expect.poll(() => the("waterfall-row").first().isVisible()).toBe(true);
  });

  test("10,000 steps: few elements; the longest task is printed", { timeout: 240_000 }, async () => {
    const path = join(folder(), "long.db");
    const store = new CheckpointStore(path, { durability: "off" });
    const state = { input: {}, scratch: {}, artifacts: {}, diagnostics: {} };
    for (let n = 0; n < 10_000; n += 500) {
      const some = Array.from({ length: 500 }, (_, at) =>
        Object.assign(checkpoint("long", (n + at) % 7), { state, id: `long-${n + at}` }),
      );
      await Promise.all(some.map((each) => store.save(each as unknown as Checkpoint)));
    }
    await store.close();
    const { the, go, page } = await show({ of: path });
    await go(runAt("long"));
    await the("step-row").first().waitFor();
    await page.waitForTimeout(3_000);
    await watchTasks(page);
    for (const pane of ["waterfall", "graph", "waterfall"]) {
      await the(`pane-${pane}`).click();
      await (pane === "graph" ? the("graph") : the("waterfall-row").first()).waitFor();
      if (pane === "waterfall") {
        for (const top of [0, 1e5, 2e5, 1e9]) {
          await the("waterfall").evaluate((list, to) => (list.scrollTop = to), top);
          await page.waitForTimeout(100);
        }
      }
      await page.waitForTimeout(300);
      const longest = (await longTasks(page)).toSorted((a, b) => b - a).slice(0, 3);
      console.log(`10,000 steps, ${pane}: longest tasks ${longest.join(", ") || "none"} ms (budget: 100 ms)`);
    }
    expect(await page.evaluate(() => document.querySelectorAll("*").length)).toBeLessThan(3_000);
    await expect.poll(() => the("waterfall-row").last().getAttribute("aria-setsize")).toBe("10000");
  });
});

inBrowser("the graph", () => {
  test("has the nodes, where the run is, and the same as text", async () => {
    const { the, go, at, page } = await show();
    await go(runAt("trip-4801-paris", "agentos", "&pane=graph"));
    await the("graph").waitFor();
    const node = (name: string) => page.locator(`[data-testid=graph-node][data-node="${name}"]`);
    await expect.poll(() => node("check_policy").getAttribute("data-state")).toBe("failed");
    expect(await node("plan").getAttribute("data-state")).toBe("done");
    expect(await the("graph-edge").count()).toBe(4);
    const text = await the("graph-text").textContent();
    expect(text).toContain("plan → search_flights");
    expect(text).toContain("check_policy");
    expect(await the("graph").getAttribute("aria-label")).toContain("list below");
    await page.getByRole("button", { name: "search_flights" }).click();
    await expect.poll(() => at().get("at")).toBe("trip-4801-paris-1");
    await node("plan").click();
    await expect.poll(() => at().get("at")).toBe("trip-4801-paris-0");
    await page.keyboard.press("j");
    await the("pane-steps").click();
    await the("step-row").first().waitFor();
  });

  test("names are only text, and many nodes are a list", async () => {
    const path = join(folder(), "odd.db");
    const store = new CheckpointStore(path, { durability: "off" });
    const save = (run: string, step: number, nodeId: string) =>
      store.save({ ...(checkpoint(run, 0) as unknown as Checkpoint), id: `${run}-${step}`, runId: run, nodeId });
    for (const [step, name] of [hostile, "b", hostile, "c".repeat(300), "\u202eevil"].entries())
      await save("odd", step, name);
    for (let n = 0; n < 200; n++) await save("many", n, `node ${n}`);
    await store.close();
    const { the, go, page } = await show({ of: path });
    await go(runAt("odd", "agentos", "&pane=graph"));
    await the("graph").waitFor();
    expect(await the("graph-node").count()).toBe(5);
    expect(await page.evaluate(() => "harm" in window)).toBe(false);
    expect(await the("graph-text").textContent()).toContain("\\u202eevil");
    await go(runAt("many", "agentos", "&pane=graph"));
    await the("graph-text").waitFor();
    await expect.poll(() => the("graph-text").textContent()).toContain("node 199");
    await expect.poll(() => the("graph").count()).toBe(0);
  });

  test("an unknown pane shows the steps", async () => {
    const { the, go } = await show();
    await go(runAt(lisbon, "agentos", "&pane=__proto__"));
    await the("step-row").first().waitFor();
    expect(await the("pane-steps").getAttribute("aria-pressed")).toBe("true");
  });
});
