// The guides, in the groups of docs/index.md. The page of the guides is the only list of them.
import { readFileSync, readdirSync } from "node:fs";
import { relativeLinks } from "../scripts/links.mjs";
import { root } from "./places.mjs";

/** The page that lists the guides. */
export const list = "docs/index.md";

/** The pages about the project, beside the guides. They are in the repository's own folder. */
export const project = ["CHANGELOG.md", "ROADMAP.md", "SECURITY.md", "CONTRIBUTING.md"];

export const textOf = (path) => readFileSync(root + path, "utf8");

/** Returns Markdown without the marks of links, code and emphasis. */
export const plain = (text) =>
  text.replaceAll(/!?\[([^\]]*)\]\([^)]*\)/g, "$1").replaceAll(/`|\*\*|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])/g, "");

/** Returns the first heading of a page. */
export function titleOf(path) {
  return plain(/^# +(.+)$/m.exec(textOf(path))[1]);
}

/** Returns the first sentence below the first heading. */
export function sentenceOf(text) {
  const paragraphs = text.replace(/^[^]*?^# .*$/m, "").split(/\n{2,}/);
  const first = paragraphs.find((each) => /^\s*[A-Za-z*`[]/.test(each)) ?? "";
  const words = plain(first.trim().replaceAll(/\s*\n\s*/g, " "));
  return /^.+?[.!?](?= [A-Z`]|$)/.exec(words)?.[0] ?? words;
}

/** All guides in docs/, without the list of them. */
export const guides = readdirSync(`${root}docs`, { recursive: true })
  .map((name) => `docs/${String(name).replaceAll("\\", "/")}`)
  .filter((path) => path.endsWith(".md") && path !== list)
  .toSorted();

/**
 * Returns the groups of docs/index.md: their headings, and their pages. Several rows may name a page. It belongs to the one with
 * the fewest links beside it, because this row is about the page. What follows the last table is a group too.
 */
export function groups() {
  const [, ...sections] = textOf(list).split(/^## +/m);
  const found = sections.map((section) => {
    const [title, ...lines] = section.split("\n");
    return { title, rows: lines.filter((line) => line.startsWith("|")) };
  });
  const [, title, last] = /^(\w+): (.+)/ms.exec(
    sections
      .at(-1)
      .split(/\n{2,}/)
      .at(-1),
  );
  found.push({ title, rows: [last] });
  const best = new Map();
  for (const { title: group, rows } of found) {
    for (const links of rows.map((row) => relativeLinks(row, list))) {
      for (const { path } of links.filter(isGuide)) {
        if (links.length <= (best.get(path)?.links ?? Infinity)) best.set(path, { group, links: links.length });
      }
    }
  }
  const missing = guides.filter((path) => !best.has(path));
  if (missing.length > 0) throw new Error(`${list} does not list ${missing.join(", ")}`);
  return found.map(({ title: group, rows }) => {
    const named = rows.flatMap((row) => relativeLinks(row, list).filter(isGuide));
    const own = named.map(({ path }) => path).filter((path) => best.get(path).group === group);
    return { title: group, pages: [...new Set(own)] };
  });
}

/** True for a link to a whole guide, and not to a part of it. */
const isGuide = ({ path, anchor }) => anchor === "" && guides.includes(path);
