// Tests a run in a browser: the timeline and its lanes, the state, the changes, the writes, the code and the keys.
import { expect, test } from "vitest";
import { hostile, unusual } from "./contents.mjs";
import { type Shown, copied, inBrowser, runAt, show, useBrowser } from "./browser.js";

useBrowser();

const trip = runAt("trip-4711-lisbon");
const thread = runAt("customer-2317", "langgraph");

/** Shows a run, and waits for its state. */
async function showRun(hash: string, options = {}): Promise<Shown> {
  const shown = await show(options);
  await shown.go(hash);
  await shown.the("step-row").first().waitFor();
  await shown.the("tree-row").first().waitFor();
  return shown;
}

const rowsOf = ({ the }: Shown) =>
  the("step-row").evaluateAll((rows) => rows.map(({ dataset }) => [dataset["id"], dataset["step"], dataset["lane"]]));

inBrowser("a run", () => {
  test("has a head with its id, its status and its size", async () => {
    const { the, inspector } = await showRun(thread);
    const info = (await inspector.run({ space: "langgraph", run: "customer-2317" }, { withWhy: true }))!;
    expect(await the("run-title").textContent()).toBe("customer-2317");
    expect(await the("run-status").textContent()).toBe(info.status);
    expect(await the("run-origin").count()).toBe(0);
  });

  test("a fork has a link to where it began, and its source a mark that leads to it", async () => {
    const shown = await showRun(trip);
    const { the, at, inspector } = shown;
    const forks = await inspector.forks({ space: "agentos", run: "trip-4711-lisbon" });
    expect(await the("fork-link").count()).toBe(2);
    const edges = the("lane-edge");
    expect(await edges.evaluateAll((all) => all.filter((each) => each.dataset["kind"] === "fork").length)).toBe(2);
    expect(await edges.evaluateAll((all) => all.filter((each) => each.dataset["kind"] === "parent").length)).toBe(6);
    await the("fork-link").first().click();
    await expect.poll(() => at().get("run")).not.toBe("trip-4711-lisbon");
    const fork = forks.find(({ run }) => run === at().get("run"))!;
    await expect.poll(() => the("run-title").textContent()).toBe(fork.run);
    await the("run-origin").click();
    await expect.poll(() => the("run-title").textContent()).toBe("trip-4711-lisbon");
    expect(at().get("at")).toBe(fork.forkedFrom!.id);
  });

  test("the timeline has a row a checkpoint, the newest first, and lanes as the history has them", async () => {
    const shown = await showRun(thread);
    const ref = { space: "langgraph", run: "customer-2317" };
    const { items } = await shown.inspector.checkpoints(ref, { order: "desc" });
    const rows = await rowsOf(shown);
    expect(rows.map(([id, step]) => [id, step])).toEqual(items.map(({ id, step }) => [id, String(step)]));
    // The trunk is the ancestors of the newest one.
    const parents = new Map(items.map(({ id, parent }) => [id, parent?.id]));
    const trunk = new Set<string | undefined>();
    for (let at: string | undefined = items[0]!.id; at !== undefined; at = parents.get(at)) trunk.add(at);
    expect(trunk.size).toBeLessThan(items.length);
    for (const [id, , lane] of rows) expect(lane === "0", String(id)).toBe(trunk.has(id));
    const edges = await shown.the("lane-edge").evaluateAll((all) => all.map((each) => each.dataset["kind"]));
    expect(edges).toEqual(Array(items.length - 1).fill("parent"));
    expect(await shown.the("lanes").evaluate((svg) => svg.namespaceURI)).toBe("http://www.w3.org/2000/svg");
  });

  test("[ and ] go to older and newer checkpoints, and quick presses add up", async () => {
    const shown = await showRun(trip);
    const { page, at, the } = shown;
    const ids = (await rowsOf(shown)).map(([id]) => id);
    for (let n = 0; n < 5; n++) await page.keyboard.press("[");
    await expect.poll(() => at().get("at")).toBe(ids[5]);
    await page.keyboard.press("]");
    await page.keyboard.press("]");
    await expect.poll(() => at().get("at")).toBe(ids[3]);
    for (let n = 0; n < 20; n++) await page.keyboard.press("]");
    await expect.poll(() => at().get("at")).toBe(ids[0]);
    expect(at().get("run")).toBe("trip-4711-lisbon");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => at().get("at")).toBe(ids[1]);
    const selected = page.locator("[data-testid=step-row][aria-selected=true]");
    expect(await selected.getAttribute("data-id")).toBe(ids[1]);
    await expect.poll(() => the("state-tree").isVisible()).toBe(true);
  });

  test("a click looks at a checkpoint, and the back button and a reload keep it", async () => {
    const shown = await showRun(trip);
    const { page, the, at } = shown;
    const ids = (await rowsOf(shown)).map(([id]) => id);
    await the("step-row").nth(3).click();
    await the("step-row").nth(5).click();
    expect(at().get("at")).toBe(ids[5]);
    await page.goBack();
    await expect.poll(() => at().get("at")).toBe(ids[3]);
    await page.reload();
    const selected = page.locator("[data-testid=step-row][aria-selected=true]");
    await expect.poll(() => selected.getAttribute("data-id")).toBe(ids[3]);
    await expect.poll(() => page.locator("h2").first().textContent()).toContain("Step 3");
  });

  test("what another process saves appears, and is looked at if one looks at the newest", async () => {
    const shown = await showRun(runAt("trip-4100-lisbon"), { of: copied() });
    const { the, save, page, at } = shown;
    expect(await the("step-row").count()).toBe(2);
    await save("trip-4100-lisbon", 2, "from another process");
    await expect.poll(() => the("step-row").count()).toBe(3);
    await expect.poll(() => page.locator("h2").first().textContent()).toContain("Step 2");
    await expect.poll(() => the("state-tree").textContent()).toContain("from another process");
    // One who looks at an older one stays there.
    await page.keyboard.press("[");
    const before = at().get("at");
    await save("trip-4100-lisbon", 3);
    await expect.poll(() => the("step-row").count()).toBe(4);
    expect(at().get("at")).toBe(before);
    await expect.poll(() => page.locator("h2").first().textContent()).toContain("Step 1");
  });
});

