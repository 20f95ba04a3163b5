// Packs the package, and installs it as its users do.
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));

/** Runs npm and returns what it prints. */
export function npm(args: string[], cwd: string): string {
  const shell = process.platform === "win32";
  return execFileSync("npm", args, { cwd, encoding: "utf8", shell, stdio: ["ignore", "pipe", "pipe"] });
}

/** Packs the package in the folder `from`. Returns the path of the tarball, which is in the folder `to`. */
export function pack(from: string, to: string): string {
  const [{ filename }] = JSON.parse(npm(["pack", "--json", "--ignore-scripts", "--pack-destination", to, from], root));
  return join(to, filename);
}

/** Packs the repository. Its package contains the addon of this machine. */
export const packWithAddon = (to: string): string[] => [pack(root, to)];

/** Lays out the packages of a release in the folder `output`: the addon has a package of its own. Returns what users install together. */
export function layOut(output: string): string[] {
  execFileSync(process.execPath, [join(root, "scripts/release.mjs"), root, output], { stdio: "pipe" });
  return readdirSync(output).filter((name) => name !== "forkpoint-conformance");
}

/** Packs the packages of a release. `folder` must be empty. */
export function packRelease(folder: string): string[] {
  const output = join(folder, "packages");
  mkdirSync(output);
  return layOut(output).map((name) => pack(join(output, name), folder));
}

/** Makes a project in an empty folder, and installs tarballs offline, because they need nothing from the registry. */
export function install(project: string, tarballs: string[], manifest: object = {}): void {
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "user", private: true, ...manifest }));
  npm(["install", "--ignore-scripts", "--offline", "--no-audit", "--no-fund", ...tarballs], project);
}
