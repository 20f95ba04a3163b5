// Tests in a browser how single values are edited and forked: the editor of a value, the list of edits, and that the state
// is the one that `forkpoint fork --set` makes.
import { join } from "node:path";
import { type Checkpoint, CheckpointStore } from "forkpoint";
import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { checkpoint, hostile } from "./contents.mjs";
import { type Shown, command, copied, folder, inBrowser, runAt, show, useBrowser } from "./browser.js";

useBrowser();

/** Runs `forkpoint fork`, and returns the state of the fork. */
async function forkedByCommand(shown: Shown, path: string, run: string, as: string, sets: string[]): Promise<unknown> {
  const args = ["fork", run, ...sets.flatMap((set) => ["--set", set]), "--as", as, "--db", path, "--json"];
  const { space, id } = JSON.parse(await command(...args)) as { space: string; id: string };
  return (await shown.inspector.checkpoint({ space, run: as, id }))!.state;
}

async function showState(hash: string, of = copied(), options = {}): Promise<Shown & { path: string }> {
  // All rows of the state are on the screen.
  const shown = await show({ of, write: true, viewport: { width: 1280, height: 2_400 }, ...options });
  await shown.go(hash);
  await shown.the("tree-row").first().waitFor();
  return { ...shown, path: of };
}

const row = ({ page }: Shown, path: string) => page.locator(`[data-testid=tree-row][data-path='${path}']`);

/** Opens the editor of a value with the button. */
async function edit(shown: Shown, path: string): Promise<void> {
  await row(shown, path).click();
  await shown.the("edit-value").click();
  await shown.the("edit").waitFor();
}

/** Sets a value in the editor that is open. */
async function set(shown: Shown, text: string, asText: boolean): Promise<void> {
  await shown.the("edit-text").setChecked(asText);
  await shown.the("edit-editor").fill(text);
  await shown.the("edit-apply").click();
  await expect.poll(() => shown.the("edit").count()).toBe(0);
}

/** Forks, and returns the state of the fork. */
async function fork(shown: Shown): Promise<unknown> {
  const { the, at, inspector } = shown;
  const before = at().get("run");
  await the("edits-fork").click();
  await the("fork-preview").locator("[data-testid=diff-row]").first().waitFor();
  await the("fork-submit").click();
  await the("fork-done").waitFor();
  const ref = { space: at().get("space")!, run: at().get("run")!, ns: at().get("ns"), id: at().get("at")! };
  expect(ref.space === "langgraph").toBe(ref.run === before);
  return (await inspector.checkpoint(ref))!.state;
}

