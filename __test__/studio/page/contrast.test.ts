// Computes the contrast of every colour of a text with every ground on which it stands, in both themes: AA asks for 4.5,
// and for 3 of lines and marks that mean something.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";

const css = readFileSync(fileURLToPath(new URL("../../../tools/studio/page/styles/base.css", import.meta.url)), "utf8");

type Theme = "light" | "dark";

/** The colours of a theme, by the names of their variables. */
function coloursOf(theme: Theme): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [, name, value] of css.matchAll(/--([\w-]+):\s*([^;]+);/g)) {
    const pair = /^light-dark\((#[\da-f]+), (#[\da-f]+)\)$/.exec(value!);
    if (pair !== null) found[name!] = pair[theme === "light" ? 1 : 2]!;
    else if (value!.startsWith("#")) found[name!] = value!;
  }
  return found;
}

function luminance(colour: string): number {
  const [r, g, b] = [1, 3, 5].map((from) => {
    const part = Number.parseInt(colour.slice(from, from + 2), 16) / 255;
    return part <= 0.040_45 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r! + 0.7152 * g! + 0.0722 * b!;
}

function contrast(a: string, b: string): number {
  const [light, dark] = [luminance(a), luminance(b)].toSorted((x, y) => y - x);
  return (light! + 0.05) / (dark! + 0.05);
}

const grounds = ["ground", "surface", "sunken", "hover", "accent-ground"];

const pairs: Array<[text: string, grounds: string[], least: number]> = [
  ["text", [...grounds, "waiting-ground", "failed-ground", "finished-ground"], 4.5],
  ["text-2", [...grounds, "waiting-ground", "failed-ground"], 4.5],
  ["text-3", grounds, 4.5],
  ["accent", ["ground", "surface", "hover", "accent-ground"], 4.5],
  ["on-accent", ["accent-fill"], 4.5],
  [
    "value-text",
    ["surface", "hover", "accent-ground", "sunken", "finished-ground", "failed-ground", "waiting-ground"],
    4.5,
  ],
  ["value-number", ["surface", "hover", "accent-ground", "sunken", "finished-ground", "failed-ground"], 4.5],
  ["value-word", ["surface", "hover", "accent-ground", "sunken", "finished-ground", "failed-ground"], 4.5],
  ...["finished", "failed", "waiting", "unfinished", "stopped"].map((status): [string, string[], number] => [
    status,
    ["surface", `${status}-ground`],
    4.5,
  ]),
  ...Array.from({ length: 6 }, (_, n): [string, string[], number] => [
    `lane-${n + 1}`,
    ["surface", "accent-ground"],
    3,
  ]),
  ["line-strong", [], 1],
];

describe.each(["light", "dark"] as const)("%s", (theme) => {
  const colours = coloursOf(theme);

  test.each(pairs)("%s", (text, on, least) => {
    expect(colours[text], `no colour ${text}`).toBeDefined();
    for (const ground of on) {
      expect(colours[ground], `no colour ${ground}`).toBeDefined();
      const found = contrast(colours[text]!, colours[ground]!);
      expect(found, `${text} on ${ground}: ${found.toFixed(2)}`).toBeGreaterThanOrEqual(least);
    }
  });
});
