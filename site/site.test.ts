// Tests the built site: its links, its texts for agents, and its pages in a browser.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type MarkdownOptions, createMarkdownRenderer } from "vitepress";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { tooWide, violations } from "../integration/studio/looking.js";
import { launch, openPage } from "../integration/studio/pages.js";
import { markdown } from "./.vitepress/markdown.mjs";
import { groups, guides } from "./guides.mjs";
import { brokenLinks, htmlIn } from "./links.mjs";
import { out } from "./places.mjs";
import { serve } from "./preview.mjs";

const textOf = (path: string) => readFileSync(out + path, "utf8");

describe("the built files", () => {
  it("have no link that leads nowhere", () => {
    expect(htmlIn(out).length).toBeGreaterThan(60);
    expect(brokenLinks(out)).toEqual([]);
  });

  it("would show a broken link and a broken anchor", () => {
    const folder = `${mkdtempSync(join(tmpdir(), "forkpoint-site-"))}/`;
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(
      `${folder}a.html`,
      '<a href="b.html#here">b</a> <a href="/forkpoint/c.html">c</a> <a href="/a">a</a>',
    );
    writeFileSync(
      `${folder}b.html`,
      '<h2 id="there">b</h2> <a href="a.html">a</a> <a href="https://example.com">no</a>',
    );
    expect(brokenLinks(folder)).toEqual([
      "a.html: b.html#here has no such anchor",
      "a.html: /forkpoint/c.html does not exist",
      "a.html: /a does not exist",
    ]);
  });

  it("list every guide for agents, once, with what it is about", () => {
    const lines = textOf("llms.txt").split("\n");
    for (const path of guides) {
      const line = lines.filter((each) => each.includes(`](https://forkpoint.github.io/forkpoint/${path})`));
      expect(line, path).toHaveLength(1);
      expect(line[0]).toMatch(/\): .{10,}/);
      expect(textOf(path)).toMatch(/^# /m);
    }
    expect(
      groups()
        .flatMap(({ pages }) => pages)
        .toSorted(),
    ).toEqual(guides);
    expect(textOf("llms-full.txt").length).toBeGreaterThan(300_000);
  });

  it("have a policy on each page, and no address of another origin to load from", () => {
    for (const path of htmlIn(out)) {
      const html = textOf(path);
      expect(html, path).toMatch(
        /<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self'/,
      );
      expect(html, path).not.toMatch(/<(?:script|img|iframe)[^>]* src="https?:|<link[^>]* href="https?:/);
    }
  });
});

describe("the Markdown of the guides", () => {
  it("shows what is written, also what looks like Vue or HTML", async () => {
    const md = await createMarkdownRenderer(".", markdown as MarkdownOptions);
    const html = md.render("# A {{ b }} {#c}\n\nA `{{ code }}` of Map<T>, :smile: <b>and</b> agent.db { x }\n");
    expect(html).toContain('id="a--b--c"');
    expect(html).toContain("A &#123;&#123; b }} {#c}");
    expect(html).toContain(
      "<code>&#123;&#123; code }}</code> of Map&lt;T&gt;, :smile: &lt;b&gt;and&lt;/b&gt; agent.db { x }",
    );
  });
});

const executablePath = inject("chromium") ?? "";
const pictures = process.env["FORKPOINT_SITE_PICTURES"] || fileURLToPath(new URL("pictures", import.meta.url));

describe.skipIf(executablePath === "")("in a browser", () => {
  let browser: Awaited<ReturnType<typeof launch>>;
  let server: Awaited<ReturnType<typeof serve>>;

  beforeAll(async () => {
    mkdirSync(pictures, { recursive: true });
    [browser, server] = await Promise.all([launch(executablePath), serve()]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  /** Opens a page of the site. The test fails if it says something to the console, or asks another origin. */
  async function open(path: string, options: Parameters<typeof openPage>[1] = {}) {
    const opened = await openPage(browser, options);
    onTestFinished(() => {
      expect(opened.said).toEqual([]);
      expect(opened.requests.filter((url) => !url.startsWith(server.address) && !url.startsWith("data:"))).toEqual([]);
    });
    await opened.page.goto(server.address + path);
    return opened;
  }

  const shown = { landing: "", guide: "docs/leases.html", guides: "docs/", api: "api/claude-agent-sdk.html" };
  const sizes = [
    { width: 1440, height: 900 },
    { width: 390, height: 844 },
  ];
  const cases = Object.entries(shown).flatMap(([name, path]) => sizes.map((viewport) => ({ name, path, viewport })));

  it.each(cases)("$name can be read at $viewport.width px, light and dark", async ({ name, path, viewport }) => {
    const { page } = await open(path, { viewport });
    const found: Record<string, string[]> = {};
    for (const theme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
      await expect
        .poll(() => page.evaluate(() => document.documentElement.classList.contains("dark")))
        .toBe(theme === "dark");
      await page.evaluate(() => Promise.all(document.getAnimations().map((each) => each.finished.catch(() => {}))));
      await page.screenshot({ path: join(pictures, `${name}-${viewport.width}-${theme}.png`) });
      const here = [...(await violations(page)), ...(await tooWide(page))];
      if (here.length > 0) found[theme] = here;
    }
    expect(found).toEqual({});
  });

  it("finds a page without network", async () => {
    const { context, page } = await open("");
    await page.getByRole("button", { name: "Search" }).first().click();
    const input = page.locator("#localsearch-input");
    await input.fill("fork");
    await page.locator(".VPLocalSearchBox .result").first().waitFor();
    await context.setOffline(true);
    await input.fill("recover");
    await expect
      .poll(() => page.locator(".VPLocalSearchBox .result").allTextContents())
      .toContainEqual(expect.stringMatching(/recover/i));
    await page.screenshot({ path: join(pictures, "search.png") });
    expect(await violations(page)).toEqual([]);
  });

  it.each(sizes)("shows recorded runs in the studio, at $width px", async (viewport) => {
    const { page } = await open("studio/index.html", { viewport });
    const the = (id: string) => page.getByTestId(id);
    await the("run-row").first().waitFor();
    await page.screenshot({ path: join(pictures, `studio-runs-${viewport.width}.png`) });
    expect(await the("run-row").count()).toBeGreaterThan(10);
    expect(await the("readonly").count()).toBe(1);
    await the("runs-search").fill("letter");
    await expect.poll(() => the("run-row").count()).toBe(1);
    await the("run-row").first().click();
    await the("step-row").nth(2).click();
    await the("tree-row").first().waitFor();
    await page.screenshot({ path: join(pictures, `studio-run-${viewport.width}.png`) });
    await the("diff-toggle").click();
    await the("diff-row").first().waitFor();
    expect([...(await violations(page)), ...(await tooWide(page))]).toEqual([]);
  });

  it("has the studio in the landing page, in its theme", async () => {
    const { page } = await open("", { colorScheme: "dark", viewport: sizes[0]! });
    const frame = page.frameLocator(".live-studio iframe");
    await page.locator(".live-studio").scrollIntoViewIfNeeded();
    await frame.getByTestId("step-row").first().waitFor();
    await frame.getByTestId("tree-row").first().waitFor();
    await page.screenshot({ path: join(pictures, "landing-studio.png") });
    expect(await frame.locator("body").evaluate((body) => getComputedStyle(body).backgroundColor)).toBe(
      "rgb(13, 15, 19)",
    );
    await frame.getByRole("link", { name: "Runs" }).first().click();
    await frame.getByTestId("run-row").first().waitFor();
  });
});
