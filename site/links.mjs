// Checks the links of the built pages: each file is there, and so is each anchor.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { base } from "./places.mjs";

/** Returns the paths of the built pages. */
export function htmlIn(folder) {
  return readdirSync(folder, { recursive: true })
    .map((name) => String(name).replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".html"));
}

const entities = { amp: "&", quot: '"', lt: "<", gt: ">", "#39": "'" };

const decoded = (text) => text.replaceAll(/&(#39|\w+);/g, (whole, name) => entities[name] ?? whole);

/** Returns the values of attributes. */
const valuesOf = (html, names) =>
  Array.from(html.matchAll(new RegExp(`\\s(?:${names})="([^"]*)"`, "g")), ([, value]) => decoded(value));

/** Returns the file that answers a path, or null. */
function fileOf(folder, path) {
  const file = path.endsWith("/") || path === "" ? `${path}index.html` : path;
  return existsSync(folder + file) ? file : null;
}

/** Returns the links that lead nowhere, each with its page. */
export function brokenLinks(folder) {
  const all = htmlIn(folder);
  const texts = new Map(all.map((path) => [path, readFileSync(folder + path, "utf8")]));
  const anchors = new Map(Array.from(texts, ([path, html]) => [path, new Set(valuesOf(html, "id"))]));
  const broken = [];
  for (const [path, html] of texts) {
    for (const link of new Set(valuesOf(html, "href|src"))) {
      const url = new URL(link, `https://site.invalid${base}${path}`);
      if (url.origin !== "https://site.invalid") continue;
      const inner = decodeURIComponent(url.pathname);
      const file = inner.startsWith(base) ? fileOf(folder, inner.slice(base.length)) : null;
      const anchor = decodeURIComponent(url.hash.slice(1));
      if (file === null) broken.push(`${path}: ${link} does not exist`);
      // The fragments of the studio are its own.
      else if (anchor !== "" && !anchor.startsWith("/") && anchors.get(file)?.has(anchor) !== true)
        broken.push(`${path}: ${link} has no such anchor`);
    }
  }
  return broken;
}
