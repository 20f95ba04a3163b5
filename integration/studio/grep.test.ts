// Tests the search in states, the filters of the list of runs by status and time, and the way to stop both, in a browser.
import { join } from "node:path";
import { type Checkpoint, CheckpointStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { openInspector } from "forkpoint/inspect";
import { expect, test } from "vitest";
import { checkpoint, hostile } from "./contents.mjs";
import { folder, inBrowser, show, useBrowser } from "./browser.js";

useBrowser();

async function withStates(states: Record<string, unknown[]>): Promise<string> {
  const path = join(folder(), "agent.db");
  const store = new WorkflowCheckpointStore<any>(path, { durability: "off" });
  for (const [runId, steps] of Object.entries(states)) {
    for (const [n, state] of steps.entries()) {
      await store.save({ id: `${runId}-${n}`, runId, stepIndex: n, stepName: `step ${n}`, state, createdAt: n });
    }
  }
  await store.close();
  return path;
}

inBrowser("the search in states", () => {
  test("finds what the inspector finds, opens the step with the value, and stands in the address", async () => {
    const { the, page, inspector, at, go } = await show();
    await go("#/search");
    await the("grep-input").fill("refundable");
    await the("grep-done").waitFor();
    const hits = [];
    for await (const hit of inspector.search("refundable", { ignoreCase: true })) hits.push(hit);
    expect(hits.length).toBeGreaterThan(10);
    expect(await the("grep-done").textContent()).toContain(`${hits.length} hits`);
    const rows = await the("grep-row").evaluateAll((all) => all.map(({ dataset }) => [dataset["run"], dataset["id"]]));
    expect(rows).toEqual(hits.slice(0, rows.length).map(({ run, id }) => [run, id]));
    await expect.poll(() => at().get("q")).toBe("refundable");
    await page.reload();
    await the("grep-row").nth(1).waitFor();
    const path = (await the("grep-row").nth(1).getAttribute("data-path"))!;
    await the("grep-row").nth(1).click();
    await expect.poll(() => at().page).toBe("run");
    expect(at().get("at")).toBe(hits[1]!.id);
    const selected = page.locator('[data-testid=tree-row][aria-selected="true"]');
    await selected.waitFor();
    expect(await selected.getAttribute("data-path")).toBe(path);
    await page.goBack();
    await the("grep-row").first().waitFor();
    expect(await the("grep-input").inputValue()).toBe("refundable");
  });

  test("opens a value that did not come with the state alone, and the whole state after that", async () => {
    const list = Array.from({ length: 1_000 }, (_, n) => ({
      text: `item ${n}`,
      deep: [[[{ word: n === 777 ? "needle" : "hay" }]]],
    }));
    const { the, page, go } = await show({ of: await withStates({ run: [{ list }] }) });
    await go("#/search?q=needle");
    await the("grep-row").click();
    const selected = page.locator('[data-testid=tree-row][aria-selected="true"]');
    await selected.waitFor();
    expect(await selected.getAttribute("data-path")).toBe("list[777].deep[0][0][0].word");
    await the("reveal-all").click();
    await page.locator('[data-path="list"][aria-expanded="false"]').waitFor();
    expect(await the("reveal-all").count()).toBe(0);
  });

  test("shows hostile texts as texts, and follows case, expressions, steps and runs", async () => {
    const states = {
      first: [{ text: "an old Needle" }, { text: "nothing" }],
      [hostile]: [{ [hostile]: `${hostile} needle\n\u202e` }],
    };
    // The browser reports the refusal of a wrong expression.
    const { the, page, go, at } = await show({ of: await withStates(states), quiet: false });
    await go("#/search?q=needle");
    await expect.poll(() => the("grep-row").count()).toBe(1);
    expect(await the("grep-row").textContent()).toContain("<img src=x");
    expect(await page.evaluate(() => (window as { harm?: unknown }).harm)).toBeUndefined();
    await the("grep-steps").check();
    await expect.poll(() => the("grep-row").count()).toBe(2);
    await the("grep-case").check();
    await expect.poll(() => the("grep-row").count()).toBe(1);
    await the("grep-regex").check();
    await the("grep-input").fill("N.edle$");
    await expect.poll(() => the("grep-row").getAttribute("data-run")).toBe("first");
    expect(Object.fromEntries(at())).toEqual({ q: "N.edle$", steps: "all", exact: "1", regex: "1" });
    await the("grep-input").fill("(");
    await the("error").waitFor();
    await the("grep-input").fill("none");
    await the("grep-none").waitFor();
    await go("#/run?space=agentium&run=first");
    await the("grep-this").click();
    await the("grep-run").waitFor();
    await the("grep-input").fill("needle");
    await expect.poll(() => the("grep-row").count()).toBe(1);
    await the("grep-run").click();
    await expect.poll(() => the("grep-row").count()).toBe(2);
  });

  test("waits after many hits, goes on, and stops", async () => {
    // So many hits that a fast browser cannot get all of them at once.
    const states = Object.fromEntries(
      Array.from({ length: 400 }, (_, n) => [`run-${n}`, [{ list: Array.from({ length: 20 }, () => "a needle") }]]),
    );
    const { the, go } = await show({ of: await withStates(states) });
    await go("#/search?q=needle");
    await the("grep-more").waitFor();
    const found = async () =>
      Number(/[\d,]+/.exec((await the("grep-progress").or(the("grep-done")).textContent())!)![0].replace(",", ""));
    const before = await found();
    expect(before).toBeGreaterThanOrEqual(200);
    await the("grep-more").click();
    await expect.poll(found).toBeGreaterThan(before);
    if ((await the("grep-stop").count()) > 0) {
      await the("grep-stop").click();
      await expect.poll(() => the("grep-progress").getAttribute("data-state")).toBe("stopped");
    }
    expect(await the("grep-row").count()).toBeGreaterThan(0);
  });

  test("says what it could not search", async () => {
    const path = join(folder(), "agent.db");
    const serializer = { name: "secret", serialize: () => new Uint8Array([1]), deserialize: () => ({}) };
    const store = new WorkflowCheckpointStore<any>(path, { serializer });
    await store.save({ id: "a", runId: "a", stepIndex: 0, stepName: "a", state: {}, createdAt: 1 });
    await store.close();
    const { the, go } = await show({ of: path });
    await go("#/search?q=a");
    await the("grep-done").waitFor();
    expect(await the("grep-unreadable").textContent()).toContain("the serializer secret is missing");
  });
});

inBrowser("the filters of the list of runs", () => {
  test("by status are buttons with counts, and by time a choice, both in the address", async () => {
    const { the, page, at, inspector } = await show();
    const { spaces } = await inspector.info();
    const failed = spaces.reduce((sum, { statuses }) => sum + statuses.failed, 0);
    const chip = page.locator('[data-testid=status-chip][data-status="failed"]');
    await chip.waitFor();
    expect(await chip.textContent()).toContain(String(failed));
    await chip.click();
    await expect.poll(() => at().get("status")).toBe("failed");
    await expect.poll(() => the("run-row").count()).toBe((await inspector.runs({ status: "failed" })).items.length);
    expect(await chip.getAttribute("aria-pressed")).toBe("true");
    expect(await the("runs-filter-status").inputValue()).toBe("failed");
    await chip.click();
    await expect.poll(() => at().get("status")).toBeNull();
    await the("runs-filter-since").selectOption("15m");
    await expect.poll(() => at().get("since")).toBe("15m");
    await expect.poll(() => the("run-row").count()).toBeGreaterThan(10);
    await page.reload();
    expect(await the("runs-filter-since").inputValue()).toBe("15m");
  });

  test("a slow answer can be stopped and continued", async () => {
    const path = join(folder(), "agent.db");
    const store = new CheckpointStore(path, { durability: "off" });
    for (let n = 0; n < 5; n++) await store.save(checkpoint(`run-${n}`, 0) as unknown as Checkpoint);
    await store.close();
    await using real = await openInspector(path);
    // Each page takes a while, and has no runs but the last one.
    let pages = 0;
    let isSlow = true;
    const slow = new Proxy(real, {
      get(of, name) {
        if (name !== "runs") return typeof of[name as "runs"] === "function" ? of[name as "runs"].bind(of) : undefined;
        return async (query: { status?: string; maxMs?: number }) => {
          if (query.status !== "finished" || !isSlow) return of.runs(query as never);
          pages += 1;
          await new Promise((resolve) => setTimeout(resolve, 200));
          return { items: [], cursor: String(1_000_000 - pages) };
        };
      },
    });
    const { the, go } = await show({ of: slow });
    await the("run-row").first().waitFor();
    await go("#/runs?status=finished");
    await the("runs-stop").waitFor();
    await the("runs-stop").click();
    await the("runs-stopped").waitFor();
    expect(pages).toBeGreaterThan(1);
    isSlow = false;
    await the("runs-stopped").getByRole("button").click();
    await expect.poll(() => the("runs-stopped").count()).toBe(0);
    await the("runs-empty").waitFor();
  });
});
