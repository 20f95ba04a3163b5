// Takes runs away as files, opens them from the disk without network, and imports files, in a browser.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { pathToFileURL } from "node:url";
import { type Checkpoint, CheckpointStore, copyStore } from "forkpoint";
import type { Page } from "playwright-core";
import { expect, inject, onTestFinished, test } from "vitest";
import { checkpoint, hostile } from "./contents.mjs";
import { command, copied, folder, inBrowser, pageOf, runAt, show, useBrowser } from "./browser.js";

useBrowser();

const lisbon = "trip-4711-lisbon";

/** Writes a run to an HTML file with the command line. */
async function exported(database: string, run: string, ...more: string[]): Promise<string> {
  const path = join(folder(), "run.html");
  await command("export", run, "--db", database, "--html", path, ...more);
  return path;
}

/** Opens a file from the disk, while every request to a network is refused. Fails if the page says something. */
async function opened(path: string, hash = "") {
  const { context, page, requests, said } = await pageOf({ viewport: { width: 1280, height: 800 } });
  await context.setOffline(true);
  await page.goto(pathToFileURL(path).href + hash);
  onTestFinished(() => {
    expect(said).toEqual([]);
    expect(requests.filter((url) => !url.startsWith("file:") && !url.startsWith("data:"))).toEqual([]);
  });
  return { page, the: (id: string) => page.getByTestId(id), requests };
}

/** A checkpoint with a scratch of its own. */
function withState(run: string, step: number, scratch: Record<string, unknown>): Checkpoint {
  const made = checkpoint(run, step) as unknown as Checkpoint;
  return { ...made, state: { ...made.state, scratch } };
}

const parameters = (page: Page) => new URLSearchParams(new URL(page.url()).hash.split("?")[1]);

