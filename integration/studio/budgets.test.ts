// Measures the budgets of the page and prints them. What depends on the machine's speed is printed only.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { type Checkpoint, CheckpointStore } from "forkpoint";
import { ForkpointSaver } from "forkpoint/langgraph";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { checkpoint } from "./contents.mjs";
import { large } from "./recorded/graphs.mjs";
import { names } from "./recorded.mjs";
import { longTasks, measureTasks, watchTasks } from "./tasks.js";
import { folder, inBrowser, runAt, show, useBrowser } from "./browser.js";

useBrowser();

const say = (what: string, measured: string, budget: string) => console.log(`${what}: ${measured} (budget: ${budget})`);

/** Saves checkpoints quickly: the database lives as long as the test. */
async function saved(path: string, all: Iterable<Checkpoint>): Promise<void> {
  const store = new CheckpointStore(path, { durability: "off" });
  let batch: Array<Promise<void>> = [];
  for (const each of all) {
    batch.push(store.save(each));
    if (batch.length < 1_000) continue;
    await Promise.all(batch);
    batch = [];
  }
  await Promise.all(batch);
  await store.close();
}

/** The time in which the studio gets ready for the first large state. A person takes longer to choose a run. In ms. */
const READY = 3_000;

const elements = (page: Page) => page.evaluate(() => document.querySelectorAll("*").length);

test("the page starts with at most 161 KB of JavaScript, and its files have 100 KB together when compressed", () => {
  const require = createRequire(import.meta.url);
  const { files } = require(join(require.resolve("forkpoint/package.json"), "../dist/studio/files.js")) as {
    files: Record<string, { type: string; body: string }>;
  };
  // The two others are what an exported file consists of.
  const served = Object.entries(files).filter(([path]) => path.startsWith("/"));
  expect(Object.keys(files).length - served.length).toBe(2);
  const sizes = served.map(([path, { body }]) => [path, gzipSync(body).length] as const);
  const total = sizes.reduce((sum, [, size]) => sum + size, 0);
  for (const [path, size] of sizes) console.log(`${path}: ${size} bytes`);
  say("files of the page", `${(total / 1_000).toFixed(1)} KB`, "100 KB, aim 45 KB");
  expect(total).toBeLessThan(100_000);
  // The waterfall, the graph and the dialog that stops a run are loaded when they are shown first.
  const scripts = served
    .filter(([path, { type }]) => type.includes("javascript") && !/\/(drawing|stop-dialog)-/.test(path))
    .map(([, file]) => file);
  expect(scripts.length).toBe(served.filter(([path]) => path.endsWith(".js")).length - 2);
  const weight = scripts.reduce((sum, { body }) => sum + Buffer.byteLength(body), 0);
  const packed = scripts.reduce((sum, { body }) => sum + gzipSync(body).length, 0);
  say(
    "JavaScript",
    `${(weight / 1_000).toFixed(1)} KB, ${(packed / 1_000).toFixed(1)} KB compressed`,
    "161 KB before compression",
  );
  expect(scripts.length).toBeGreaterThan(0);
  expect(weight).toBeLessThanOrEqual(161_000);
  const licences = readFileSync(join(require.resolve("forkpoint/package.json"), "../dist/studio/LICENSES.txt"), "utf8");
  for (const name of ["preact", "@preact/signals", "@preact/signals-core"]) expect(licences).toContain(`${name} `);
});

