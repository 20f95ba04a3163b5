// Tests in a browser how two steps are compared: by button, key and touch, of one run and of two, in columns.
import { expect, test } from "vitest";
import { type Shown, inBrowser, runAt, show, useBrowser } from "./browser.js";

useBrowser();

const trip = runAt("trip-4711-lisbon");
const thread = runAt("customer-2317", "langgraph");

async function showRun(hash: string, options = {}): Promise<Shown> {
  const shown = await show(options);
  await shown.go(hash);
  await shown.the("step-row").first().waitFor();
  await shown.the("compare").waitFor({ state: "attached" });
  return shown;
}

const idsOf = ({ the }: Shown) => the("step-row").evaluateAll((rows) => rows.map(({ dataset }) => dataset["id"]!));

const dataOf = ({ the }: Shown) =>
  the("diff-row").evaluateAll((rows) =>
    rows.map((row) => [row.dataset["op"], row.querySelector("p em")!.textContent] as const),
  );

inBrowser("comparing", () => {
  test("with the button: one picks the other step with a click, and the address names both", async () => {
    const shown = await showRun(trip);
    const { the, at, page, inspector } = shown;
    const ids = await idsOf(shown);
    await the("compare").click();
    expect(await the("compare-pick").textContent()).toContain("step 6");
    await the("step-row").nth(4).click();
    await expect.poll(() => the("compare-pick").count()).toBe(0);
    expect([at().get("at"), at().get("vs"), at().get("vsRun")]).toEqual([ids[0], ids[4], null]);
    await the("diff-row").first().waitFor();
    const ref = { space: "agentos", run: "trip-4711-lisbon" };
    const { changes } = await inspector.diff({ ...ref, id: ids[4]! }, { ...ref, id: ids[0]! });
    expect((await dataOf(shown)).map(([op]) => op)).toEqual(changes.map(({ op }) => op));
    // The same address shows the same.
    await page.reload();
    await expect.poll(() => the("diff-target").textContent()).toContain("From step 2");
    await the("compare-turn").click();
    await expect.poll(() => [at().get("at"), at().get("vs")]).toEqual([ids[4], ids[0]]);
    await expect.poll(() => the("diff-target").textContent()).toContain("From step 6");
  });

  test("with the keyboard alone, and Escape ends it", async () => {
    const shown = await showRun(trip);
    const { the, at, page } = shown;
    const ids = await idsOf(shown);
    await page.keyboard.press("x");
    await the("compare-pick").waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => the("compare-pick").count()).toBe(0);
    expect(at().page).toBe("run");
    await page.keyboard.press("x");
    // The step itself is no other step.
    await page.keyboard.press("Enter");
    expect(await the("compare-pick").isVisible()).toBe(true);
    for (let n = 0; n < 3; n++) await page.keyboard.press("j");
    await expect.poll(() => at().get("at")).toBe(ids[3]);
    await page.keyboard.press("Enter");
    await expect.poll(() => [at().get("at"), at().get("vs")]).toEqual([ids[0], ids[3]]);
    // x also takes the step that is shown.
    await page.keyboard.press("x");
    await page.keyboard.press("[");
    await expect.poll(() => the("compare").textContent()).toContain("Compare with this");
    await page.keyboard.press("x");
    await expect.poll(() => [at().get("at"), at().get("vs")]).toEqual([ids[0], ids[1]]);
    await the("diff-row").first().waitFor();
  });

  test("with a step of another run, which the address names too", async () => {
    const shown = await showRun(trip);
    const { the, at, page, go, inspector } = shown;
    const ids = await idsOf(shown);
    await the("compare").click();
    await go("#/runs");
    await the("run-row").first().waitFor();
    expect(await the("compare-pick").textContent()).toContain("trip-4711-lisbon");
    await go(runAt("trip-4107-porto"));
    await expect.poll(() => the("run-title").textContent()).toBe("trip-4107-porto");
    await page.locator('[data-id="trip-4107-porto-3"]').click();
    await expect.poll(() => the("run-title").textContent()).toBe("trip-4711-lisbon");
    const asked = ["at", "vs", "vsSpace", "vsRun"].map((name) => at().get(name));
    expect(asked).toEqual([ids[0], "trip-4107-porto-3", "agentos", "trip-4107-porto"]);
    await page.reload();
    await expect.poll(() => the("diff-target").textContent()).toContain("of trip-4107-porto");
    const [from, to] = ["trip-4107-porto", "trip-4711-lisbon"].map((run) => ({ space: "agentos", run }));
    const { changes } = await inspector.diff({ ...from!, id: "trip-4107-porto-3" }, { ...to!, id: ids[0]! });
    await expect.poll(async () => (await dataOf(shown)).length).toBe(Math.min(changes.length, 100));
    // A move goes back to the parent.
    await page.keyboard.press("[");
    await expect.poll(() => [at().get("vs"), at().get("vsRun")]).toEqual([null, null]);
    await expect.poll(() => the("diff-target").textContent()).toContain("parent");
  });

  test("of a step that was removed says so", async () => {
    const { the, go } = await show({ quiet: false });
    await go(`${trip}&vs=gone&view=diff`);
    await expect.poll(() => the("error").textContent()).toContain("gone");
    await go(`${trip}&vs=x&vsRun=${encodeURIComponent("<b>none</b>")}&vsSpace=agentos&view=diff`);
    await expect.poll(() => the("error").textContent()).toContain("<b>none</b>");
  });

  test("on a phone, a step gives way to the timeline, and a tap picks", async () => {
    const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
    const shown = await showRun(trip, phone);
    const { the, at, page } = shown;
    const ids = await idsOf(shown);
    await the("step-row").nth(1).tap();
    await the("compare").tap();
    await expect.poll(() => the("timeline").isVisible()).toBe(true);
    await the("step-row").nth(5).tap();
    await expect.poll(() => [at().get("at"), at().get("vs")]).toEqual([ids[1], ids[5]]);
    await the("diff-row").first().waitFor();
    // One column.
    const [before, after] = await page.locator(".sides").first().locator("> *").all();
    const [left, right] = [await before!.boundingBox(), await after!.boundingBox()];
    expect(right!.y).toBeGreaterThanOrEqual(left!.y + left!.height);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
  });

  test("shows two columns where there is room", async () => {
    const shown = await showRun(trip, { viewport: { width: 1440, height: 900 } });
    const { the, page, go } = shown;
    await go(`${trip}&vs=trip-4711-lisbon-2&view=diff`);
    await the("compare-columns").waitFor();
    await the("diff-row").first().waitFor();
    const [before, after] = await page.locator(".sides").first().locator("> *").all();
    const [left, right] = [await before!.boundingBox(), await after!.boundingBox()];
    expect(right!.x).toBeGreaterThanOrEqual(left!.x + left!.width);
    expect(Math.abs(right!.y - left!.y)).toBeLessThan(2);
  });

  test("branches of a thread: messages as role and text", async () => {
    const shown = await showRun(thread);
    const { the, go, inspector } = shown;
    const ref = { space: "langgraph", run: "customer-2317" };
    const { items } = await inspector.checkpoints(ref, { order: "desc" });
    const [newest, other] = [items[0]!, items[5]!];
    await go(`${thread}&at=${newest.id}&vs=${other.id}&view=diff`);
    await the("diff-row").first().waitFor();
    const { changes } = await inspector.diff({ ...ref, id: other.id }, { ...ref, id: newest.id });
    const others = changes.filter(({ own }) => own !== true);
    await expect.poll(async () => (await dataOf(shown)).map(([op]) => op)).toEqual(others.map(({ op }) => op));
    expect(others.length).toBeGreaterThan(0);
    expect(others.length).toBeLessThan(changes.length);
    const messages = the("diff-row").filter({ hasText: /^.messages\[/ });
    if ((await messages.count()) > 0) expect(await messages.first().textContent()).not.toContain("role:");
  });
});

