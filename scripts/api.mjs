// Compares the public types with the reviewed ones in etc/api: `node scripts/api.mjs`. `--write` updates those.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import ts from "typescript";
import { root } from "./setup.mjs";

const reviewed = `${root}etc/api`;

/** Returns the name that a statement declares. An export list has none, and comes first. */
const nameOf = ({ name, declarationList }) => (name ?? declarationList?.declarations[0].name)?.text ?? "";

/** Writes the declarations into a folder, without comments, and in an order that is independent of the code's. */
function writeApi(folder) {
  const printer = ts.createPrinter({ removeComments: true, newLine: ts.NewLineKind.LineFeed });
  const files = readdirSync(`${root}dist/types`).filter((name) => name.endsWith(".d.ts"));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  for (const file of files) {
    const source = ts.createSourceFile(file, readFileSync(`${root}dist/types/${file}`, "utf8"), ts.ScriptTarget.Latest);
    const statements = source.statements.filter((each) => !ts.isImportDeclaration(each));
    const sorted = statements.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : Number(nameOf(a) > nameOf(b))));
    const text = printer.printFile(ts.factory.updateSourceFile(source, sorted));
    // Each exported name has its own line, so that a difference shows it.
    writeFileSync(
      join(folder, file),
      text.replaceAll(/^export .*$/gm, (line) => line.replaceAll(/, |(?<=\{) | (?=\})/g, "\n")),
    );
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
