// Tests the effects of a run in a browser: their rows in the timeline, live, and the result that is loaded when it is asked for.
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type Checkpoint, CheckpointStore, openStore } from "forkpoint";
import { effects } from "forkpoint/effects";
import { expect, test } from "vitest";
import { checkpoint, hostile } from "./contents.mjs";
import { folder, inBrowser, runAt, show, useBrowser } from "./browser.js";

useBrowser();

const run = { space: "agentos", run: "trip-9" };

const step = (n: number) => checkpoint("trip-9", n) as Checkpoint;

/** Begins an effect, and is killed in it. */
async function dieInEffect(path: string, key: string): Promise<void> {
  const program = join(folder(), "die.cjs");
  const from = JSON.stringify(fileURLToPath(new URL("node_modules/forkpoint/package.json", import.meta.url)));
  writeFileSync(
    program,
    `const require2 = require("node:module").createRequire(${from});
const { openStore } = require2("forkpoint");
const { effects } = require2("forkpoint/effects");
openStore(process.argv[2]).then((store) =>
  effects(store)(${JSON.stringify(run)}, process.argv[3], () => process.kill(process.pid, "SIGKILL")));`,
  );
  await expect(promisify(execFile)(process.execPath, [program, path, key])).rejects.toThrow("Command failed");
}

inBrowser("effects", () => {
  test("stand between the checkpoints, and a result is loaded when it is asked for", async () => {
    const path = join(folder(), "agent.db");
    await using store = await openStore(path);
    const [graphs, once] = [new CheckpointStore(store), effects(store)];
    await graphs.save(step(0));
    await once(run, "book TP753", () => ({ ticket: hostile, paid: 341 }));
    await once(run, "mail", () => Promise.reject(new Error("no route"))).catch(() => {});
    await graphs.save(step(1));
    await dieInEffect(path, "charge 341");
    const { the, go, page, requests } = await show({ of: path });
    await go(runAt("trip-9"));
    await the("effect-row").nth(2).waitFor();
    const rows = await page
      .locator("[data-testid=timeline] .step-row")
      .evaluateAll((all) =>
        all.map(({ dataset: { key, state, step } }) => (key ? `${key}: ${state}` : `step ${step}`)),
      );
    expect(rows).toEqual(["charge 341: unknown", "step 1", "mail: failed", "book TP753: done", "step 0"]);
    expect(await the("effect-row").first().textContent()).toContain("may have happened");
    expect(requests.filter((url) => url.includes("/effect?"))).toEqual([]);

    await the("effect-row").nth(2).click();
    await the("effect-result").waitFor();
    expect(requests.filter((url) => url.includes("/effect?"))).toHaveLength(1);
    expect(await the("effect-result").textContent()).toContain("341");
    expect(await page.evaluate(() => (window as { harm?: number }).harm)).toBeUndefined();
    await page.keyboard.press("Escape");
    await expect.poll(() => the("effect").count()).toBe(0);
    await the("effect-row").first().click();
    expect(await the("effect").textContent()).toContain("idempotency key");
    expect(await the("effect-result").count()).toBe(0);
  });

  test("are live: one that runs ends, without a reload", async () => {
    const path = join(folder(), "agent.db");
    await using store = await openStore(path);
    await new CheckpointStore(store).save(step(0));
    const { the, go } = await show({ of: path });
    await go(runAt("trip-9"));
    await the("step-row").first().waitFor();
    let end = () => {};
    const running = effects(store)(run, "book", () => new Promise<number>((resolve) => (end = () => resolve(1))));
    const stateOf = () => the("effect-row").evaluateAll((all) => all.map(({ dataset }) => dataset["state"]));
    await expect.poll(stateOf).toEqual(["running"]);
    end();
    await running;
    await expect.poll(stateOf).toEqual(["done"]);
    expect(await the("step-row").count()).toBe(1);
  });
});