inBrowser("an exported file", () => {
  test("shows timeline, state, changes, waterfall and graph from the disk", async () => {
    const path = await exported(inject("database"), lisbon);
    const { page, the } = await opened(path);
    await expect.poll(() => the("step-row").count()).toBe(7);
    expect(await the("run-title").textContent()).toContain("trip-4711");
    expect(await the("run-status").textContent()).toBe("finished");
    await the("tree-row").first().waitFor();
    expect(await the("readonly").textContent()).toBe("Read-only");
    expect(await the("live").count()).toBe(0);
    expect(await the("take").count()).toBe(0);
    expect(await page.title()).toContain(lisbon);
    // The keys, the changes and the search work as in the studio.
    await page.keyboard.press("j");
    await expect.poll(() => parameters(page).get("at")).toBe(`${lisbon}-5`);
    await page.keyboard.press("d");
    await the("diff-row").first().waitFor();
    expect(await the("diff-target").textContent()).toContain("From step 4");
    await page.keyboard.press("d");
    await the("state-search").fill("Frankfurt");
    await expect.poll(() => the("tree-row").last().textContent()).toContain("Frankfurt");
    await the("pane-waterfall").click();
    await expect.poll(() => the("waterfall-row").count()).toBe(7);
    await the("pane-graph").click();
    await expect.poll(() => the("graph-edge").count()).toBe(8);
    // The address works after a reload, and the list has the run.
    await page.reload();
    await the("graph").waitFor();
    await page.keyboard.press("Escape");
    await expect.poll(() => the("run-row").count()).toBe(1);
    await the("run-row").click();
    await the("step-row").first().waitFor();
    await page.goBack();
    await the("run-row").first().waitFor();
  });

  test("has the same states and changes as the studio", async () => {
    const path = await exported(inject("database"), "customer-2317");
    const file = await opened(path);
    const studio = await show();
    await studio.go(runAt("customer-2317", "langgraph"));
    for (const { the } of [file, studio]) await the("step-row").first().waitFor();
    const texts = async (the: (id: string) => ReturnType<typeof file.the>, id: string, most: number) => {
      await the(id).first().waitFor();
      return (await the(id).allTextContents()).slice(0, most);
    };
    // Either may be the later one. The studio also shows what the run asks, so it has room for fewer rows.
    const same = async (id: string, most = 8) => {
      await expect
        .poll(async () => {
          const [own, other] = [await texts(file.the, id, most), await texts(studio.the, id, most)];
          return isDeepStrictEqual(own, other) ? [] : [own, other];
        })
        .toEqual([]);
    };
    // The tokens of a step come after its row.
    await same("step-row", Infinity);
    for (let moves = 0; moves < 4; moves++) {
      for (const { page } of [file, studio]) await page.keyboard.press("j");
      await expect
        .poll(() => {
          const [own, other] = [parameters(file.page).get("at"), studio.at().get("at")];
          return own !== null && own === other;
        })
        .toBe(true);
      await same("tree-row");
      for (const { page } of [file, studio]) await page.keyboard.press("d");
      await same("diff-row");
      for (const { page } of [file, studio]) await page.keyboard.press("d");
      // With what this step has added.
      for (const { page } of [file, studio]) await page.keyboard.press("m");
      await same("message");
      for (const { page } of [file, studio]) await page.keyboard.press("m");
    }
  });

  test("with hostile texts becomes neither markup nor a script", async () => {
    const database = join(folder(), "hostile.db");
    const run = `</script><script>window.harm=1</script>${hostile}`;
    const texts = [
      "</script><script>window.harm=3</script>",
      "<!--<script>",
      "]]>\u2028\u2029\u0000\ud800",
      hostile,
      "\u202etxt",
    ];
    const store = new CheckpointStore(database);
    for (const [step, text] of texts.entries()) {
      const nodeId = `node ${step} ${hostile}`;
      await store.save({ ...withState(run, step, { [text]: text, list: texts }), id: `${run}-${step}`, nodeId });
    }
    await store.close();
    const path = await exported(database, run);
    const { the, page } = await opened(path);
    await expect.poll(() => the("step-row").count()).toBe(texts.length);
    await the("tree-row").first().waitFor();
    await page.keyboard.press("d");
    await the("diff-row").first().waitFor();
    await the("pane-graph").click();
    await the("graph").waitFor();
    const seen = await page.evaluate(() => ({
      harm: "harm" in window,
      scripts: [...document.scripts].map(({ type }) => type),
      made: document.querySelectorAll("img, iframe, object, embed, base").length,
    }));
    expect(seen).toEqual({ harm: false, scripts: ["", "module"], made: 0 });
    expect(await page.locator("main").textContent()).toContain("</script>");
  });

  test("its policy refuses other scripts, styles and requests", async () => {
    const path = await exported(inject("database"), lisbon);
    const html = readFileSync(path, "utf8");
    expect(html).toMatch(
      /default-src 'none'; script-src 'sha256-[\w+/=]{44}' 'sha256-[\w+/=]{44}'; style-src 'sha256-[\w+/=]{44}'/,
    );
    expect(html).not.toMatch(/unsafe-|https?:\/\/(?!www\.w3\.org)/);
    const changed = join(folder(), "changed.html");
    writeFileSync(
      changed,
      html.replace("</body>", "<script>window.harm = 1</script><p style='color: red' id='styled'>x</p></body>"),
    );
    const { page } = await pageOf();
    await page.goto(pathToFileURL(changed).href);
    await page.getByTestId("step-row").first().waitFor();
    const found = await page.evaluate(async () => ({
      harm: "harm" in window,
      color: getComputedStyle(document.querySelector("#styled")!).color === "rgb(255, 0, 0)",
      sent: await fetch("https://example.com/").then(
        () => "sent",
        () => "refused",
      ),
    }));
    expect(found).toEqual({ harm: false, color: false, sent: "refused" });
  });

  test("has only the last steps if asked, and says what is missing", async () => {
    const path = await exported(inject("database"), lisbon, "--last", "2");
    const { the, page } = await opened(path);
    await expect.poll(() => the("step-row").count()).toBe(2);
    await page.keyboard.press("j");
    await expect.poll(() => parameters(page).get("at")).toBe(`${lisbon}-5`);
    await page.keyboard.press("d");
    await expect.poll(() => the("error").textContent()).toContain("doesn't have the checkpoint");
  });
});

inBrowser("the dialog", () => {
  test("downloads HTML and JSON without what is left out, and copies the command", async () => {
    const { the, page, go } = await show({ permissions: ["clipboard-read", "clipboard-write"], quiet: false });
    await go(runAt(lisbon));
    await the("take").click();
    await the("take-last").fill("3");
    await the("take-leave-out").fill(".price\n.nothing here");
    const files: Record<string, string> = {};
    for (const format of ["html", "json"]) {
      const [download] = await Promise.all([page.waitForEvent("download"), the(`take-${format}`).click()]);
      expect(download.suggestedFilename()).toBe(`${lisbon}.${format}`);
      files[format] = join(folder(), download.suggestedFilename());
      await download.saveAs(files[format]);
      await the("take-done").waitFor();
      expect(await the("take-done").textContent()).toContain("nothing matches");
    }
    const taken = JSON.parse(readFileSync(files["json"]!, "utf8")) as {
      runs: Array<{
        checkpoints: Array<{ state: { scratch: { offers: Array<{ price: unknown; id: string }> } } }>;
        earlier: number;
      }>;
      leftOut: Record<string, number>;
    };
    expect(taken.runs[0]!.checkpoints).toHaveLength(3);
    expect(taken.runs[0]!.earlier).toBe(4);
    const [offer] = taken.runs[0]!.checkpoints[0]!.state.scratch.offers;
    expect(offer).toMatchObject({ id: "offer-0", price: { $type: "LeftOut", value: ".price" } });
    expect(taken.leftOut[".nothing here"]).toBe(0);
    const file = await opened(files["html"]!);
    await expect.poll(() => file.the("step-row").count()).toBe(3);
    await the("take-command").click();
    const command = await page.evaluate(() => navigator.clipboard.readText());
    expect(command).toBe(
      `npx forkpoint export ${lisbon} --db ${inject("database")} --space agentos --html ${lisbon}.html --last 3 --leave-out .price --leave-out '.nothing here'`,
    );
    // A wrong path is said.
    await the("take-leave-out").fill("a[");
    await the("take-html").click();
    await expect.poll(() => the("error").textContent()).toContain("INVALID_ARGUMENT");
  });
});