inBrowser("an edit of a value", () => {
  test("waits in a list, can be taken back, and makes the state of fork --set", async () => {
    const shown = await showState(runAt("trip-4711-lisbon"));
    const { the, page, path, inspector } = shown;
    await edit(shown, "input.budget");
    await expect.poll(() => the("edit-editor").inputValue()).toBe("400");
    await set(shown, "900", false);
    await edit(shown, "input.question");
    // A text is written without quotes.
    await expect.poll(() => the("edit-editor").inputValue()).toContain("Find a refundable flight");
    await set(shown, 'Find a "train"\ninstead', true);
    await edit(shown, "input.currency");
    await set(shown, '"NOK"', false);
    expect(await the("edit-row").evaluateAll((rows) => rows.map(({ dataset }) => dataset["path"]))).toEqual([
      "input.budget",
      "input.question",
      "input.currency",
    ]);
    await expect.poll(() => row(shown, "input.budget").textContent()).toContain("edited900");
    await the("edit-row").nth(2).getByTestId("edit-undo").click();
    await expect.poll(() => the("edit-row").count()).toBe(2);
    await expect.poll(() => row(shown, "input.currency").textContent()).not.toContain("edited");
    // Another step has no edits, and the edits stay.
    await page.keyboard.press("[");
    await expect.poll(() => the("edits").count()).toBe(0);
    await page.keyboard.press("]");
    await expect.poll(() => the("edit-row").count()).toBe(2);
    expect(await inspector.forks({ space: "agentos", run: "trip-4711-lisbon" })).toHaveLength(2);
    const sets = ["input.budget=900", 'input.question="Find a \\"train\\"\\ninstead"'];
    const expected = await forkedByCommand(shown, path, "trip-4711-lisbon", "by-command", sets);
    expect(await fork(shown)).toEqual(expected);
    await expect.poll(() => the("edits").count()).toBe(0);
  });

  test("works with keys alone", async () => {
    const shown = await showState(runAt("trip-4711-lisbon"));
    const { the, page, inspector, at } = shown;
    await the("state-tree").focus();
    for (const key of ["Home", "ArrowDown", "ArrowDown", "e"]) await page.keyboard.press(key);
    await expect.poll(() => the("edit-editor").inputValue()).toBe("400");
    await page.keyboard.press("Escape");
    await expect.poll(() => the("edit").count()).toBe(0);
    expect(at().page).toBe("run");
    await page.keyboard.press("e");
    await expect.poll(() => the("edit-editor").inputValue()).toBe("400");
    await page.keyboard.type("7");
    await page.keyboard.press("Control+Enter");
    await the("edit-row").waitFor();
    await page.keyboard.press("f");
    await the("fork-preview").locator("[data-testid=diff-row]").waitFor();
    expect(await the("fork-editor").count()).toBe(0);
    await the("fork-submit").focus();
    await page.keyboard.press("Enter");
    await the("fork-done").waitFor();
    const detail = await inspector.checkpoint({ space: "agentos", run: at().get("run")! });
    expect((detail!.state as { input: { budget: number } }).input.budget).toBe(7);
  });

  test("of a thread sets a message and a channel", async () => {
    const shown = await showState(runAt("customer-2214", "langgraph"));
    const { the, path, inspector } = shown;
    await edit(shown, "messages[0].content");
    await set(shown, "My desk arrived broken. 漢字 👩‍👩‍👧‍👦", true);
    await edit(shown, "ticket");
    await set(shown, '{"number":7}', false);
    await the("edits-fork").click();
    await expect.poll(() => the("fork-preview").locator("[data-testid=diff-row]").count()).toBe(2);
    await the("fork-dialog").getByRole("button", { name: "Cancel" }).click();
    const sets = ['messages[0].content="My desk arrived broken. 漢字 👩‍👩‍👧‍👦"', 'ticket={"number":7}'];
    const expected = await forkedByCommand(shown, path, "customer-2214", "by-command", sets);
    expect(await fork(shown)).toEqual(expected);
    const { forkedFrom } = (await inspector.run({ space: "langgraph", run: "by-command" }))!;
    expect(forkedFrom === null || forkedFrom.run === "customer-2214").toBe(true);
  });

  test("takes values that JSON lacks, and says where a text is no JSON", async () => {
    const shown = await showState(runAt(hostile));
    const { the, path } = shown;
    await edit(shown, "scratch.date");
    await expect.poll(() => the("edit-editor").inputValue()).toContain('"$type": "Date"');
    for (const [wrong, place] of [
      ['{"$type": "Date", }', "line 1, column 19"],
      ["", "line 1, column 1"],
    ] as const) {
      await the("edit-editor").fill(wrong);
      await expect.poll(() => the("edit-error").textContent()).toContain(place);
      expect(await the("edit-apply").isDisabled()).toBe(true);
    }
    await set(shown, '{"$type":"Date","value":"2030-01-01T00:00:00.000Z"}', false);
    await edit(shown, "scratch.big");
    await set(shown, '{"$type":"BigInt","value":"99999999999999999999"}', false);
    if ((await row(shown, "scratch.map.a").count()) === 0) await row(shown, "scratch.map").click();
    await edit(shown, "scratch.map.a");
    await set(shown, '{"$type":"Set","value":[1,{"$type":"Undefined"}]}', false);
    const sets = [
      'scratch.date={"$type":"Date","value":"2030-01-01T00:00:00.000Z"}',
      'scratch.big={"$type":"BigInt","value":"99999999999999999999"}',
      'scratch.map.a={"$type":"Set","value":[1,{"$type":"Undefined"}]}',
    ];
    const expected = await forkedByCommand(shown, path, hostile, "by-command", sets);
    expect(await fork(shown)).toEqual(expected);
  });

  test("keeps hostile text a text", async () => {
    const shown = await showState(runAt(hostile));
    const { the, page } = shown;
    await page.locator("[data-path^='scratch[']").click();
    await the("edit-value").click();
    await expect.poll(() => the("edit-editor").inputValue()).toBe(hostile);
    await set(shown, `${hostile}!`, true);
    await expect.poll(() => the("edit-row").textContent()).toContain("<script>");
    // Characters that can't be seen are escaped, and stay what they are.
    await edit(shown, "scratch.control");
    expect(await the("edit-text").isChecked()).toBe(false);
    expect(await the("edit-editor").inputValue()).toBe('"\\u0000\\u001b[31mred\\u001b[0m \\u202edrow\\u202c"');
    await the("edit-apply").click();
    expect(await the("edit-row").count()).toBe(1);
    expect(await page.evaluate(() => (window as unknown as { harm?: number }).harm)).toBeUndefined();
  });

  test("that is refused is shown before it is asked for, and can be mended", async () => {
    const shown = await showState(runAt("trip-4711-lisbon"), copied(), { quiet: false });
    const { the } = shown;
    await edit(shown, "input.budget");
    await set(shown, '{"$type":"Nonsense"}', false);
    await the("edits-fork").click();
    await expect.poll(() => the("fork-preview").textContent()).toContain("UNSUPPORTED");
    await the("fork-dialog").getByTestId("edit-undo").click();
    // Without edits, the dialog is the one for the whole text.
    await the("fork-editor").waitFor();
    await expect.poll(() => the("fork-preview").textContent()).toContain("No changes");
  });

  test("of a value that is not readable here says why it can't be", async () => {
    const path = join(folder(), "opaque.db");
    const huge = 10n ** 170_000n;
    const store = new CheckpointStore(path);
    const state = { input: {}, scratch: { huge, list: [1, { huge }] }, artifacts: {}, diagnostics: {} };
    await store.save(Object.assign(checkpoint("opaque", 0) as unknown as Checkpoint, { state }));
    await store.close();
    const shown = await showState(runAt("opaque"), path);
    const { the, page } = shown;
    await edit(shown, "scratch.huge");
    await expect.poll(() => the("edit-refused").textContent()).toContain("This value is opaque (BigInt)");
    expect(await the("edit-editor").count()).toBe(0);
    await page.getByRole("button", { name: "Close the editor" }).click();
    await edit(shown, "scratch.list");
    await expect.poll(() => the("edit-refused").textContent()).toContain("A value inside it is opaque (BigInt)");
  });

  test("inside an edited value, or around it, says why it can't be", async () => {
    const shown = await showState(runAt("trip-4711-lisbon"));
    const { the, page } = shown;
    await edit(shown, "input.budget");
    await set(shown, "1", false);
    await row(shown, "input").click();
    await row(shown, "input").click();
    await page.keyboard.press("e");
    await expect.poll(() => the("edit-refused").textContent()).toContain("has an edit");
  });

  test("on a phone, by touch", async () => {
    const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };
    const shown = await show({ of: copied(), write: true, ...phone });
    const { the, go, page } = shown;
    await go(`${runAt("trip-4711-lisbon")}&at=trip-4711-lisbon-6`);
    await row(shown, "input.budget").tap();
    await the("edit-value").tap();
    await set(shown, "55", false);
    await the("edits-fork").tap();
    await the("fork-preview").locator("[data-testid=diff-row]").waitFor();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(390);
    await the("fork-submit").tap();
    await the("fork-done").waitFor();
  });
});

