// Tests the links of the documents: each target exists, and so does its anchor. In the package of a release, each link
// leads to a file of the package or is absolute.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { folder } from "./helpers.js";

interface Link {
  target: string;
  path: string;
  anchor: string;
}

interface Links {
  relativeLinks(text: string, file: string): Link[];
  anchorsOf(text: string): Set<string>;
}

const root = fileURLToPath(new URL("..", import.meta.url));
const script: string = "../scripts/links.mjs";
const { relativeLinks, anchorsOf } = (await import(script)) as Links;

/** Returns the links of a folder's documents whose target is missing. */
function brokenLinks(place: string, documents: string[]): { broken: string[]; count: number } {
  const broken: string[] = [];
  let count = 0;
  for (const document of documents) {
    for (const { target, path, anchor } of relativeLinks(readFileSync(join(place, document), "utf8"), document)) {
      count += 1;
      const file = join(place, path);
      if (!existsSync(file)) broken.push(`${document}: ${target} does not exist`);
      else if (anchor !== "" && !(path.endsWith(".md") && anchorsOf(readFileSync(file, "utf8")).has(anchor))) {
        broken.push(`${document}: ${target} has no such heading`);
      }
    }
  }
  return { broken, count };
}

const markdownIn = (place: string) =>
  readdirSync(join(root, place), { recursive: true })
    .map((name) => `${place}/${String(name).replaceAll("\\", "/")}`)
    .filter((name) => name.endsWith(".md"));

it("every relative link of the repository's documents leads to a file and to a heading of it", () => {
  const documents = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    ...["docs", "examples", "engine/fixtures"].flatMap(markdownIn),
  ];
  const { broken, count } = brokenLinks(root, documents);
  expect(broken).toEqual([]);
  expect(count).toBeGreaterThan(100);
});

it("every link in the package of a release leads into the package or is absolute", () => {
  const output = folder();
  execFileSync(process.execPath, [join(root, "scripts/release.mjs"), root, output], { stdio: "pipe" });
  const place = join(output, "forkpoint");
  const documents = readdirSync(place, { recursive: true })
    .map((name) => String(name).replaceAll("\\", "/"))
    .filter((name) => name.endsWith(".md"));
  expect(documents).toEqual(
    expect.arrayContaining(["README.md", "CHANGELOG.md", "docs/index.md", "examples/README.md"]),
  );
  expect(brokenLinks(place, documents).broken).toEqual([]);
  const { version } = JSON.parse(readFileSync(join(place, "package.json"), "utf8"));
  const readme = readFileSync(join(place, "README.md"), "utf8");
  expect(readme).toContain(`](https://github.com/forkpoint/forkpoint/blob/v${version}/CONTRIBUTING.md)`);
  expect(readme).toContain(`](https://github.com/forkpoint/forkpoint/raw/v${version}/docs/images/run.svg)`);
  expect(readme).toContain("](docs/langgraph.md)");
  // Every absolute link to the repository leads to a file of it.
  const base = `https://github.com/forkpoint/forkpoint/blob/v${version}/`;
  for (const document of documents) {
    const text = readFileSync(join(place, document), "utf8");
    for (const [, path] of text.matchAll(
      /\]\(https:\/\/github\.com\/forkpoint\/forkpoint\/(?:blob|raw)\/[^/]+\/([^)#]+)/g,
    )) {
      expect(existsSync(join(root, path!)), `${document}: ${base}${path}`).toBe(true);
    }
  }
});
