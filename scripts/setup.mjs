// Prepares the repository for other scripts: installs the locked dependencies and builds. Needs only Node, so that
// every command of the README works in a fresh clone.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** Runs a command in the repository and shows its output. If it fails, ends the process with its status. */
export function run(command, args, { cwd = root, env = {} } = {}) {
  console.log(`\n> ${[command === process.execPath ? "node" : command, ...args].join(" ").replaceAll(root, "")}`);
  try {
    const shell = process.platform === "win32" && command !== process.execPath;
    execFileSync(command, args, { cwd, stdio: "inherit", shell, env: { ...process.env, ...env } });
  } catch (error) {
    if (error.code === "ENOENT")
      console.error(`${command} is not installed${command === "cargo" ? ": https://rustup.rs" : ""}`);
    process.exit(typeof error.status === "number" && error.status > 0 ? error.status : 1);
  }
}

/** Runs a tool from the root's node_modules. */
export function tool(path, args, options) {
  run(process.execPath, [`${root}node_modules/${path}`, ...args], options);
}

/** The command that installs the packages of a lockfile. It runs no install scripts. */
export const locked = {
  command: "npm",
  args: ["ci", "--ignore-scripts", "--no-audit", "--no-fund"],
  shell: process.platform === "win32",
};

/** Returns true if the packages of the folder's lockfile are missing or outdated. */
function isOutdated(folder) {
  const installed = `${folder}node_modules/.package-lock.json`;
  return !existsSync(installed) || statSync(installed).mtimeMs < statSync(`${folder}package-lock.json`).mtimeMs;
}

/** Installs the packages of these folders if they are missing or outdated. */
export function install(...folders) {
  const outdated = folders.filter(isOutdated);
  if (outdated.length > 0) run(process.execPath, [`${root}scripts/installs.mjs`, ...outdated]);
}

/**
 * The folder of the packages that benchmarks compare Forkpoint with. No test needs them, and one of them must be
 * compiled.
 */
const peersFolder = `${root}integration/peers/`;

/** The folders of the frameworks, and of the tools and runtimes. Each has its own lockfile. */
export function integrations() {
  return readdirSync(`${root}integration`)
    .map((name) => `${root}integration/${name}/`)
    .filter((folder) => folder !== peersFolder);
}

/** The folder of the site. Only the site needs its generator. */
export const siteFolder = `${root}site/`;

/** Installs the packages that only the benchmarks need. */
export function peers() {
  install(peersFolder);
  const compiled = `${peersFolder}node_modules/better-sqlite3/build/Release/better_sqlite3.node`;
  if (!existsSync(compiled)) run("npm", ["rebuild", "better-sqlite3"], { cwd: peersFolder });
}

/**
 * Installs all dependencies and builds. `frameworks` are the folders in integration/ to install, or `site`. Default:
 * all. If `release` is true, makes the addon for a release.
 */
export function setup({ frameworks, release = false } = {}) {
  install(root);
  run(process.execPath, [`${root}scripts/build.mjs`, ...(release ? ["--release"] : [])]);
  const folders = [...integrations(), siteFolder];
  install(...folders.filter((folder) => frameworks?.includes(basename(folder)) ?? true));
}
