// Copies the tests of ../langgraph into this folder, where they find the newest LangGraph. A link would not work: Node would
// look for LangGraph beside the target of the link.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const from = fileURLToPath(new URL("../langgraph/", import.meta.url));
const to = fileURLToPath(new URL("./", import.meta.url));

/** The code of the tests. The other two files say how the tests run. */
const isCode = (name) => name.endsWith(".ts") && name !== "vitest.config.ts" && name !== "global-setup.ts";

/** The programs of the tests, and the modules of the stores that are measured. */
const folders = ["fixtures", "stores"];

/** Copies all tests and the files that they use. A file that is already equal stays, because another run may read it. */
export function copyTests() {
  const inFolder = (folder) => readdirSync(from + folder).map((name) => `${folder}/${name}`);
  const code = readdirSync(from).filter(isCode);
  for (const folder of folders) mkdirSync(to + folder, { recursive: true });
  for (const name of [...code, ...folders.flatMap(inFolder)]) {
    const bytes = readFileSync(from + name);
    if (!existsSync(to + name) || !readFileSync(to + name).equals(bytes)) writeFileSync(to + name, bytes);
  }
  for (const name of readdirSync(to)) if (isCode(name) && !code.includes(name)) rmSync(to + name);
}