inBrowser("the whole text", () => {
  test("that is no JSON shows no changes, and says why", async () => {
    const shown = await showState(runAt("trip-4711-lisbon"));
    const { the, page } = shown;
    await page.keyboard.press("f");
    const text = await the("fork-editor").inputValue();
    await the("fork-editor").fill(text.replace('"budget": 400', '"budget": 900'));
    await the("fork-preview").locator("[data-testid=diff-row]").waitFor();
    await the("fork-editor").fill(text.replace('"budget": 400', '"budget": 900,,'));
    await the("fork-stale").waitFor();
    expect(await the("fork-preview").locator("[data-testid=diff-row]").count()).toBe(0);
    await the("fork-editor").fill(text.replace('"budget": 400', '"budget": 901'));
    await expect.poll(() => the("fork-preview").locator("[data-testid=diff-row]").textContent()).toContain("901");
    expect(await the("fork-stale").count()).toBe(0);
  });
});

/** Saves a run with one step, whose state has about 2 MB. */
async function large(): Promise<string> {
  const path = join(folder(), "large.db");
  const documents = Array.from({ length: 4_000 }, (_, n) => ({
    id: n,
    title: `document ${n}`,
    body: "The quick brown fox jumps over the lazy dog. ".repeat(10),
    tags: ["a", "b", "c"],
  }));
  const scratch = { documents, text: "long ".repeat(60_000), medium: "word ".repeat(35_000), n: 1 };
  const state = { input: {}, scratch, artifacts: {}, diagnostics: {} };
  const store = new CheckpointStore(path, { durability: "off" });
  await store.save(Object.assign(checkpoint("big", 0) as unknown as Checkpoint, { state }));
  const small = { ...state, scratch: { documents: documents.slice(0, 300) } };
  await store.save(Object.assign(checkpoint("small", 0) as unknown as Checkpoint, { state: small }));
  await store.close();
  return path;
}

