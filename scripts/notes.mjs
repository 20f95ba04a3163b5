// Prints the notes of a release from CHANGELOG.md: `node scripts/notes.mjs [<tag>]`. Fails unless the tag, all
// manifests and a heading of the changelog have the same version.
import { readFileSync } from "node:fs";
import { format } from "prettier";
import { pagesOf, withAbsoluteLinks } from "./links.mjs";
import { root } from "./setup.mjs";

/** The maximum length of GitHub's release notes. */
const MOST = 125_000;

const read = (file) => readFileSync(root + file, "utf8");
const manifest = JSON.parse(read("package.json"));
const { version } = manifest;
const problems = [];

const tag = process.argv[2] ?? `v${version}`;
if (tag !== `v${version}`) problems.push(`the tag is ${tag}, and package.json has the version ${version}`);
const conformance = JSON.parse(read("conformance/package.json")).version;
if (conformance !== version)
  problems.push(`conformance/package.json has the version ${conformance}, and not ${version}`);
const crates = /^\[workspace\.package\]\n(?:.+\n)*?version = "(.+)"$/m.exec(read("Cargo.toml"))?.[1];
if (crates !== version) problems.push(`Cargo.toml has the version ${crates}, and not ${version}`);

// A section begins with its heading, such as "## 1.2.3 - 2026-12-31".
const sections = read("CHANGELOG.md")
  .split(/^(?=## )/m)
  .slice(1);
const [newest] = sections;
const heading = newest?.split("\n", 1)[0].slice("## ".length).split(" ", 1)[0];
if (heading !== version) problems.push(`CHANGELOG.md begins with ${heading}, and not with ${version}`);
const notes = newest?.split("\n").slice(1).join("\n").trim() ?? "";
if (heading === version && notes === "") problems.push(`CHANGELOG.md says nothing about ${version}`);
if (notes.length > MOST) problems.push(`the notes are longer than ${MOST} characters`);

if (problems.length > 0) {
  console.error(problems.join("\n"));
  process.exit(1);
}
// GitHub shows the notes outside the repository, and each line break as a new line.
const absolute = withAbsoluteLinks(notes, "CHANGELOG.md", () => false, pagesOf(manifest));
process.stdout.write(await format(absolute, { parser: "markdown", proseWrap: "never" }));
