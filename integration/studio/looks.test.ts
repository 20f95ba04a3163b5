// Tests how the studio looks: its themes, its motion, its focus, its landmarks, and a phone. `views.test.ts` walks all views.
import { expect, test } from "vitest";
import { inBrowser, runAt, show, useBrowser } from "./browser.js";

useBrowser();

inBrowser("looks", () => {
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
