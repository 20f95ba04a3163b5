// Collects the licences of the Rust and C code in the addon. `node scripts/licenses.mjs <file>` writes them to a file.
// Without a file, only checks that each is known.
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { linked } from "./linked.mjs";
import { root } from "./setup.mjs";

/** The licences that are allowed in a product with another licence. */
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

/** The packages without a licence file. */
const besides = {
  "libsqlite3-sys": "SQLite itself is in the public domain: https://sqlite.org/copyright.html",
};

/** Returns the texts of the licences of a package. */
function textsOf({ name, version, license, authors, folder, code }) {
  const words = (license ?? "").split(/[\s()/]+/).filter((word) => !["", "OR", "AND", "WITH"].includes(word));
  const unknown = words.filter((word) => !allowed.has(word));
  if (words.length === 0 || unknown.length > 0)
    throw new Error(`${name} ${version} has the licence ${license}: look at it`);
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice|unlicense|copyright)/i.test(file));
  // Choose MIT where a package allows that.
  const chosen = license.includes(" AND ") ? [] : files.filter((file) => /mit/i.test(file));
  const paths = [...(chosen.length > 0 ? chosen : files).toSorted(), ...(code?.texts ?? [])];
  const texts = paths.map((file) => readFileSync(join(folder, file), "utf8").trim());
  if (texts.length === 0 && words.includes("MIT")) {
    const holders = authors.length > 0 ? authors.join(", ") : `the authors of ${name}`;
    texts.push(`MIT License\n\nCopyright (c) ${holders}\n\n${mit()}`);
  }
  if (texts.length === 0) throw new Error(`${name} ${version} has no file with its licence (${license})`);
  return besides[name] === undefined ? texts : [...texts, besides[name]];
}

/** The text of the MIT licence in this repository, without its copyright line. */
const mit = () => readFileSync(`${root}LICENSE`, "utf8").split("\n\n").slice(2).join("\n\n").trim();

/** Returns the text with the licences of all code in the addon. */
export function addonLicences() {
  const all = linked().filter(({ source }) => source !== null);
  // Most texts are shared by several packages.
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
