// Tests how the studio looks: both themes, the contrast of every text on the screen, names and focus for those who do not
// see or do not use a mouse, small screens. With FORKPOINT_SCREENSHOTS=<folder>, writes pictures of five pages.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";
import { type Shown, copied, inBrowser, runAt, show, useBrowser } from "./browser.js";

useBrowser();

const themes = ["light", "dark"] as const;

/** The pages that are looked at. Each leads there from the list of runs. */
const pages: Record<string, (shown: Shown) => Promise<void>> = {
  async runs({ the }) {
    await the("run-row").first().waitFor();
    await expect.poll(() => the("run-row").first().getAttribute("data-status")).not.toBe("");
  },
  async timeline({ the, go }) {
    await go(runAt("customer-2317", "langgraph"));
    await the("tree-row").first().waitFor({ state: "attached" });
  },
  async changes({ the, go, page }) {
    await go(`${runAt("trip-4711-lisbon")}&view=diff`);
    await the("diff-row").first().waitFor({ state: "attached" });
    await page.keyboard.press("[");
    await page.keyboard.press("[");
    await expect.poll(() => the("diff-target").textContent()).toContain("to step 4");
  },
  async fork({ the, go, page }) {
    // The rows of a run that was shown before have to be gone.
    await go("#/runs");
    await the("run-row").first().waitFor();
    await go(runAt("trip-4711-lisbon"));
    await the("tree-row").first().waitFor({ state: "attached" });
    await page.keyboard.press("f");
    await the("fork-editor").waitFor();
    const text = await the("fork-editor").inputValue();
    await the("fork-editor").fill(
      text.replace('"budget": 400', '"budget": 900').replace(/"Find[^"]+"/, '"Find a train instead"'),
    );
    await the("fork-preview").locator("[data-testid=diff-row]").nth(1).waitFor();
    await the("fork-editor").evaluate((area) => area.scrollTo(0, 0));
  },
  async compare({ the, go, inspector }) {
    const { latest } = (await inspector.run({ space: "langgraph", run: "customer-2317" }))!;
    await go(`${runAt("customer-2317", "langgraph")}&view=diff&at=${latest.id}`);
    await the("compare").click();
    await go(runAt("customer-2290", "langgraph"));
    await expect.poll(() => the("run-title").textContent()).toBe("customer-2290");
    await the("step-row").nth(2).click();
    await the("compare-columns").locator("[data-testid=diff-row]").first().waitFor();
    await the("diff-own").click();
    await the("compare").click();
    await the("compare-pick").waitFor();
  },
  async edit({ the, go, page }) {
    await go("#/runs");
    await the("run-row").first().waitFor();
    await go(`${runAt("trip-4711-lisbon")}&at=trip-4711-lisbon-6`);
    for (const [path, text] of [
      ["input.budget", "900"],
      ["input.question", "Find a train instead"],
    ] as const) {
      await page.locator(`[data-path="${path}"]`).click();
      await the("edit-value").click();
      await the("edit-editor").fill(text);
      await the("edit-apply").click();
    }
    await the("edit-row").nth(1).waitFor();
    await page.locator('[data-path="input.currency"]').click();
    await page.keyboard.press("e");
    await the("edit-text").uncheck();
    await the("edit-editor").fill("EUR");
    await the("edit-error").waitFor();
  },
  async storage({ the, go }) {
    await go("#/storage");
    await the("storage-run").first().waitFor();
  },
};

/** Returns the texts on the screen whose contrast with what is behind them is too low. */
function tooPale(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true })!;
    const parts = (colour: string): number[] => {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
      return [r!, g!, b!, a! / 255];
    };
    const over = ([r, g, b, a]: number[], [R, G, B]: number[]) => [
      r! * a! + R! * (1 - a!),
      g! * a! + G! * (1 - a!),
      b! * a! + B! * (1 - a!),
      1,
    ];
    const light = (colour: number[]) =>
      [0.2126, 0.7152, 0.0722].reduce((sum, weight, index) => {
        const part = colour[index]! / 255;
        return sum + weight * (part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
      }, 0);
    const ground = (element: Element): number[] => {
      const grounds: number[][] = [];
      for (let at: Element | null = element; at !== null; at = at.parentElement) {
        const colour = parts(getComputedStyle(at).backgroundColor);
        if (colour[3]! > 0) grounds.push(colour);
        if (colour[3] === 1) break;
      }
      return grounds.reduceRight((below, colour) => over(colour, below), [255, 255, 255, 1]);
    };
    const found: string[] = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const open = document.querySelector("dialog[open]");
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      const element = node.parentElement!;
      if (node.textContent!.trim() === "" || element.closest("noscript, .hidden, option, .skip, :disabled") !== null)
        continue;
      if (open !== null && !open.contains(element)) continue;
      if (!element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })) continue;
      const behind = ground(element);
      const [a, b] = [light(over(parts(getComputedStyle(element).color), behind)), light(behind)].toSorted(
        (x, y) => y - x,
      );
      const contrast = (a! + 0.05) / (b! + 0.05);
      if (contrast < 4.5) found.push(`${contrast.toFixed(2)} ${element.className} "${node.textContent!.slice(0, 40)}"`);
    }
    return found;
  });
}

/** Returns what one who hears the page could not name. */
function nameless(page: Page): Promise<string[]> {
  return page.evaluate(() =>
    [
      ...document.querySelectorAll(
        "button, a[href], input, select, textarea, [role=tree], [role=listbox], [role=dialog], dialog",
      ),
    ]
      .filter((each) => each.checkVisibility())
      .filter((each) => {
        const label = each.getAttribute("aria-label") ?? each.closest("label")?.textContent ?? each.textContent;
        return (label ?? "").trim() === "" && (each as HTMLInputElement).labels?.length !== 1;
      })
      .map((each) => each.outerHTML.slice(0, 120)),
  );
}