inBrowser("the state", () => {
  test("is a tree that the arrow keys of the ARIA pattern lead through", async () => {
    const { the, page } = await showRun(trip);
    const tree = the("state-tree");
    expect(await tree.getAttribute("role")).toBe("tree");
    await tree.focus();
    const active = () =>
      tree.evaluate(
        (element) => document.getElementById(element.getAttribute("aria-activedescendant") ?? "")?.dataset["path"],
      );
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key);
      return active();
    };
    expect(await press("Home")).toBe("input");
    const row = page.locator("[data-path=input]");
    expect(await row.getAttribute("aria-expanded")).toBe("true");
    expect([await row.getAttribute("aria-level"), await row.getAttribute("aria-posinset")]).toEqual(["1", "1"]);
    expect(await press("ArrowRight")).toBe("input.question");
    expect(await press("ArrowDown", "ArrowDown")).toBe("input.currency");
    expect(await press("ArrowLeft")).toBe("input");
    expect(await press("ArrowLeft")).toBe("input");
    expect(await row.getAttribute("aria-expanded")).toBe("false");
    expect(await press("ArrowDown")).toBe("scratch");
    expect(await press("End")).toMatch(/^diagnostics/);
    expect(await press("Home", "Enter")).toBe("input");
    expect(await row.getAttribute("aria-expanded")).toBe("true");
    // The keys of the tree do not move in the timeline.
    expect(await page.locator("[data-testid=step-row][aria-selected=true]").getAttribute("data-step")).toBe("6");
  });

  test("opens what was not loaded, level by level", async () => {
    const { the, page } = await showRun(trip);
    await page.locator('[data-path="scratch.offers"]').click();
    await page.locator('[data-path="scratch.offers[0]"]').click();
    await expect.poll(() => page.locator('[data-path="scratch.offers[0].carrier"]').textContent()).toContain('"TP"');
    await the("state-search").fill("x");
  });

  test("search shows what fits and what leads there, of all of the state", async () => {
    const { the, page } = await showRun(trip);
    await the("state-search").fill("offer-17");
    await expect
      .poll(() => the("tree-row").evaluateAll((rows) => rows.map(({ dataset }) => dataset["path"])))
      .toEqual(["scratch", "scratch.offers", "scratch.offers[17]", "scratch.offers[17].id"]);
    await the("state-search").fill("nothing has this");
    await expect.poll(() => the("tree-row").count()).toBe(0);
    await the("state-search").fill("");
    await expect.poll(() => the("tree-row").count()).toBeGreaterThan(5);
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    expect(await the("state-search").evaluate((field) => field === document.activeElement)).toBe(true);
  });

  test("copies the path and the value of the chosen row", async () => {
    const { page } = await showRun(trip, { permissions: ["clipboard-read", "clipboard-write"] });
    const read = () => page.evaluate(() => navigator.clipboard.readText());
    await page.locator('[data-path="scratch.notes[1]"]').click();
    await page.getByRole("button", { name: "Path" }).click();
    await expect.poll(read).toBe("scratch.notes[1]");
    await page.getByRole("button", { name: "Value", exact: true }).click();
    await expect.poll(read).toBe("Three airlines fly at the right time. Two of them need a stop in Frankfurt.");
    await page.locator('[data-path="input"]').click();
    await page.getByRole("button", { name: "Value", exact: true }).click();
    await expect.poll(async () => (await read()).trim()).toContain('"budget": 400');
  });

  test("shows every kind of value", async () => {
    const { the, go, page } = await show();
    await go(runAt(hostile));
    await the("tree-row").first().waitFor();
    const shown = async (key: string) => (await page.locator(`[data-path="scratch.${key}"] .value`).textContent())!;
    await expect.poll(() => shown("date")).toContain("2026-01-31T00:00:00.000Z");
    expect(await shown("big")).toBe(`${unusual.big}n`);
    expect(await shown("minusZero")).toBe("-0");
    expect(await shown("nothing")).toBe("undefined");
    expect(await shown("pattern")).toBe("/a+/gi");
    expect(await shown("error")).toContain("RangeError: too far");
    expect(await shown("bytes")).toContain("200 B");
    expect(await shown("bytes")).toContain("00 01 02");
    expect(await shown("map")).toContain("Map");
    expect(await shown("set")).toContain("Set");
    expect(await shown("control")).toBe('"\\u0000\\u001b[31mred\\u001b[0m \\u202edrow\\u202c"');
    await page.locator('[data-path="scratch.lines"]').click();
    expect(await page.locator(".closer pre").textContent()).toBe(unusual.lines);
  });
});

