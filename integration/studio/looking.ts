/** What is wrong with a page for those who look at it, or hear it. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** Returns what axe finds: the rule, how bad it is, and the element. */
export async function violations(page: Page): Promise<string[]> {
  // The policy of the page allows no scripts of others. The expression of a debugger is none.
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  const { violations, passes } = await page.evaluate(() =>
    (window as unknown as { axe: { run(): Promise<AxeResults> } }).axe.run(),
  );
  if (passes.length < 10) throw new Error(`axe has only run ${passes.length} rules`);
  return violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id} (${impact}): ${html.slice(0, 160)}: ${failureSummary}`),
  );
}

/** Returns how far the page is wider than the screen, if it is. */
export async function tooWide(page: Page): Promise<string[]> {
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  return wide > 0 ? [`${wide} px wider than the screen`] : [];
}

/** Returns the texts on the screen whose contrast with what is behind them is too low. */
export function tooPale(page: Page): Promise<string[]> {
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

/** Returns the controls without an accessible name. */
export function nameless(page: Page): Promise<string[]> {
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
