// Tests the list of runs in a browser: search, filters, keys, the back button, and what other processes save meanwhile.
import { writeFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { checkpoint } from "./contents.mjs";
import { type Shown, command, copied, folder, inBrowser, runAt, show, useBrowser } from "./browser.js";
import { useRecording } from "./recording.js";
import { type Checkpoint, CheckpointStore, openStore } from "forkpoint";
import { Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";
import { openInspector } from "forkpoint/inspect";
import { join } from "node:path";

useBrowser();
const recording = useRecording({ small: 20 });

inBrowser("the list of runs", () => {
  test("shows every run of the store, with its status", async () => {
    const { the, inspector, page } = await show();
    const { items } = await inspector.runs({ limit: 1_000, withWhy: true });
    await expect.poll(() => the("run-row").count()).toBeGreaterThan(10);
    const first = the("run-row").first();
    await expect.poll(() => first.getAttribute("data-status")).toBe(items[0]!.status);
    const shown = await the("run-row").evaluateAll((rows) =>
      rows.map(({ dataset }) => [dataset["space"], dataset["run"], dataset["status"]]),
    );
    expect(shown).toEqual(items.slice(0, shown.length).map(({ space, run, status }) => [space, run, status]));
    expect(await page.title()).toBe("Runs · Forkpoint Studio");
    expect(await the("live").getAttribute("data-state")).toBe("live");
    // A colour is not the only sign of a status.
    expect(await first.textContent()).toContain(items[0]!.status);
  });

  test("search finds runs by a part of their id, and stands in the address", async () => {
    const { the, page, at } = await show();
    await the("runs-search").fill("4711-lis");
    await expect.poll(() => the("run-row").count()).toBe(1);
    expect(await the("run-row").getAttribute("data-run")).toBe("trip-4711-lisbon");
    await expect.poll(() => at().get("q")).toBe("4711-lis");
    await page.reload();
    await expect.poll(() => the("run-row").count()).toBe(1);
    expect(await the("runs-search").inputValue()).toBe("4711-lis");
    await the("runs-search").fill("there is none");
    await the("runs-empty").waitFor();
    await the("runs-search").fill("");
    await expect.poll(() => the("run-row").count()).toBeGreaterThan(10);
  });

  test("search finds the runs of a version of their program", async () => {
    const target = join(folder(), "agent.db");
    const checkpointStore = new WorkflowCheckpointStore<object>(target);
    for (const version of ["1", "2"]) {
      const steps = [{ name: "a", run: () => {} }];
      const workflow = new Workflow({ name: "w", version, initialState: {}, steps, checkpointStore, register: false });
      await workflow.runWithCheckpoints({ runId: `trip-${version}` });
    }
    await checkpointStore.close();
    const { the } = await show({ of: target });
    await expect.poll(() => the("run-row").count()).toBe(2);
    expect((await the("run-version").allTextContents()).toSorted()).toEqual(["1", "2"]);
    await the("runs-search").fill("trip version:2");
    await expect.poll(() => the("run-row").count()).toBe(1);
    expect(await the("run-row").getAttribute("data-run")).toBe("trip-2");
    await the("runs-search").fill("version:3");
    await the("runs-empty").waitFor();
  });

  test("shows labels, and search finds runs by them", async () => {
    const target = join(folder(), "agent.db");
    const store = new WorkflowCheckpointStore<object>(target, { labels: { service: "travel" } });
    for (const runId of ["trip-1", "trip-2"])
      await store.save({ id: runId, runId, stepIndex: 0, stepName: "a", state: {}, createdAt: 1 });
    await store.close();
    const inspector = await openInspector(target, { write: true });
    await inspector.setLabels({ space: "agentium", run: "trip-2" }, { customer: "acme", plan: "free" });
    await inspector.close();
    const { the } = await show({ of: target });
    await expect.poll(() => the("run-row").count()).toBe(2);
    const labels = (await the("run-label").allTextContents()).toSorted();
    expect(labels).toEqual(["customer=acme", "plan=free", "service=travel"]);
    await the("runs-search").fill("trip label:customer=acme label:service=travel");
    await expect.poll(() => the("run-row").count()).toBe(1);
    expect(await the("run-row").getAttribute("data-run")).toBe("trip-2");
    await the("runs-search").fill("label:customer=other");
    await the("runs-empty").waitFor();
  });

  test("filters by space and status, in the address, with the back button", async () => {
    const { the, page, at } = await show();
    await the("runs-filter-space").selectOption("langgraph");
    await expect.poll(() => the("run-row").count()).toBe(4);
    await the("runs-filter-status").selectOption("waiting");
    await expect.poll(() => the("run-row").count()).toBe(2);
    expect([at().get("space"), at().get("status")]).toEqual(["langgraph", "waiting"]);
    await page.goBack();
    await expect.poll(() => the("run-row").count()).toBe(4);
    expect(await the("runs-filter-status").inputValue()).toBe("");
    await the("runs-filter-status").selectOption("failed");
    await the("runs-empty").waitFor();
    await the("runs-filter-space").selectOption("agentos");
    await expect.poll(() => the("run-row").getAttribute("data-run")).toBe("trip-4801-paris");
    // Each option's value is the name itself.
    const names = await the("runs-filter-space")
      .locator("option")
      .evaluateAll((all) => all.map((each) => (each as HTMLOptionElement).value));
    expect(names).toEqual(["", "agentos", "agentium", "storage", "langgraph"]);
  });

  test("a click opens a run, and the way back leads to the same list", async () => {
    const { the, page, at } = await show();
    await the("runs-filter-space").selectOption("agentos");
    await the("run-row").filter({ hasText: "dublin" }).click();
    await expect.poll(() => the("run-title").textContent()).toContain("trip-4149-dublin");
    expect([at().page, at().get("space"), at().get("run")]).toEqual(["run", "agentos", "trip-4149-dublin"]);
    await page.goBack();
    await expect.poll(() => the("run-row").first().isVisible()).toBe(true);
    expect(await the("runs-filter-space").inputValue()).toBe("agentos");
    const selected = page.locator("[data-testid=run-row][aria-selected=true]");
    await expect.poll(() => selected.getAttribute("data-run")).toBe("trip-4149-dublin");
  });

  test("a run that another process saves moves up, and the selection stays with its run", async () => {
    const { the, page, save } = await show({ of: copied() });
    const runs = () => the("run-row").evaluateAll((rows) => rows.map(({ dataset }) => dataset["run"]));
    await expect.poll(async () => (await runs()).length).toBeGreaterThan(10);
    await page.keyboard.press("j");
    await page.keyboard.press("j");
    const selected = page.locator("[data-testid=run-row][aria-selected=true]");
    const before = await selected.getAttribute("data-run");
    await save("trip-4100-lisbon", 2);
    await expect.poll(async () => (await runs())[0]).toBe("trip-4100-lisbon");
    expect(await selected.getAttribute("data-run")).toBe(before);
    expect((await runs()).filter((run) => run === "trip-4100-lisbon")).toHaveLength(1);
    await save("a-new-run", 0);
    await expect.poll(async () => (await runs())[0]).toBe("a-new-run");
    expect(await selected.getAttribute("data-run")).toBe(before);
    await expect.poll(() => the("run-row").first().getAttribute("data-status")).toBe("unfinished");
  });

  test("a filter holds for what is saved meanwhile", async () => {
    const { the, save } = await show({ of: copied() });
    await the("run-row").first().waitFor();
    await the("runs-search").fill("lisbon");
    await expect.poll(() => the("run-row").count()).toBe(2);
    await save("elsewhere", 0);
    await save("trip-9999-lisbon", 0);
    await expect.poll(() => the("run-row").first().getAttribute("data-run")).toBe("trip-9999-lisbon");
    expect(await the("run-row").count()).toBe(3);
  });

  test("an empty store says so, and its first run appears by itself", async () => {
    const path = join(folder(), "empty.db");
    await (await openStore(path)).close();
    const { the, save } = await show({ of: path });
    await the("runs-empty").waitFor();
    await save("first", 0);
    await expect.poll(() => the("run-row").count()).toBe(1);
    await expect.poll(() => the("runs-empty").count()).toBe(0);
  });

  test("the keys alone lead through it", async () => {
    const { the, page, at } = await show();
    await the("run-row").first().waitFor();
    const selected = () => page.locator("[data-testid=run-row][aria-selected=true]").getAttribute("data-run");
    const all = await the("run-row").evaluateAll((rows) => rows.map(({ dataset }) => dataset["run"]));
    await page.keyboard.press("j");
    expect(await selected()).toBe(all[0]);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("j");
    await page.keyboard.press("k");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("j");
    await expect.poll(selected).toBe(all[1]);
    // In a field, letters are letters.
    await page.keyboard.press("/");
    await page.keyboard.type("jk4711?");
    expect(await the("runs-search").inputValue()).toBe("jk4711?");
    expect(await the("keys").count()).toBe(0);
    await the("runs-search").fill("trip-47");
    await page.keyboard.press("Escape");
    expect(await page.evaluate(() => document.activeElement?.tagName)).not.toBe("INPUT");
    await expect.poll(() => the("run-row").count()).toBe(1);
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await the("run-title").waitFor();
    expect(at().get("run")).toBe("trip-4711-lisbon");
    await page.keyboard.press("Escape");
    await expect.poll(() => at().page).toBe("runs");
    expect(at().get("q")).toBe("trip-47");
    await page.keyboard.press("?");
    await the("keys").waitFor();
    await page.keyboard.press("j");
    await page.keyboard.press("Escape");
    await expect.poll(() => the("keys").count()).toBe(0);
    expect(at().page).toBe("runs");
  });

  test("the last row of a long list can be reached, and few rows are in the document", async () => {
    const path = join(folder(), "long.db");
    const store = new CheckpointStore(path, { durability: "off" });
    await Promise.all(
      Array.from({ length: 1_500 }, (_, n) => store.save(checkpoint(`run-${n}`, 0) as unknown as Checkpoint)),
    );
    await store.close();
    const { the, page } = await show({ of: path });
    await the("run-row").first().waitFor();
    await the("runs-list").focus();
    const rows = () => the("run-row").evaluateAll((all) => all.map(({ dataset }) => dataset["run"]));
    await expect
      .poll(
        async () => {
          await page.keyboard.press("End");
          return (await rows()).at(-1);
        },
        { timeout: 20_000 },
      )
      .toBe("run-0");
    expect((await rows()).length).toBeLessThan(60);
    await expect.poll(() => the("run-row").last().getAttribute("data-status")).toBe("unfinished");
    await page.keyboard.press("Home");
    await expect.poll(async () => (await rows())[0]).toBe("run-1499");
  });

  test("says what is wrong, and tries again", async () => {
    const { the, page, inspector } = await show({ quiet: false });
    await the("run-row").first().waitFor();
    await page.route("**/api/v1/runs?*", (route) =>
      route.fulfill({
        status: 500,
        body: '{"error":{"code":"BUSY","message":"another process holds it","retryable":true}}',
      }),
    );
    await the("runs-search").fill("trip");
    await the("error").waitFor();
    expect(await the("error").textContent()).toContain("BUSY");
    await page.unroute("**/api/v1/runs?*");
    await the("error").getByRole("button").click();
    await expect.poll(() => the("error").count()).toBe(0);
    const { items } = await inspector.runs({ match: "trip" });
    await expect.poll(() => the("run-row").count()).toBe(items.length);
  });

  test("an unknown run says so, and leads back", async () => {
    const { the, go, page } = await show({ quiet: false });
    await the("run-row").first().waitFor();
    await go(runAt("there is none"));
    await the("error").waitFor();
    expect(await the("error").textContent()).toContain("NOT_FOUND");
    await page.getByRole("link", { name: "Back to runs" }).click();
    await the("run-row").first().waitFor();
  });

  test("a run that is removed while one looks at it says so", async () => {
    const path = copied();
    const { the, go, inspector } = await show({ of: path, write: true, quiet: false });
    await go(runAt("trip-4100-lisbon"));
    await the("tree-row").first().waitFor();
    await inspector.remove({ space: "agentos", run: "trip-4100-lisbon" });
    await expect.poll(() => the("error").first().textContent()).toContain("NOT_FOUND");
    await expect.poll(() => the("step-row").count()).toBe(0);
    await go("#/runs");
    await expect.poll(() => the("run-row").count()).toBeGreaterThan(10);
    await expect.poll(() => the("run-row").filter({ hasText: "trip-4100-lisbon" }).count()).toBe(0);
  });

  test("very long ids are cut on the screen, and have their status", async () => {
    const path = join(folder(), "long-ids.db");
    const store = new CheckpointStore(path);
    for (let n = 0; n < 3; n++) {
      const made = checkpoint(`${"a very long id ".repeat(270)}${n}`, 0) as unknown as Checkpoint;
      await store.save({ ...made, id: `c${n}` });
    }
    await store.close();
    const { the, page } = await show({ of: path });
    await expect.poll(() => the("run-row").last().getAttribute("data-status")).toBe("unfinished");
    await the("run-row").first().click();
    await the("tree-row").first().waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  });
});

interface Listed {
  space: string;
  run: string;
  ns: string | null;
  usage: { total: number | null; cost: number | null } | null;
}

/** Lists runs with the command line, with their tokens. */
async function listed(path: string, ...more: string[]): Promise<Listed[]> {
  const stdout = await command("ls", "--db", path, "--usage", "--json", ...more);
  return (JSON.parse(stdout) as { runs: Listed[] }).runs;
}

const digits = new Intl.NumberFormat("en");
const tokensOf = ({ usage }: Listed) => (typeof usage?.total === "number" ? digits.format(usage.total) : "-");

inBrowser("the tokens of the list of runs", () => {
  /** The rows in view: the run, and its tokens as a person reads them. */
  const rowsOf = async ({ the }: Shown) =>
    the("run-row").evaluateAll((rows) =>
      rows.map((row) => [
        row.dataset["run"],
        row.querySelector("[data-testid=run-tokens]")!.textContent!.replace(" tokens", ""),
      ]),
    );

  test("are those of the command line, and - where none are stored", async () => {
    const path = recording.copy();
    const shown = await show({ of: path });
    const runs = await listed(path, "--all");
    const expected = runs.map((run) => [run.run, tokensOf(run)]);
    expect(new Set(expected.map(([, tokens]) => tokens)).size).toBeGreaterThan(5);
    expect(expected.map(([, tokens]) => tokens)).toContain("-");
    const first = (rows: unknown[]) => rows.slice(0, 12);
    await expect.poll(async () => first(await rowsOf(shown))).toEqual(first(expected));
    const asked = shown.requests.filter((url) => url.includes("/api/v1/usage"));
    for (const url of asked) {
      const rows = JSON.parse(new URL(url).searchParams.get("of")!) as unknown[];
      expect(rows.length).toBeLessThanOrEqual(40);
    }
    // What was read is not read again.
    await shown.page.waitForTimeout(300);
    expect(shown.requests.filter((url) => url.includes("/api/v1/usage"))).toHaveLength(asked.length);
  });

  test("sort the runs as the command line does, and the address restores the order", async () => {
    const path = recording.copy();
    const shown = await show({ of: path, viewport: { width: 1440, height: 2_000 } });
    const { the, page, at } = shown;
    const sorted = (await listed(path, "--all", "--sort", "tokens")).map((run) => [run.run, tokensOf(run)]);
    const first = (rows: unknown[]) => rows.slice(0, 30);
    await the("run-row").first().waitFor();
    await page.getByLabel("Sort").selectOption("tokens");
    await expect.poll(() => at().get("sort")).toBe("tokens");
    await expect.poll(async () => first(await rowsOf(shown))).toEqual(first(sorted));
    expect(await the("runs-by-usage").textContent()).toContain("sorted by tokens");
    await page.reload();
    await expect.poll(async () => first(await rowsOf(shown))).toEqual(first(sorted));
    expect(await page.getByLabel("Sort").inputValue()).toBe("tokens");
    // On a phone, the tokens take the place of the time.
    await page.setViewportSize({ width: 390, height: 844 });
    await expect.poll(() => the("run-tokens").first().isVisible()).toBe(true);
    expect(await the("run-row").first().locator("time").isVisible()).toBe(false);
    await page.getByLabel("Sort").selectOption("");
    await expect.poll(() => the("run-tokens").first().isVisible()).toBe(false);
  });

  test("are read again when a run saves, and the run moves", async () => {
    const path = recording.copy();
    const shown = await show({ of: path });
    await shown.the("run-row").first().waitFor();
    await shown.go("#/runs?sort=tokens");
    await expect.poll(() => shown.the("runs-by-usage").textContent()).toContain("sorted by tokens");
    await shown.save("spender", 0, "", 7);
    await expect.poll(async () => await rowsOf(shown)).toContainEqual(["spender", "7"]);
    await shown.save("spender", 1, "", 123_456_789);
    await expect.poll(async () => (await rowsOf(shown))[0]).toEqual(["spender", "123,456,789"]);
  });

  test("only the last active runs are sorted, until a person asks for more", async () => {
    const path = join(folder(), "many.db");
    const store = new CheckpointStore(path, { durability: "off" });
    for (let n = 0; n < 150; n++) {
      const made = checkpoint(`run-${n}`, 0) as unknown as Checkpoint;
      await store.save({
        ...made,
        state: { ...made.state, diagnostics: { ...made.state.diagnostics, totalTokensUsed: 1_000 - n } },
      });
    }
    await store.close();
    const shown = await show({ of: path });
    await shown.the("run-row").first().waitFor();
    await shown.go("#/runs?sort=tokens");
    const note = () => shown.the("runs-by-usage").textContent();
    // The first page has the runs 90 to 149.
    await expect.poll(note).toContain("Only the 60 last active runs are sorted by tokens");
    await expect.poll(async () => (await rowsOf(shown))[0]).toEqual(["run-90", "910"]);
    await shown.the("runs-sort-more").click();
    await expect.poll(note).toContain("150 runs, sorted by tokens");
    await expect.poll(async () => (await rowsOf(shown))[0]).toEqual(["run-0", "1,000"]);
  });

  test("have costs if there are prices, and the runs can be sorted by them", async () => {
    const path = recording.copy();
    const prices = { "example-large-2026-01": { input: 3, output: 15 } };
    const file = join(folder(), "prices.json");
    writeFileSync(file, JSON.stringify(prices));
    const sorted = await listed(path, "--all", "--prices", file, "--sort", "cost");
    const inspector = await openInspector(path, { prices });
    onTestFinished(() => inspector.close());
    const { the, page } = await show({ of: inspector });
    await the("run-row-cost").first().waitFor();
    await page.getByLabel("Sort").selectOption("cost");
    const first = the("run-row").first();
    await expect.poll(() => first.getAttribute("data-run")).toBe(sorted[0]!.run);
    const { cost } = sorted[0]!.usage!;
    expect(Number(await first.getByTestId("run-row-cost").textContent())).toBeCloseTo(cost!, 2);
  });
});
