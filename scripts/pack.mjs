// Packs a release: `node scripts/pack.mjs <folder with the packages> <output folder>`. SHA256SUMS lists the tarballs in
// publishing order: the addons first, so that no user gets a main package without its addon.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { root } from "./setup.mjs";

const [packages, output] = process.argv.slice(2).map((folder) => resolve(folder));
if (output === undefined) {
  console.error("usage: node scripts/pack.mjs <folder with the packages> <output folder>");
  process.exit(1);
}
rmSync(output, { recursive: true, force: true });
mkdirSync(output, { recursive: true });

const last = ["forkpoint", "forkpoint-conformance"];
const found = readdirSync(packages).toSorted();
const folders = [
  ...found.filter((folder) => !last.includes(folder)),
  ...last.filter((folder) => found.includes(folder)),
];
const args = ["pack", "--json", "--ignore-scripts", "--pack-destination", output];
const paths = folders.map((folder) => join(packages, folder));
const shell = process.platform === "win32";
const packed = JSON.parse(execFileSync("npm", [...args, ...paths], { cwd: root, encoding: "utf8", shell }));
const sums = paths.map((path) => {
  const { name, version } = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
  const { filename } = packed.find((each) => each.id === `${name}@${version}`);
  const sum = createHash("sha256")
    .update(readFileSync(join(output, filename)))
    .digest("hex");
  return `${sum}  ${filename}\n`;
});
writeFileSync(join(output, "SHA256SUMS"), sums.join(""));
console.log(sums.join("").trim());
