// Walks every view in three sizes: axe finds nothing, every control has a name, nothing is wider than the screen. In both themes,
// every text can be read. Writes a picture of each into `pictures`, or into the folder that FORKPOINT_SCREENSHOTS names.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { isShort } from "../../__test__/short.js";
import { inBrowser, show, useBrowser } from "./browser.js";
import { nameless, tooPale, tooWide, violations } from "./looking.js";
import { useRecording } from "./recording.js";
import { openView, settled, sizes, themes, views } from "./views.js";

useBrowser();
const recording = useRecording({ pace: 5 });

/** What each theme is checked for. A theme changes colours only, so the others look once. */
const checks = { light: { violations, tooPale, nameless, tooWide }, dark: { tooPale } };

const grounds = { light: "rgb(246, 247, 249)", dark: "rgb(13, 15, 19)" };

/** The views to walk. FORKPOINT_VIEWS is a part of their names. */
const walked = views.filter(({ name }) => name.includes(process.env["FORKPOINT_VIEWS"] ?? ""));

/** The bar shows the path of the database, which may be long. */
const longName = `${"the-agents-of-our-team-".repeat(5)}recorded.db`;

const pictures = process.env["FORKPOINT_SCREENSHOTS"] || fileURLToPath(new URL("pictures", import.meta.url));

inBrowser("every view", () => {
  test.each(sizes)("can be seen, heard and used at $width px", { timeout: 900_000 }, async (size) => {
    const { width, height, also } = size;
    mkdirSync(pictures, { recursive: true });
    // The browser writes the error of the view of an unknown run to its console.
    const shown = await show({ of: recording.copy(longName), write: true, quiet: false, viewport: { width, height } });
    const { page } = shown;
    const found: Record<string, string[]> = {};
    const all = isShort ? walked.filter((_, at) => sizes[at % sizes.length] === size) : walked;
    for (const view of all) {
      await openView(shown, view);
      await page.setViewportSize({ width: also, height });
      const wide = await tooWide(page);
      if (wide.length > 0) found[`${view.name}, ${also} px`] = wide;
      await page.setViewportSize({ width, height });
      for (const theme of themes) {
        await page.emulateMedia({ colorScheme: theme });
        await settled(page);
        expect(await page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe(grounds[theme]);
        await page.screenshot({ path: join(pictures, `${view.name}-${width}-${theme}.png`) });
        for (const [check, look] of Object.entries(checks[theme])) {
          const here = await look(page);
          if (here.length > 0) found[`${view.name}, ${theme}: ${check}`] = here;
        }
      }
    }
    expect(found).toEqual({});
  });

  test("the bar of a studio that only reads fits, too", async () => {
    const { page, the } = await show({ of: recording.copy(longName), write: false });
    await the("readonly").waitFor();
    for (const { width, height, also } of sizes) {
      for (const each of [width, also]) {
        await page.setViewportSize({ width: each, height });
        expect({ [each]: await tooWide(page) }).toEqual({ [each]: [] });
      }
      await page.screenshot({ path: join(pictures, `readonly-${width}.png`) });
    }
  });
});
