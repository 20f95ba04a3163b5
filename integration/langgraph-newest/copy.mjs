// Copies tests of ../langgraph into this folder, where they find the newest LangGraph. A link would not work: Node would
// look for LangGraph beside the target of the link.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const from = fileURLToPath(new URL("../langgraph/", import.meta.url));
const to = fileURLToPath(new URL("tests/", import.meta.url));

/**
 * The tests that also run on the newest LangGraph: those of what a new version can change. The other tests call the saver
 * alone, or need the files of the oldest version.
 */
export const tests = [
  "commonjs",
  "conformance",
  "crash",
  "functional",
  "interrupts",
  "leases",
  "order",
  "origin",
  "recovery",
  "status",
  "subgraphs",
  "threads",
].map((name) => `${name}.test.ts`);

/** Copies the tests and the files that they use. A file that is already equal stays, because another run may read it. */
export function copyTests() {
  const fixtures = readdirSync(`${from}fixtures`).map((name) => `fixtures/${name}`);
  const wanted = [...tests, ...fixtures, "helpers.ts", "children.ts"];
  mkdirSync(`${to}fixtures`, { recursive: true });
  for (const name of wanted) {
    const bytes = readFileSync(from + name);
    if (!existsSync(to + name) || !readFileSync(to + name).equals(bytes)) writeFileSync(to + name, bytes);
  }
  for (const name of readdirSync(to)) if (name !== "fixtures" && !wanted.includes(name)) rmSync(to + name);
}
