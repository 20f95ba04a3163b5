// Compares the public types with the reviewed ones in etc/api: `node scripts/api.mjs`. `--write` renews those.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import ts from "typescript";
import { root } from "./setup.mjs";

const reviewed = `${root}etc/api`;

/** Writes the declarations without comments into a folder. */
function writeApi(folder) {
  const printer = ts.createPrinter({ removeComments: true, newLine: ts.NewLineKind.LineFeed });
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const file of readdirSync(`${root}dist/types`).filter((name) => name.endsWith(".d.ts"))) {
    const source = ts.createSourceFile(file, readFileSync(`${root}dist/types/${file}`, "utf8"), ts.ScriptTarget.Latest);
    writeFileSync(join(folder, file), printer.printFile(source));
  }
}

if (process.argv.includes("--write")) writeApi(reviewed);
else {
  const folder = mkdtempSync(join(tmpdir(), "forkpoint-api-"));
  writeApi(folder);
  const { status } = spawnSync("git", ["--no-pager", "diff", "--no-index", reviewed, folder], { stdio: "inherit" });
  rmSync(folder, { recursive: true });
  if (status !== 0) {
    console.error("The public types differ from etc/api. If that is right, run node scripts/api.mjs --write");
    process.exit(1);
  }
}