inBrowser("an import", () => {
  /** A database with a run that the filled one does not have. */
  async function other(run: string, text = ""): Promise<string> {
    const path = join(folder(), "other.db");
    const store = new CheckpointStore(path);
    await store.save(withState(run, 0, { text }));
    await store.close();
    return path;
  }

  test("of a file adds its runs, and asks what to do with a run that differs", async () => {
    const database = copied();
    const { the, page, save, inspector } = await show({ of: database, write: true, quiet: false });
    const source = await other("new-run");
    await the("run-row").first().waitFor();
    await the("import").click();
    await the("import-file").setInputFiles(source);
    await the("import-send").click();
    await the("import-done").waitFor();
    expect(await the("import-done").textContent()).toContain("Imported and verified 1 run with 1 checkpoint");
    await expect.poll(() => page.locator('[data-run="new-run"]').count()).toBe(1);
    // The same run has a step more now.
    await save("new-run", 1);
    const steps = async () => (await inspector.run({ space: "agentos", run: "new-run" }))?.checkpoints;
    expect(await steps()).toBe(2);
    const send = async () => {
      await the("import").click();
      await the("import-file").setInputFiles(source);
      await the("import-send").click();
      await expect.poll(() => the("error").getAttribute("data-code")).toBe("CONFLICT");
    };
    await send();
    expect(await the("error").textContent()).toContain("new-run");
    await the("import-skip").click();
    await expect.poll(() => the("import-done").textContent()).toContain("1 run skipped");
    expect(await steps()).toBe(2);
    await send();
    await the("import-replace").click();
    await expect.poll(() => the("import-done").textContent()).not.toContain("skipped");
    expect(await steps()).toBe(1);
  });

  test("of a folder, of a dropped file, and of what is no database", async () => {
    const { the, page, inspector } = await show({ of: copied(), write: true, quiet: false });
    await the("run-row").first().waitFor();
    const runs = join(folder(), "runs");
    await copyStore(await other("from-folder"), `jsonl:${runs}`);
    await the("import").click();
    await the("import-folder").setInputFiles(runs);
    await the("import-send").click();
    await the("import-done").waitFor();
    expect(await inspector.run({ space: "agentos", run: "from-folder" })).not.toBeNull();
    // Dropped on the page.
    const bytes = readFileSync(await other("dropped")).toString("base64");
    const data = await page.evaluateHandle(async (text) => {
      const transfer = new DataTransfer();
      const raw = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
      transfer.items.add(new File([raw], "dropped.db"));
      return transfer;
    }, bytes);
    await page.dispatchEvent("body", "dragover", { dataTransfer: data });
    await page.dispatchEvent("body", "drop", { dataTransfer: data });
    await the("import-dialog").waitFor();
    await the("import-send").click();
    await expect.poll(async () => (await inspector.run({ space: "agentos", run: "dropped" })) !== null).toBe(true);
    await expect.poll(() => the("import-dialog").count()).toBe(0);
    const html = await exported(inject("database"), lisbon);
    const text = join(folder(), "notes.txt");
    writeFileSync(text, "no database");
    for (const [file, why] of [
      [html, "only shows a run"],
      [text, "no database of Forkpoint"],
    ] as const) {
      await the("import").click();
      await the("import-file").setInputFiles(file);
      await the("import-send").click();
      await expect.poll(() => the("error").textContent()).toContain(why);
      await page.keyboard.press("Escape");
    }
  });

  test("needs --write", async () => {
    const { the } = await show();
    await the("run-row").first().waitFor();
    expect(await the("import").count()).toBe(0);
  });
});
