// Writes the site for agents that read it: llms.txt lists the pages, llms-full.txt has the guides for users, and each page is also there as
// Markdown. See https://llmstxt.org.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { entries } from "./api.mjs";
import { groups, project, sentenceOf, textOf, titleOf } from "./guides.mjs";
import { inside, linked } from "./pages.mjs";
import { address, manifest, pages } from "./places.mjs";

const line = (path, title, about) => `- [${title}](${address}${path})${about === "" ? "" : `: ${about}`}\n`;

const lineOf = (path) => line(path, titleOf(path), sentenceOf(textOf(path)));

function index() {
  const [, claim, more] = /^\*\*(.+?)\*\* (.+)$/m.exec(textOf("README.md"));
  const sections = groups().map(({ title, pages: own }) => `\n## ${title}\n\n${own.map(lineOf).join("")}`);
  const api = entries.map(({ path, name }) => line(`api/${name}.md`, path, "classes, functions and types"));
  return `# Forkpoint

> ${claim} ${more}

Install it with \`npm install ${manifest.name}\`. The guides in one file: ${address}llms-full.txt
${sections.join("")}
## API

${api.join("")}
## Optional

${project.map(lineOf).join("")}`;
}

function write(path, text) {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

export function writeForAgents(folder) {
  for (const path of inside) write(folder + path, linked(path));
  for (const { name } of entries) {
    const path = `api/${name}.md`;
    const text = readFileSync(pages + path, "utf8").replace(/^---\n[^]*?\n---\n\n/, "");
    write(folder + path, text.replaceAll(/<a id="[\w-]+"><\/a> /g, ""));
  }
  write(`${folder}llms.txt`, index());
  // The last group is for contributors.
  const guides = [
    "README.md",
    ...groups()
      .slice(0, -1)
      .flatMap(({ pages: own }) => own),
  ];
  write(`${folder}llms-full.txt`, guides.map((path) => `${linked(path).trim()}\n`).join("\n---\n\n"));
}