/** Returns how long it takes until an element is painted after a key, in ms. */
const after = (page: Page, key: string, testId: string) =>
  page.evaluate(
    async ([key, testId]) => {
      const before = performance.now();
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key: key!, bubbles: true, cancelable: true }));
      while (document.querySelector(`[data-testid=${testId}]`) === null) await new Promise(requestAnimationFrame);
      await new Promise(requestAnimationFrame);
      return performance.now() - before;
    },
    [key, testId],
  );

/** Returns how long each of some keys in the focused field takes until it is painted, in ms. */
async function keysIn(page: Page, count: number): Promise<number[]> {
  await page.evaluate(() => {
    const own = window as unknown as { times?: number[] };
    if (own.times === undefined) {
      const listen = () => {
        const start = performance.now();
        // The task after the frame.
        requestAnimationFrame(() => setTimeout(() => own.times!.push(performance.now() - start)));
      };
      document.addEventListener("keydown", listen, { capture: true });
    }
    own.times = [];
  });
  const times = () => page.evaluate(() => (window as unknown as { times: number[] }).times);
  for (let n = 1; n <= count; n++) {
    await page.keyboard.press("1");
    await expect.poll(async () => (await times()).length).toBeGreaterThanOrEqual(n);
  }
  return (await times()).toSorted((a, b) => a - b);
}

const say = (what: string, times: number | readonly number[], budget: string) => {
  const text = typeof times === "number" ? `${Math.round(times)} ms` : `${times.map((each) => Math.round(each))} ms`;
  console.log(`${what}: ${text} (budget: ${budget})`);
};

inBrowser("a state of 2 MB", { timeout: 180_000 }, () => {
  test("is edited value by value: how long opening and keys take", async () => {
    const shown = await showState(runAt("big"), await large());
    const { the, page, inspector } = shown;
    await expect.poll(() => the("fork").isEnabled()).toBe(true);
    say("opening the fork of 2 MB", await after(page, "f", "fork-large"), "200 ms");
    expect(await the("fork-editor").count()).toBe(0);
    expect(await the("fork-large").textContent()).toContain("too large");
    await page.keyboard.press("Escape");
    await expect.poll(() => the("fork-dialog").count()).toBe(0);
    await row(shown, "scratch.n").click();
    say("opening a number in 2 MB", await after(page, "e", "edit-editor"), "200 ms");
    await page.keyboard.press("1");
    say("keys in a number in 2 MB", await keysIn(page, 8), "50 ms");
    await page.keyboard.press("Escape");
    await row(shown, "scratch.medium").click();
    say("opening a text of 175 KB in 2 MB", await after(page, "e", "edit-editor"), "200 ms");
    await page.keyboard.press("End");
    say("keys in a text of 175 KB", await keysIn(page, 8), "50 ms");
    await page.keyboard.press("Escape");
    await edit(shown, "scratch.n");
    await set(shown, "2", false);
    // What is too large says why.
    for (const [path, remedy] of [
      ["scratch.text", "--patch"],
      ["scratch.documents", "Select a value inside it"],
    ] as const) {
      await edit(shown, path);
      await expect.poll(() => the("edit-refused").textContent()).toContain(remedy);
      await page.getByRole("button", { name: "Close the editor" }).click();
    }
    await fork(shown);
    // Up to 200 KB, the whole text can be edited.
    await shown.go(runAt("small"));
    await expect.poll(() => the("run-title").textContent()).toBe("small");
    await the("tree-row").first().waitFor();
    say("opening the whole text of 170 KB", await after(page, "f", "fork-editor"), "200 ms");
    const { length } = await the("fork-editor").inputValue();
    expect(length > 150_000 && length < 200_000, String(length)).toBe(true);
    say("keys in the whole text", await keysIn(page, 8), "50 ms");
    await the("fork-stale").waitFor();
    const [fork2] = await inspector.forks({ space: "agentos", run: "big" });
    const { state } = (await inspector.checkpoint({ space: "agentos", run: fork2!.run }))!;
    const { scratch } = state as { scratch: { n: number; documents: unknown[]; text: string } };
    expect([scratch.n, scratch.documents.length, scratch.text.length]).toEqual([2, 4_000, 300_000]);
  });
});