inBrowser("changes", () => {
  test("against the parent have sign, word and operation", async () => {
    const { the, page, at, inspector } = await showRun(trip);
    await page.keyboard.press("[");
    await page.keyboard.press("[");
    await page.keyboard.press("d");
    await the("diff-row").first().waitFor();
    const to = { space: "agentos", run: "trip-4711-lisbon", id: at().get("at")! };
    const { items } = await inspector.checkpoints(to);
    const from = items[items.findIndex(({ id }) => id === to.id) - 1]!;
    const { changes } = await inspector.diff(from, to);
    expect(await the("diff-row").evaluateAll((rows) => rows.map(({ dataset }) => dataset["op"]))).toEqual(
      changes.map(({ op }) => op),
    );
    const first = await the("diff-row").first().textContent();
    expect(first).toMatch(/^[+−~].*(added|removed|changed)/s);
    expect(await the("diff-target").textContent()).toContain("From step 3");
    expect(await the("diff-target").textContent()).toContain("parent");
    await the("diff-toggle").click();
    await expect.poll(() => the("diff").count()).toBe(0);
    expect(await the("state-tree").isVisible()).toBe(true);
    await the("diff-toggle").click();
    await the("diff-row").first().waitFor();
  });

  test("against another that is clicked with Alt, or that the address names", async () => {
    const shown = await showRun(trip);
    const { the, page, at } = shown;
    const ids = (await rowsOf(shown)).map(([id]) => id);
    await the("step-row")
      .nth(4)
      .click({ modifiers: ["Alt"] });
    await the("diff-row").first().waitFor();
    expect([at().get("at"), at().get("vs")]).toEqual([ids[0], ids[4]]);
    await expect.poll(() => the("diff-target").textContent()).toContain("From step 2");
    await page.reload();
    await expect.poll(() => the("diff-target").textContent()).toContain("From step 2");
    // A move goes on with the parent.
    await page.keyboard.press("[");
    await expect.poll(() => at().get("vs")).toBeNull();
    await expect.poll(() => the("diff-target").textContent()).toContain("From step 4");
    await the("step-row")
      .nth(3)
      .click({ modifiers: ["Alt"] });
    await page.getByRole("button", { name: "Compare with the parent" }).click();
    await expect.poll(() => the("diff-target").textContent()).toContain("parent");
  });

  test("say if there are none, and what the first checkpoint has", async () => {
    const { the, page, go } = await showRun(trip);
    await page.keyboard.press("End");
    await page.keyboard.press("d");
    await expect.poll(() => the("diff-target").textContent()).toContain("From nothing");
    expect(await the("diff-row").evaluateAll((rows) => new Set(rows.map(({ dataset }) => dataset["op"])).size)).toBe(1);
    await go(`${runAt("import-2026-02-27", "agentium")}&view=diff`);
    await the("diff").waitFor();
  });
});

