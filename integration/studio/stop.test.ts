// Tests the button that stops a run, in a browser. Another process works on the run.
import { join } from "node:path";
import { expect, test } from "vitest";
import { Worker } from "../../__test__/exclusive-worker.js";
import { folder, inBrowser, runAt, show, useBrowser } from "./browser.js";

useBrowser();

const hostile = `<img src=x onerror="document.title='owned'">\u202e http://example.com/`;

async function working(given: object = {}) {
  const target = join(folder(), "agent.db");
  const worker = new Worker(target);
  await worker.works("a", "run", given);
  return { target, worker };
}

inBrowser("stop", () => {
  test("ends the run of another process, with the name and the reason, as text", async () => {
    const { target, worker } = await working();
    const { the, go, page } = await show({ of: target, write: true });
    await go(runAt("run"));
    await the("stop").click();
    expect(await the("stop-dialog").textContent()).toContain(`process ${worker.program.pid} on `);
    await the("stop-by").fill("Ana");
    await the("stop-reason").fill(hostile);
    await the("stop-send").click();
    expect(await worker.says("a")).toMatchObject({ code: "STOPPED", stopped: { by: "Ana", reason: hostile } });
    await expect.poll(() => the("run-status").textContent()).toBe("stopped");
    expect(await the("run-stopped").textContent()).toMatch(/^stopped .+ by Ana$/);
    // The process releases its lease after it has stored how the run ended.
    await expect.poll(() => the("stop").count()).toBe(0);
    expect(await the("stop-dialog").count()).toBe(0);
    expect(await page.locator("header .why").textContent()).toContain("by Ana: <img");
    expect(await page.locator("img").count()).toBe(0);
    expect(await page.title()).not.toBe("owned");
    // The list and its filter have the status.
    await go("#/runs?status=stopped");
    await expect.poll(() => the("run-row").count()).toBe(1);
    const chip = page.locator("[data-testid=status-chip][data-status=stopped]");
    await expect.poll(() => chip.textContent()).toMatch(/stopped\s*1/);
    // The run continues, and the page notices it.
    await go(runAt("run"));
    worker.tell("append", { name: "b", run: "run" });
    await expect.poll(() => the("run-status").textContent()).toBe("unfinished");
    expect(await the("run-stopped").count()).toBe(0);
  });

  test("says so if the process doesn't answer, and shows the stop when it has ended", async () => {
    const { target, worker } = await working({ ignores: true });
    const { the, go } = await show({ of: target, write: true });
    await go(runAt("run"));
    await the("stop").click();
    await the("stop-send").click();
    await the("stop-no-answer").waitFor();
    expect(await the("run-status").textContent()).toBe("unfinished");
    worker.tell("open", { of: "a" });
    await worker.says("a");
    await expect.poll(() => the("run-status").textContent(), { timeout: 20_000 }).toBe("stopped");
  });

  test("is off in a read-only studio, and missing where no process works; another stop is noticed", async () => {
    const { target, worker } = await working();
    const { the, go, inspector } = await show({ of: target });
    await go(runAt("run"));
    await the("stop").waitFor();
    expect(await the("stop").isDisabled()).toBe(true);
    expect(await the("stop").getAttribute("title")).toContain("--write");
    await expect(inspector.stop({ space: "agentos", run: "run" })).rejects.toMatchObject({ code: "UNSUPPORTED" });
    const other = new Worker(target);
    other.tell("stop", { name: "stop", run: "run", options: { by: "Bob" } });
    await worker.says("a");
    await expect.poll(() => the("run-status").textContent(), { timeout: 20_000 }).toBe("stopped");
    expect(await the("stop").count()).toBe(0);
  });

  test.each([1_440, 390])("fits at %i pixels", async (width) => {
    const { target } = await working();
    const { the, go, page } = await show({ of: target, write: true, viewport: { width, height: 844 } });
    await go(runAt("run"));
    await the("stop").click();
    await the("stop-send").waitFor();
    const wide = await page.evaluate(() => document.documentElement.scrollWidth <= window.innerWidth);
    expect(wide).toBe(true);
    await page.keyboard.press("Escape");
    await expect.poll(() => the("stop-dialog").count()).toBe(0);
  });
});