inBrowser("looks", () => {
  describe.each(themes)("%s", (theme) => {
    test.each(Object.keys(pages))("%s: every text can be read, every control has a name", async (name) => {
      const shown = await show({
        of: copied(),
        write: true,
        colorScheme: theme,
        viewport: { width: 1440, height: 900 },
      });
      await pages[name]!(shown);
      expect(await shown.page.evaluate(() => getComputedStyle(document.body).colorScheme)).toContain("dark");
      const ground = await shown.page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      expect(ground).toBe(theme === "dark" ? "rgb(13, 15, 19)" : "rgb(246, 247, 249)");
      // What moves or fades in has to be at its place.
      await expect.poll(() => shown.page.evaluate(() => document.getAnimations().length)).toBe(0);
      expect(await tooPale(shown.page)).toEqual([]);
      expect(await nameless(shown.page)).toEqual([]);
      const folder = process.env["FORKPOINT_SCREENSHOTS"];
      if (folder === undefined || folder === "") return;
      mkdirSync(folder, { recursive: true });
      await shown.page.screenshot({ path: join(folder, `${name}-${theme}.png`) });
    });
  });

  test("the theme is the system's until one chooses, and the choice stays", async () => {
    const { the, page } = await show({ colorScheme: "light" });
    await the("run-row").first().waitFor();
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const [light, dark] = ["rgb(246, 247, 249)", "rgb(13, 15, 19)"];
    expect(await ground()).toBe(light);
    await page.emulateMedia({ colorScheme: "dark" });
    await expect.poll(ground).toBe(dark);
    await the("theme").click();
    await expect.poll(ground).toBe(light);
    await page.reload();
    await the("run-row").first().waitFor();
    expect(await ground()).toBe(light);
    await the("theme").click();
    await expect.poll(ground).toBe(dark);
  });

  test("one who wants no motion gets none", async () => {
    const { the, page } = await show({ reducedMotion: "reduce" });
    await the("run-row").first().waitFor();
    const moving = await page.evaluate(
      () =>
        [...document.querySelectorAll("*")].filter((each) => {
          const { animationName, transitionDuration } = getComputedStyle(each);
          return animationName !== "none" || !/^0s(, 0s)*$/.test(transitionDuration);
        }).length,
    );
    expect(moving).toBe(0);
  });

  test("the focus is seen, and Tab leads to every part", async () => {
    const { the, page, go } = await show();
    await go(runAt("customer-2317", "langgraph"));
    await the("tree-row").first().waitFor();
    const seen: string[] = [];
    for (let n = 0; n < 40; n++) {
      await page.keyboard.press("Tab");
      const at = await page.evaluate(() => {
        const element = document.activeElement!;
        const { outlineStyle, outlineWidth } = getComputedStyle(element);
        return {
          name: (element as HTMLElement).dataset["testid"] ?? element.textContent!.trim(),
          isSeen: outlineStyle !== "none" && outlineWidth !== "0px",
          isBody: element === document.body,
        };
      });
      if (at.isBody) break;
      expect(at.isSeen, at.name).toBe(true);
      seen.push(at.name);
    }
    expect(seen).toEqual(
      expect.arrayContaining(["Skip to content", "theme", "timeline", "diff-toggle", "state-search", "state-tree"]),
    );
  });

  test("the page has its landmarks, its language and one heading of the first level", async () => {
    const { the, page, go } = await show();
    for (const hash of ["#/runs", runAt("trip-4711-lisbon"), "#/storage"]) {
      await go(hash);
      await the(hash === "#/runs" ? "run-row" : hash === "#/storage" ? "storage-run" : "step-row")
        .first()
        .waitFor();
      const found = await page.evaluate(() => [
        document.documentElement.lang,
        ...["main", "header.top", "nav", "h1", "[aria-live=polite]"].map(
          (each) => document.querySelectorAll(each).length,
        ),
      ]);
      expect(found, hash).toEqual(["en", 1, 1, 1, 1, 1]);
    }
  });

  test.each([
    [390, 844],
    [768, 1024],
    [1280, 800],
    [1920, 1080],
  ])("nothing is wider than a screen of %d by %d", async (width, height) => {
    const shown = await show({ of: copied(), write: true, viewport: { width, height } });
    for (const [name, lead] of Object.entries(pages)) {
      await lead(shown);
      const wide = await shown.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      expect(wide, name).toBeLessThanOrEqual(0);
      await shown.page.keyboard.press("Escape");
    }
  });

  test("on a phone, a checkpoint covers the timeline, and back leads to it", async () => {
    const { the, page, go, at } = await show({ viewport: { width: 390, height: 844 } });
    await go(runAt("trip-4711-lisbon"));
    await the("step-row").first().waitFor();
    expect(await the("state-tree").isVisible()).toBe(false);
    await the("step-row").nth(2).click();
    await expect.poll(() => the("state-tree").isVisible()).toBe(true);
    expect(await the("timeline").isVisible()).toBe(false);
    await page.getByRole("button", { name: "Back to the timeline" }).click();
    await expect.poll(() => the("timeline").isVisible()).toBe(true);
    await the("step-row").first().click();
    await page.keyboard.press("Escape");
    await expect.poll(() => at().get("at")).toBeNull();
    await page.keyboard.press("Escape");
    await expect.poll(() => at().page).toBe("runs");
  });
});
