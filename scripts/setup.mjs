// What the other scripts need before they start: dependencies that the lockfiles name, and a build. Uses Node alone, so that
// every command of the README works in a fresh clone.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("..", import.meta.url));

/** Runs a command in the repository, its output shown; ends the process with its status if it fails. */
export function run(command, args, { cwd = root, env = {} } = {}) {
  console.log(`\n> ${[command === process.execPath ? "node" : command, ...args].join(" ").replaceAll(root, "")}`);
  try {
    const shell = process.platform === "win32" && command !== process.execPath;
    execFileSync(command, args, { cwd, stdio: "inherit", shell, env: { ...process.env, ...env } });
  } catch (error) {
    if (error.code === "ENOENT") console.error(`${command} is not installed${command === "cargo" ? ": https://rustup.rs" : ""}`);
    process.exit(typeof error.status === "number" && error.status > 0 ? error.status : 1);
  }
}

/** Runs a tool that is installed in the root's node_modules. */
export function tool(path, args, options) {
  run(process.execPath, [`${root}node_modules/${path}`, ...args], options);
}

/** Installs what the folder's lockfile names, unless that is there. Nothing of it runs a script. */
export function install(folder) {
  const locked = `${folder}package-lock.json`;
  const installed = `${folder}node_modules/.package-lock.json`;
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(locked).mtimeMs) return;
  run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: folder });
}

/** Whom the benchmarks measure beside. No test needs them, and one of them is compiled. */
const peersFolder = `${root}integration/peers/`;

/** The folders of frameworks, each with a lockfile of its own. */
export function integrations() {
  return readdirSync(`${root}integration`)
    .map((name) => `${root}integration/${name}/`)
    .filter((folder) => folder !== peersFolder);
}

/** What the benchmarks need beyond that. */
export function peers() {
  install(peersFolder);
  const compiled = `${peersFolder}node_modules/better-sqlite3/build/Release/better_sqlite3.node`;
  if (!existsSync(compiled)) run("npm", ["rebuild", "better-sqlite3"], { cwd: peersFolder });
}

/** Everything that a command needs: `frameworks` as well, unless told otherwise. */
export function setup({ frameworks = true } = {}) {
  install(root);
  run(process.execPath, [`${root}scripts/build.mjs`]);
  if (frameworks) integrations().forEach(install);
}
