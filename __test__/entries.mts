// The import paths of the package and their files, as package.json has them. vitest resolves the package by its own name with these.
import { readFileSync } from "node:fs";
import { join } from "node:path";

type Target = { default: string; import?: { default: string } };

/**
 * Returns an alias of vitest for each import path of the package. `folder` is the folder where the package is installed, or
 * will be.
 */
export function entries(folder: string): Array<{ find: RegExp; replacement: string }> {
  const { name, exports } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8")) as {
    name: string;
    exports: Record<string, Target | string>;
  };
  return Object.entries(exports)
    .filter((entry): entry is [string, Target] => typeof entry[1] === "object")
    .map(([path, { default: file, import: forImport }]) => ({
      find: new RegExp(`^${name}${path.slice(1)}$`),
      replacement: join(folder, forImport?.default ?? file),
    }));
}
