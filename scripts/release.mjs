// Lays out the packages of a release: `node scripts/release.mjs <folder with the addons> <output folder>`. Writes one
// package for each platform with an addon, and the package `forkpoint`, which has the platform packages as optional
// dependencies. With `--all`, a missing addon is an error.
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { platforms } from "./platforms.mjs";
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

const optionalDependencies = {};
for (const [platform, { os, cpu, libc }] of Object.entries(platforms)) {
  const file = `${name}.${platform}.node`;
  if (!existsSync(join(addons, file))) {
    if (!process.argv.includes("--all")) continue;
    console.error(`${file} is missing in ${addons}`);
    process.exit(1);
  }
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
    files: [file],
  };
  lay(join(output, platform), content, [
    [join(addons, file), file],
    [`${root}LICENSE`, "LICENSE"],
  ]);
}
const { scripts: _, devDependencies: __, ...published } = manifest;
const types = readdirSync(root).filter((file) => file.endsWith(".d.ts"));
const copies = ["dist", ...types, "README.md", "CHANGELOG.md", "LICENSE"];
lay(
  join(output, name),
  { ...published, files: manifest.files.filter((file) => file !== "*.node"), optionalDependencies },
  copies.map((file) => [root + file, file]),
);
