// Lays out the packages of a release: `node scripts/release.mjs <folder with the addons> <output folder>`. Writes a
// package for each platform with an addon, the package `forkpoint`, whose optional dependencies are the platform
// packages, and the package `forkpoint-conformance`. Each has a bill of materials. With `--all`, a missing addon is an
// error. Documents link to the repository for files outside of the package.
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { addonLicences } from "./licenses.mjs";
import { pagesOf, withAbsoluteLinks } from "./links.mjs";
import { platforms } from "./platforms.mjs";
import { SBOM, addonBill, emptyBill, mainBill } from "./sbom.mjs";
import { root } from "./setup.mjs";

const [addons, output] = process.argv
  .slice(2)
  .filter((argument) => argument !== "--all")
  .map((folder) => resolve(folder));
if (output === undefined) {
  console.error("usage: node scripts/release.mjs <folder with the addons> <output folder> [--all]");
  process.exit(1);
}
const manifest = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
const { name, version, license, repository, engines } = manifest;

function lay(folder, content, files) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(content, null, 2)}\n`);
  for (const [from, to] of files) cpSync(from, join(folder, to), { recursive: true });
  console.log(folder);
}

function refuse(problem) {
  console.error(problem);
  process.exit(1);
}

const complete = process.argv.includes("--all");
const fileOf = (platform) => `${name}.${platform}.node`;
const files = Object.keys(platforms).map(fileOf);
const missing = files.filter((file) => !existsSync(join(addons, file)));
if (complete && missing.length > 0) refuse(`${missing.join(", ")} is missing in ${addons}`);
const unknown = readdirSync(addons).filter((file) => file.endsWith(".node") && !files.includes(file));
if (unknown.length > 0) refuse(`${unknown.join(", ")} has no platform in scripts/platforms.mjs`);

const licences = addonLicences();
const optionalDependencies = {};
for (const [platform, { os, cpu, libc }] of Object.entries(platforms)) {
  const file = fileOf(platform);
  if (missing.includes(file)) continue;
  optionalDependencies[`${name}-${platform}`] = version;
  const content = {
    name: `${name}-${platform}`,
    version,
    description: `The addon of ${name} for ${platform}`,
    license,
    repository,
    engines,
    os: [os],
    cpu: [cpu],
    ...(libc && { libc: [libc] }),
    main: file,
    files: [file, "LICENSES.txt", SBOM],
  };
  lay(join(output, platform), content, [
    [join(addons, file), file],
    [`${root}LICENSE`, "LICENSE"],
  ]);
  writeFileSync(join(output, platform, "LICENSES.txt"), licences);
  writeFileSync(join(output, platform, SBOM), addonBill(content, platform));
}
const { scripts: _, devDependencies: __, ...published } = manifest;
const copies = ["dist", "docs", "examples", "index.d.ts", "README.md", "CHANGELOG.md", "LICENSE"];
const packed = join(output, name);
const main = {
  ...published,
  files: [...manifest.files.filter((file) => file !== "*.node"), SBOM],
  optionalDependencies,
};
lay(
  packed,
  main,
  copies.map((file) => [root + file, file]),
);
writeFileSync(join(packed, SBOM), mainBill(main));
const suites = `${root}conformance/`;
const tested = JSON.parse(readFileSync(`${suites}package.json`, "utf8"));
const conformance = { ...tested, version, files: [...tested.files, SBOM] };
lay(join(output, conformance.name), conformance, [
  ...["dist", "README.md"].map((file) => [suites + file, file]),
  [`${root}LICENSE`, "LICENSE"],
]);
writeFileSync(join(output, conformance.name, SBOM), emptyBill(conformance));
// Pictures and the guides for contributors are only in the repository.
for (const left of manifest.files.filter((file) => file.startsWith("!"))) {
  rmSync(join(packed, left.slice(1)), { recursive: true, force: true });
}
// Files that are only in the repository are linked there.
const base = pagesOf(manifest);
for (const file of readdirSync(packed, { recursive: true }).map((path) => path.replaceAll(sep, "/"))) {
  if (!file.endsWith(".md")) continue;
  const path = join(packed, file);
  const isInside = (target) => existsSync(join(packed, target));
  writeFileSync(path, withAbsoluteLinks(readFileSync(path, "utf8"), file, isInside, base));
}
