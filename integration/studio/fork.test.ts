// Tests a fork in a browser: the state as text, its errors with their places, its changes before they are made.
import { expect, test } from "vitest";
import { type Shown, copied, inBrowser, runAt, show, useBrowser } from "./browser.js";

useBrowser();

async function openFork(hash: string, options = {}): Promise<Shown & { text: string }> {
  const shown = await show({ of: copied(), write: true, ...options });
  await shown.go(hash);
  await shown.the("step-row").first().waitFor();
  await shown.page.keyboard.press("f");
  await shown.the("fork-editor").waitFor();
  return { ...shown, text: await shown.the("fork-editor").inputValue() };
}

/** The browser writes each answer that is a refusal to the console. */
const refused = { quiet: false };

inBrowser("a fork", () => {
  test("with another value begins a new run, and the page goes there", async () => {
    const { the, text, at, inspector, page } = await openFork(`${runAt("trip-4711-lisbon")}&at=trip-4711-lisbon-3`);
    const before = await inspector.checkpoint({ space: "agentos", run: "trip-4711-lisbon", id: "trip-4711-lisbon-3" });
    await the("fork-editor").fill(text.replace('"budget": 400', '"budget": 900'));
    await expect.poll(() => the("fork-preview").locator("[data-testid=diff-row]").count()).toBe(1);
    expect(await the("fork-preview").textContent()).toContain("input.budget");
    expect(await the("fork-preview").textContent()).toContain("900");
    // Nothing is stored until one asks for it.
    expect(await inspector.forks({ space: "agentos", run: "trip-4711-lisbon" })).toHaveLength(2);
    await the("fork-submit").click();
    await the("fork-done").waitFor();
    await expect.poll(() => at().get("run")).not.toBe("trip-4711-lisbon");
    const run = at().get("run")!;
    await expect.poll(() => the("run-title").textContent()).toBe(run);
    const detail = await inspector.checkpoint({ space: "agentos", run });
    expect((detail!.state as { input: { budget: number } }).input.budget).toBe(900);
    expect(await inspector.checkpoint({ space: "agentos", run: "trip-4711-lisbon", id: "trip-4711-lisbon-3" })).toEqual(
      before,
    );
    await expect.poll(() => the("tree-row").filter({ hasText: "budget" }).textContent()).toContain("900");
    await the("run-origin").click();
    await expect.poll(() => the("fork-link").count()).toBe(3);
    expect(await page.locator("dialog[open]").count()).toBe(0);
  });

  test("says where its text is no JSON, as one types, and cannot be sent then", async () => {
    const { the, text } = await openFork(runAt("trip-4711-lisbon"));
    for (const [wrong, line, column] of [
      ['{\n  "a": 1,\n}', 3, 1],
      ['{\n  "a": tru }', 2, 11],
      ["", 1, 1],
      ['{ "a": 1 } x', 1, 12],
      ['["\u0001"]', 1, 3],
    ] as const) {
      await the("fork-editor").fill(wrong);
      await expect.poll(() => the("fork-error").textContent()).toContain(`line ${line}, column ${column}`);
      expect(await the("fork-submit").isDisabled()).toBe(true);
    }
    await the("fork-editor").fill(text);
    await expect.poll(() => the("fork-error").count()).toBe(0);
    expect(await the("fork-submit").isDisabled()).toBe(false);
    await expect.poll(() => the("fork-preview").textContent()).toContain("No changes");
  });

  test("of a thread is a branch in it", async () => {
    const { the, text, at, inspector } = await openFork(runAt("customer-2214", "langgraph"));
    const ref = { space: "langgraph", run: "customer-2214" };
    const steps = (await inspector.run(ref))!.checkpoints;
    await the("fork-editor").fill(text.replace('"T-2"', '"T-200"'));
    await expect.poll(() => the("fork-preview").textContent()).toContain("T-200");
    await the("fork-submit").click();
    await the("fork-done").waitFor();
    await expect.poll(() => the("step-row").count()).toBe(steps + 1);
    const newest = (await inspector.run(ref))!.latest;
    expect([at().get("run"), at().get("at")]).toEqual(["customer-2214", newest.id]);
    expect(newest.label).toBe("fork");
    await expect.poll(() => the("tree-row").filter({ hasText: "ticket" }).textContent()).toContain("T-200");
  });

  test("closes with Escape and with Cancel, and the keys of the page rest meanwhile", async () => {
    const { the, page, at } = await openFork(runAt("trip-4711-lisbon"));
    await the("fork-editor").press("d");
    expect(at().get("view")).toBeNull();
    await page.keyboard.press("Escape");
    await expect.poll(() => the("fork-dialog").count()).toBe(0);
    expect(at().page).toBe("run");
    await the("fork").click();
    await page.getByRole("button", { name: "Cancel" }).click();
    await expect.poll(() => the("fork-dialog").count()).toBe(0);
  });

  test("with a name that is taken says so, and the text stays", async () => {
    const { the, page } = await openFork(runAt("trip-4711-lisbon"), refused);
    await page.getByLabel("New run id").fill("trip-4100-lisbon");
    await expect.poll(() => the("error").first().textContent()).toContain("CONFLICT");
    await page.getByLabel("New run id").fill("my-fork");
    await expect.poll(() => the("error").count()).toBe(0);
    await the("fork-submit").click();
    await expect.poll(() => the("run-title").textContent()).toBe("my-fork");
  });

  test("and an edit without --write are not offered, and the page says why", async () => {
    const { the, page, go } = await show();
    await go(runAt("trip-4711-lisbon"));
    await the("step-row").first().waitFor();
    expect(await the("readonly").isVisible()).toBe(true);
    expect(await the("fork").isDisabled()).toBe(true);
    await page.keyboard.press("f");
    expect(await the("fork-dialog").count()).toBe(0);
    await expect.poll(() => page.locator(".toast").textContent()).toContain("--write");
    await page.reload();
    await page.locator("[data-path='input.budget']").click();
    await page.keyboard.press("e");
    await expect.poll(() => page.locator(".toast").textContent()).toContain("--write");
    expect(await the("edit").count()).toBe(0);
  });
});
