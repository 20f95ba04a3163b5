// Copies the tests of ../langgraph into this folder, where they find the newest LangGraph. A link would not work: Node would
// look for LangGraph beside the target of the link.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const from = fileURLToPath(new URL("../langgraph/", import.meta.url));
const to = fileURLToPath(new URL("./", import.meta.url));

const isTest = (name) => name.endsWith(".test.ts");

/** Copies all tests and the files that they use. A file that is already equal stays, because another run may read it. */
export function copyTests() {
  const fixtures = readdirSync(`${from}fixtures`).map((name) => `fixtures/${name}`);
  const tests = readdirSync(from).filter(isTest);
  mkdirSync(`${to}fixtures`, { recursive: true });
  for (const name of [...tests, ...fixtures, "helpers.ts", "children.ts"]) {
    const bytes = readFileSync(from + name);
    if (!existsSync(to + name) || !readFileSync(to + name).equals(bytes)) writeFileSync(to + name, bytes);
  }
  for (const name of readdirSync(to)) if (isTest(name) && !tests.includes(name)) rmSync(to + name);
}
