// Writes the pages of the site as Markdown files: the guides, the pages about the project, and the landing page.
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { withAbsoluteLinks } from "../scripts/links.mjs";
import { guides, list, project, sentenceOf, textOf, titleOf } from "./guides.mjs";
import { files, pages, repository, root } from "./places.mjs";

/** The branch whose files the pages link to. */
const BRANCH = `${repository}/blob/main`;

/** The files of the repository that are pages of the site. */
export const inside = [list, ...guides, ...project];

const isInside = (path) => inside.includes(path) || path.startsWith("docs/images/");

/** Returns the text of a file. Links to what is not on the site lead to the repository. */
export function linked(path) {
  const text = withAbsoluteLinks(textOf(path), path, (target) => isInside(target) || target === "README.md", BRANCH);
  // The README is the landing page.
  return text.replaceAll(/(?<=\]\((?:\.\.\/)*)README\.md(?=[)#])/g, "index.md");
}

/** Writes a page. `fields` are its settings. */
export function writePage(path, text, fields) {
  const settings = Object.entries(fields).map(([name, value]) => `${name}: ${JSON.stringify(value)}\n`);
  mkdirSync(dirname(pages + path), { recursive: true });
  writeFileSync(pages + path, `---\n${settings.join("")}---\n\n${text}`);
}

/** The picture of the studio in the README. Here, the studio itself is in its place. */
const STUDIO_PICTURE = /^!\[The studio[^\n]*$/m;

/** Writes the landing page: the README, with the studio in the place of its picture. */
function writeLanding() {
  const [, name, claim, more, rest] = /^# (.+)\n+\*\*(.+?)\*\* (.+)\n+([^]+)$/.exec(linked("README.md"));
  if (!STUDIO_PICTURE.test(rest)) throw new Error("README.md has no picture of the studio");
  writePage("index.md", rest.replace(STUDIO_PICTURE, "```live-studio\n```"), {
    layout: "home",
    editLink: false,
    title: "Forkpoint",
    titleTemplate: claim.replace(/\.$/, ""),
    description: `${claim} ${more}`,
    hero: {
      name,
      text: claim.replace(/\.$/, ""),
      tagline: more,
      actions: [
        { text: "Start in two minutes", link: "#crash-resume-fork" },
        { text: "Guides", link: "/docs/", theme: "alt" },
        { text: "API", link: "/api/", theme: "alt" },
      ],
    },
  });
}

/** Writes all pages but those of the API. */
export function writePages() {
  for (const path of inside) {
    writePage(path, linked(path), { title: titleOf(path), description: sentenceOf(textOf(path)) });
  }
  writeLanding();
  cpSync(`${root}docs/images`, `${pages}docs/images`, { recursive: true });
  mkdirSync(files, { recursive: true });
  cpSync(`${root}tools/studio/page/icon.svg`, `${files}icon.svg`);
}