inBrowser("budgets", () => {
  test("100,000 runs: the first rows", { timeout: 180_000 }, async () => {
    const path = join(folder(), "runs.db");
    function* runs(): Generator<Checkpoint> {
      const state = { input: {}, scratch: {}, artifacts: {}, diagnostics: {} } as Checkpoint["state"];
      for (let n = 0; n < 100_000; n++) {
        yield { ...(checkpoint(`run-${n}`, 0) as unknown as Checkpoint), state, timestamp: n };
      }
    }
    await saved(path, runs());
    const { the, page, go } = await show({ of: path });
    await the("run-row").first().waitFor();
    // Anew, with a server that has answered before.
    await page.addInitScript(() => {
      const look = () => {
        if (document.querySelector("[data-testid=run-row]") === null) requestAnimationFrame(look);
        else performance.mark("rows");
      };
      look();
    });
    await page.goto("about:blank");
    await page.goBack();
    await the("run-row").first().waitFor();
    const [took, asked] = await page.evaluate(() => {
      const answers = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
      const { duration } = answers.find(({ name }) => name.includes("/api/v1/runs"))!;
      return [performance.getEntriesByName("rows")[0]!.startTime, duration];
    });
    const measured = `${Math.round(took!)} ms after the page was asked for, ${Math.round(asked!)} ms of them for the answer`;
    say("first rows of 100,000 runs", measured, "300 ms");
    expect(await elements(page)).toBeLessThan(3_000);
    await watchTasks(page);
    for (let n = 0; n < 30; n++) await page.keyboard.press("PageDown");
    await the("runs-list").evaluate((list) => list.scrollTo(0, list.scrollHeight));
    await page.waitForTimeout(500);
    say("longest tasks while scrolling the runs", `${await longTasks(page)} ms`, "100 ms");
    expect(await elements(page)).toBeLessThan(3_000);
    for (const filter of ["status=unfinished", "status=waiting", "since=1h", "q=run-777", "q=version:none"]) {
      const took = await page.evaluate(async (hash) => {
        const before = performance.now();
        location.hash = hash;
        performance.clearResourceTimings();
        // The answer to this filter has come, and is shown.
        const isDone = () =>
          performance.getEntriesByType("resource").some(({ name }) => /api.v1.runs.*maxMs/.test(name)) &&
          document.querySelector("[aria-busy=true]") === null &&
          document.querySelector("[data-testid=run-row], [data-testid=runs-empty]") !== null;
        do await new Promise(requestAnimationFrame);
        while (!isDone());
        return performance.now() - before;
      }, `#/runs?${filter}`);
      say(`first rows of 100,000 runs with ${filter}`, `${Math.round(took)} ms`, "300 ms");
    }
    await go("#/storage");
    await the("storage-run").first().waitFor();
    expect(await page.locator(".card").nth(1).textContent()).not.toBe("");
    await expect.poll(() => page.locator(".card").nth(1).textContent()).toContain("100,000 checkpoints");
  });

  test("a search in 10,000 runs of 20 KB: the first hit", { timeout: 180_000 }, async () => {
    const path = join(folder(), "search.db");
    const words = "the order of the customer is late and waits for a refund by the agent who has the tool".split(" ");
    const text = (n: number) =>
      Array.from({ length: 4_300 }, (_, at) => words[(n * 7 + at * at) % words.length]).join(" ");
    const needles: Record<number, string> = { 0: "needle-oldest", 5_000: "needle-middle", 9_999: "needle-newest" };
    function* runs(): Generator<Checkpoint> {
      for (let n = 0; n < 10_000; n++) {
        const scratch = { text: text(n), needle: needles[n] ?? "" };
        const state = { input: {}, scratch, artifacts: {}, diagnostics: {} } as Checkpoint["state"];
        yield { ...(checkpoint(`run-${n}`, 0) as unknown as Checkpoint), state, timestamp: n };
      }
    }
    expect(text(0).length).toBeGreaterThan(18_000);
    await saved(path, runs());
    const { the, page } = await show({ of: path });
    await the("run-row").first().waitFor();
    for (const needle of Object.values(needles).toReversed()) {
      const took = await page.evaluate(async (text) => {
        const before = performance.now();
        location.hash = `#/search?q=${text}`;
        const isFound = () => document.querySelector("[data-testid=grep-row]")?.textContent?.includes(text) === true;
        while (!isFound()) await new Promise(requestAnimationFrame);
        return performance.now() - before;
      }, needle);
      say(`first hit of ${needle} in 10,000 runs of 20 KB`, `${Math.round(took)} ms`, "500 ms");
    }
  });

  test("a state of 2 MB: the first paint, the elements, the tasks", { timeout: 120_000 }, async () => {
    const path = join(folder(), "state.db");
    const documents = Array.from({ length: 4_000 }, (_, n) => ({
      id: n,
      title: `document ${n}`,
      body: "The quick brown fox jumps over the lazy dog. ".repeat(10),
      tags: ["a", "b", "c"],
      score: n / 7,
    }));
    const state = (extra: object) => ({ input: {}, scratch: { documents, ...extra }, artifacts: {}, diagnostics: {} });
    const steps = [{}, { more: 1 }].map((extra, step) =>
      Object.assign(checkpoint("big", step) as unknown as Checkpoint, { state: state(extra) }),
    );
    expect(JSON.stringify(steps[0]!.state).length).toBeGreaterThan(2_000_000);
    await saved(path, steps);
    const { the, page, go } = await show({ of: path });
    await the("run-row").first().waitFor();
    await page.waitForTimeout(READY);
    await watchTasks(page);
    const measured = await measureTasks(page);
    const took = await page.evaluate(async (hash) => {
      const before = performance.now();
      location.hash = hash;
      while (document.querySelector("[data-testid=tree-row]") === null) await new Promise(requestAnimationFrame);
      return performance.now() - before;
    }, runAt("big"));
    say("first paint of a state of 2 MB", `${Math.round(took)} ms`, "200 ms");
    await page.locator('[data-path="scratch.documents"]').click();
    await page.locator('[data-path="scratch.documents[5]"]').waitFor();
    for (let n = 0; n < 6; n++) {
      await the("state-tree").evaluate((tree) => tree.scrollTo(0, tree.scrollHeight));
      await the("tree-more").click();
      await page.locator(`[data-path="scratch.documents[${200 * (n + 1)}]"]`).waitFor();
    }
    const open = await elements(page);
    say("elements with a state of 2 MB", String(open), "3,000");
    expect(open).toBeLessThanOrEqual(3_000);
    await page.keyboard.press("d");
    await the("diff-row").first().waitFor();
    say("longest tasks with a state of 2 MB", `${await longTasks(page)} ms; ${await measured()}`, "100 ms");
    expect(await elements(page)).toBeLessThanOrEqual(3_000);
    // All of it is found by a search, also what is not loaded.
    await page.keyboard.press("d");
    await the("state-search").fill("document 3999");
    await page.locator('[data-path="scratch.documents[3999].title"]').waitFor();
    await go("#/runs");
  });

  test(
    "a chat with a state of 2 MB: the first paint by its address, and of another step",
    { timeout: 120_000 },
    async () => {
      const path = join(folder(), "chat.db");
      const saver = new ForkpointSaver(path, { durability: "off" });
      await large(saver, names.large);
      await saver.close();
      const { the, page, base } = await show({ of: path });
      await the("run-row").first().waitFor();
      await page.waitForTimeout(READY);
      const run = runAt(names.large, "langgraph");
      await page.goto("about:blank");
      const measured = await measureTasks(page);
      await page.addInitScript(() => {
        const look = () => {
          if (document.querySelector("[data-testid=tree-row]") === null) requestAnimationFrame(look);
          else performance.mark("state");
        };
        look();
      });
      await page.goto(base + run);
      await the("tree-row").first().waitFor();
      const [whole, answer] = await page.evaluate(async () => {
        while (performance.getEntriesByName("state").length === 0) await new Promise(requestAnimationFrame);
        const all = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
        const { duration } = all.find(({ name }) => name.includes("/api/v1/checkpoint"))!;
        return [performance.getEntriesByName("state")[0]!.startTime, duration];
      });
      const took = `${Math.round(whole!)} ms after the page was asked for, ${Math.round(answer!)} ms of them for the answer`;
      say("first paint of a chat of 2 MB, by its address", took, "200 ms");
      await the("step-row").nth(1).waitFor();
      const head = page.locator(".pane-head h2");
      const before = (await head.textContent())!;
      const moved = await page.evaluate(async (text) => {
        const from = performance.now();
        document.querySelectorAll<HTMLElement>("[data-testid=step-row]")[1]!.click();
        while (document.querySelector(".pane-head h2")?.textContent === text) await new Promise(requestAnimationFrame);
        return performance.now() - from;
      }, before);
      expect(await head.textContent()).not.toBe(before);
      say("first paint of its step before", `${Math.round(moved)} ms`, "200 ms");
      say("tasks with a chat of 2 MB", await measured(), "100 ms");
      expect(await elements(page)).toBeLessThanOrEqual(3_000);
    },
  );

  test("10,000 checkpoints: elements and frames while one scrolls", { timeout: 180_000 }, async () => {
    const path = join(folder(), "long.db");
    function* steps(): Generator<Checkpoint> {
      const state = { input: {}, scratch: {}, artifacts: {}, diagnostics: {} } as Checkpoint["state"];
      for (let n = 0; n < 10_000; n++) {
        yield { ...(checkpoint("long", 0) as unknown as Checkpoint), id: `long-${n}`, state, timestamp: n };
      }
    }
    await saved(path, steps());
    const { the, page, go, at } = await show({ of: path });
    await the("run-row").first().waitFor();
    await watchTasks(page);
    await go(runAt("long"));
    await the("step-row").first().waitFor();
    // All of them come in the background.
    await expect
      .poll(() => the("timeline").evaluate((list) => list.scrollHeight), { timeout: 30_000 })
      .toBeGreaterThan(359_000);
    say("longest tasks while 10,000 checkpoints are loaded", `${await longTasks(page)} ms`, "100 ms");
    const frames = await the("timeline").evaluate(async (list) => {
      const times: number[] = [];
      let last = performance.now();
      for (let n = 0; n < 120; n++) {
        list.scrollTop += 400;
        await new Promise(requestAnimationFrame);
        times.push(performance.now() - last);
        last = performance.now();
      }
      return times.toSorted((a, b) => a - b);
    });
    const [median, worst] = [frames[60]!, frames.at(-1)!];
    say(
      "frames while 10,000 checkpoints scroll",
      `median ${median.toFixed(1)} ms, worst ${worst.toFixed(1)} ms`,
      "16.7 ms",
    );
    expect(await elements(page)).toBeLessThan(3_000);
    await page.keyboard.press("End");
    await expect.poll(() => at().get("at")).toBe("long-0");
    await page.locator("[data-id=long-0]").waitFor();
    // An address of an old checkpoint opens there.
    await go(`${runAt("long")}&at=long-7000`);
    await page.locator("[data-id=long-7000][aria-selected=true]").waitFor();
  });
});