inBrowser("writes", () => {
  test("of a thread that waits: the question, and what is next", async () => {
    const { the } = await showRun(runAt("customer-2214", "langgraph"));
    expect(await the("next").textContent()).toContain("refund");
    const rows = await the("write-row").evaluateAll((all) => all.map(({ dataset }) => dataset["channel"]));
    expect(rows).toContain("__interrupt__");
    expect(await the("writes").textContent()).toContain("Refund 218.40 € for ticket T-2?");
    expect(await the("run-status").textContent()).toBe("waiting");
  });

  test("that are none are not shown", async () => {
    const { the } = await showRun(trip);
    expect(await the("writes").count()).toBe(0);
  });
});

inBrowser("storage", () => {
  test("says what the store holds, and leads to its largest runs", async () => {
    const { the, page, go, inspector, at } = await show();
    await page.getByRole("link", { name: "Storage" }).click();
    await the("storage").waitFor();
    const stats = await inspector.stats();
    expect(Number(await the("storage-logical").getAttribute("data-bytes"))).toBe(stats.logicalBytes);
    expect(Number(await the("storage-stored").getAttribute("data-bytes"))).toBe(stats.storedBytes);
    const runs = await the("storage-run").evaluateAll((rows) => rows.map(({ dataset }) => dataset["run"]));
    expect(runs).toEqual(stats.largest.map(({ run }) => run));
    const saved = (await inspector.activity()).reduce((sum, each) => sum + each.saved, 0);
    await expect.poll(() => page.locator(".card").nth(1).textContent()).toContain(`${saved} checkpoints`);
    await the("storage-run").first().click();
    await expect.poll(() => the("run-title").textContent()).toBe(runs[0]);
    await page.goBack();
    await the("storage-run").first().waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await expect.poll(() => at().get("run")).toBe(runs[1]);
    await go("#/storage");
    await the("storage").waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => at().page).toBe("runs");
  });
});
