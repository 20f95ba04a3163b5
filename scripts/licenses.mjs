// Collects the licences of the Rust and C code that is linked into the addon. `node scripts/licenses.mjs <file>` writes them
// to a file. Without a file, it only checks that each is known.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { platforms } from "./platforms.mjs";
import { root } from "./setup.mjs";

/** The licences that may be linked into a product with another licence. */
const allowed = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "BSL-1.0",
  "ISC",
  "MIT",
  "Unicode-3.0",
  "Unlicense",
  "Zlib",
  "LLVM-exception",
]);

/** What some packages bundle: where the licence of the C code is. */
const bundled = {
  "libmimalloc-sys": ["c_src/mimalloc/v2/LICENSE"],
  ring: ["third_party/fiat/LICENSE"],
  "zstd-sys": ["zstd/LICENSE"],
};

/** What has no file with a licence. */
const besides = {
  "libsqlite3-sys": "SQLite itself is in the public domain: https://sqlite.org/copyright.html",
};

/** Returns the packages that are linked into the addon of any platform, sorted by name. */
function linked() {
  const options = { cwd: root, maxBuffer: 64 * 2 ** 20, encoding: "utf8" };
  const targets = Object.values(platforms).flatMap(({ target }) => ["--filter-platform", target]);
  const metadata = JSON.parse(
    execFileSync("cargo", ["metadata", "--quiet", "--format-version", "1", "--locked", ...targets], options),
  );
  const packages = new Map(metadata.packages.map((each) => [each.id, each]));
  const nodes = new Map(metadata.resolve.nodes.map((node) => [node.id, node]));
  const found = new Map();
  const visit = (id) => {
    const each = packages.get(id);
    // A macro runs in the compiler.
    if (found.has(id) || each.targets.some(({ kind }) => kind.includes("proc-macro"))) return;
    found.set(id, each);
    for (const { pkg, dep_kinds: kinds } of nodes.get(id).deps) if (kinds.some(({ kind }) => kind === null)) visit(pkg);
  };
  visit(metadata.packages.find(({ name, source }) => name === "forkpoint" && source === null).id);
  const others = [...found.values()].filter(({ source }) => source !== null);
  return others.toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/** Returns the texts of the licences of a package. */
function textsOf({ name, version, license, authors, manifest_path: manifest }) {
  const words = (license ?? "").split(/[\s()/]+/).filter((word) => !["", "OR", "AND", "WITH"].includes(word));
  const unknown = words.filter((word) => !allowed.has(word));
  if (words.length === 0 || unknown.length > 0)
    throw new Error(`${name} ${version} has the licence ${license}: look at it`);
  const folder = dirname(manifest);
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice|unlicense|copyright)/i.test(file));
  // We choose MIT where a package lets us.
  const chosen = license.includes(" AND ") ? [] : files.filter((file) => /mit/i.test(file));
  const paths = [...(chosen.length > 0 ? chosen : files).toSorted(), ...(bundled[name] ?? [])];
  const texts = paths.map((file) => readFileSync(join(folder, file), "utf8").trim());
  if (texts.length === 0 && words.includes("MIT")) {
    const holders = authors.length > 0 ? authors.join(", ") : `the authors of ${name}`;
    texts.push(`MIT License\n\nCopyright (c) ${holders}\n\n${mit()}`);
  }
  if (texts.length === 0) throw new Error(`${name} ${version} has no file with its licence (${license})`);
  return besides[name] === undefined ? texts : [...texts, besides[name]];
}

/** The text of the MIT licence without its copyright line, as this repository has it. */
const mit = () => readFileSync(`${root}LICENSE`, "utf8").split("\n\n").slice(2).join("\n\n").trim();

/** Returns the text with the licences of everything that is linked into the addon. */
export function addonLicences() {
  const all = linked();
  for (const [name, files] of Object.entries(bundled)) {
    const found = all.find((each) => each.name === name);
    if (found === undefined) throw new Error(`scripts/licenses.mjs names ${name}, which is not linked`);
    for (const file of files) {
      if (!existsSync(join(dirname(found.manifest_path), file))) throw new Error(`${name} has no ${file}`);
    }
  }
  // Most texts are those of several packages.
  const users = new Map();
  for (const each of all) {
    for (const text of textsOf(each)) users.set(text, [...(users.get(text) ?? []), `${each.name} ${each.version}`]);
  }
  const list = all.map(({ name, version, license }) => `${name} ${version}: ${license}`).join("\n");
  const texts = Array.from(users, ([text, names]) => `\n${"-".repeat(80)}\n${names.join(", ")}:\n\n${text}\n`);
  return `The addon of forkpoint contains code of these packages:\n\n${list}\n${texts.join("")}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const text = addonLicences();
  const [file] = process.argv.slice(2);
  if (file !== undefined) writeFileSync(file, text);
}
