/**
 * Installs the built package beside LangGraph, as a user's project has it: a linked one would look for LangGraph in the
 * repository's own node_modules, where it is not.
 */

import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));
const installed = fileURLToPath(new URL("node_modules/forkpoint/", import.meta.url));

/** What the package is made of, relative to its folder. */
function parts(folder: string): string[] {
  if (!existsSync(folder)) return [];
  const dist = existsSync(join(folder, "dist")) ? readdirSync(join(folder, "dist"), { recursive: true }) : [];
  return [
    ...readdirSync(folder).filter((name) => name === "package.json" || /\.(d\.ts|node)$/.test(name)),
    ...dist.map((name) => join("dist", String(name))).filter((path) => statSync(join(folder, path)).isFile()),
  ];
}

export default function setup(): void {
  const wanted = parts(root);
  if (!wanted.some((path) => path.startsWith("dist"))) throw new Error("the package is not built: npm run build");
  for (const path of wanted) {
    const from = join(root, path);
    const to = join(installed, path);
    const { size, atime, mtime } = statSync(from);
    const there = statSync(to, { throwIfNoEntry: false });
    if (there?.size === size && there.mtimeMs === mtime.getTime()) continue;
    // Moved into its place whole: another run may have the old one open.
    const whole = `${to}.${process.pid}`;
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(from, whole);
    utimesSync(whole, atime, mtime);
    renameSync(whole, to);
  }
  for (const path of parts(installed)) if (!wanted.includes(path)) rmSync(join(installed, path), { force: true });
}