inBrowser("LangGraph's own values", () => {
  test("are one line, which opens", async () => {
    const shown = await showRun(`${thread}&view=diff`);
    const { the, page, inspector } = shown;
    const ref = { space: "langgraph", run: "customer-2317" };
    const { items } = await inspector.checkpoints(ref, { order: "desc" });
    const { changes } = await inspector.diff({ ...ref, id: items[0]!.parent!.id }, { ...ref, id: items[0]!.id });
    const own = changes.filter((each) => each.own === true);
    expect(own.length).toBeGreaterThan(5);
    await expect.poll(() => the("diff-row").count()).toBe(changes.length - own.length);
    expect(await the("diff-own").textContent()).toBe(`${own.length} changes of LangGraph's own values`);
    expect(await the("diff-own").getAttribute("aria-expanded")).toBe("false");
    await the("diff-own").focus();
    await page.keyboard.press("Enter");
    await expect.poll(() => the("diff-row").count()).toBe(changes.length);
    expect(await the("diff-own").getAttribute("aria-expanded")).toBe("true");
    const places = (await dataOf(shown)).map(([, place]) => place);
    expect(places.some((place) => place!.startsWith("channel_versions"))).toBe(true);
  });

  test("of other frameworks are none", async () => {
    const { the } = await showRun(`${trip}&view=diff`);
    await the("diff-row").first().waitFor();
    expect(await the("diff-own").count()).toBe(0);
  });
});
