// Copies the built package into node_modules beside a framework, as in a user's project. A link would not work: Node would look for
// the framework in the repository's own node_modules, where it is not installed.
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, utimesSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Returns the files and folders of the package, relative to its folder. */
function parts(folder) {
  if (!existsSync(folder)) return [];
  const dist = existsSync(join(folder, "dist")) ? readdirSync(join(folder, "dist"), { recursive: true }) : [];
  return [
    ...readdirSync(folder).filter((name) => name === "package.json" || /\.(d\.ts|node)$/.test(name)),
    ...dist.map((name) => join("dist", String(name))).filter((path) => statSync(join(folder, path)).isFile()),
  ];
}

/**
 * Copies the package.
 *
 * @param {string} project The folder with the tests and their framework.
 */
export function copyPackage(project) {
  const installed = join(project, "node_modules/forkpoint/");
  const wanted = parts(root);
  if (!wanted.some((path) => path.startsWith("dist"))) throw new Error("the package is not built: npm run build");
  for (const path of wanted) {
    const from = join(root, path);
    const to = join(installed, path);
    const { size, atime, mtime } = statSync(from);
    const there = statSync(to, { throwIfNoEntry: false });
    if (there?.size === size && there.mtimeMs === mtime.getTime()) continue;
    // Rename the complete copy into place, because another run of the tests may still use the old copy.
    const whole = `${to}.${process.pid}`;
    mkdirSync(dirname(to), { recursive: true });
    copyFileSync(from, whole);
    utimesSync(whole, atime, mtime);
    renameSync(whole, to);
  }
  for (const path of parts(installed)) if (!wanted.includes(path)) rmSync(join(installed, path), { force: true });
}
