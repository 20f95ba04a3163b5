// Tests the README and the guides: their code compiles under strict, runs in a new folder, and prints what the page says.
// What needs a framework or a server runs in integration/*/docs.test.ts.
// @module-tag slow
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { makeExample } from "./cli/example.js";
import { main } from "./cli/run.js";
import { elsewhere, expectShown, testPages } from "./pages.js";
import { pages, readPage, snippetsOf } from "./snippets.js";

testPages("forkpoint", new URL(".", import.meta.url), {
  prepare: { "docs/cli-reference.md": (cwd) => makeExample(join(cwd, "agent.db")) },
});

describe("every guide", () => {
  it.each(pages.filter(({ path }) => !elsewhere.has(path)))("$path shows what its code prints", ({ path, steps }) => {
    const commands = steps.filter((step) => step.kind === "command").map(({ command }) => command);
    const silent = snippetsOf(readPage(path)).filter(({ file, printed }) => {
      if (file === undefined) return printed === undefined;
      // Another block imports it, or starts it.
      const names = [`"./${file.replace(/\.mts$/, ".mjs")}"`, `"${file}"`];
      const isUsed = (step: (typeof steps)[number]) =>
        step.kind === "snippet" && names.some((name) => step.code.includes(name));
      return !commands.some((command) => command.includes(file)) && !steps.some(isUsed);
    });
    expect(silent.map(({ name }) => name)).toEqual([]);
  });

  it("has at most 150 lines in the README, and no sentence over 25 words", () => {
    const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
    expect(readme.split("\n").length).toBeLessThanOrEqual(150);
    const text = readme
      .replaceAll(/^( *)```[^]*?^\1```$/gm, "\n\n")
      .replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
      .replaceAll("**", "");
    // A paragraph, an item of a list, or a cell of a table.
    const parts = text.split(/\n\n+|\n(?=[-#|*])|\|/).map((part) => part.replaceAll(/\s+/g, " ").trim());
    const sentences = parts.flatMap((part) => part.split(/(?<=[.:!?])\s+/));
    expect(sentences.length).toBeGreaterThan(30);
    expect(sentences.filter((sentence) => sentence.split(" ").length > 25)).toEqual([]);
  });
});

describe("docs/cli-reference.md", () => {
  it("has an example of each command", () => {
    const { steps } = readPage("docs/cli-reference.md");
    const help = spawnSync(process.execPath, [main, "--help"], { encoding: "utf8" }).stdout;
    const names = [...help.matchAll(/^ {2}([a-z-]+) (?:\[options\]|<shell>)/gm)].map(([, name]) => name!);
    expect(names.length).toBeGreaterThan(17);
    const text = readFileSync(new URL("../docs/cli-reference.md", import.meta.url), "utf8");
    for (const name of names) {
      expect(text).toContain(`\`${name}`);
      // The studio does not end by itself. Its own guide is tested elsewhere.
      const shows = ({ name: shown }: (typeof steps)[number]) => shown.includes(`forkpoint ${name}`);
      if (name !== "studio") expect(steps.some(shows), name).toBe(true);
    }
  });
});

describe("the comparison of output", () => {
  it.each([
    ["a", []],
    ["", ["a"]],
    ["a\nb", ["a"]],
    ["a", ["a", "b"]],
    ["a\nb", ["b", "a"]],
    ["a\nb\nc", ["a", "…", "d"]],
    ["1 checkpoint", ["2 checkpoints"]],
  ])("%j is not as said", (output, said) => expect(() => expectShown(output, said)).toThrow("to deeply equal"));
});
