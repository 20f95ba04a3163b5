/** Prints the code that goes on with a run. It never passes a question to a human without the answer. */

import { ForkpointError, quote, typeError } from "../bridge/errors.js";
import { readRecord } from "../store/options.js";
import { findCheckpoint } from "./checkpoints.js";
import { type Context, isMain } from "./context.js";
import { readPosition } from "./position.js";
import { type Program, programs } from "./programs.js";
import type { Key } from "./wire.js";
import type { Snippet } from "./views.js";

const codeOptions = {
  module: (value: unknown, name: string) => {
    if (value !== "esm" && value !== "cjs") throw typeError(`${name} must be "esm" or "cjs"`);
    return value;
  },
};

/** The contracts that go on in the same run. The newest checkpoint is then where the run stands. */
const IN_PLACE: ReadonlySet<string> = new Set(["langgraph", "tinyagents", "helix"]);

/** Returns the code that goes on with a run, or with a checkpoint if one is given. */
export async function codeOf(context: Context, key: Key, id: string | undefined, given: unknown): Promise<Snippet[]> {
  const { module = "esm" } = readRecord(given, "options", codeOptions) as { module?: "esm" | "cjs" };
  const write = programs[key.space as keyof typeof programs];
  if (write === undefined) {
    throw new ForkpointError("UNSUPPORTED", `nothing resumes a value of the space ${quote(key.space)}`);
  }
  const of = id === undefined ? await rootOf(context, key) : key;
  const newest = await findCheckpoint(context, of, {});
  const isNewest = id === undefined || (id === newest?.row.id && IN_PLACE.has(of.space));
  const found = isNewest ? newest : await findCheckpoint(context, of, { id });
  if (found === null) {
    const what = id === undefined ? `run ${quote(key.run)}` : `checkpoint ${quote(id)} of run ${quote(key.run)}`;
    throw new ForkpointError("NOT_FOUND", `${what} not found: nothing to go on with`);
  }
  const position = await readPosition(context, found.row, isNewest);
  const program = write({ target: context.target, ...of, id: isNewest ? undefined : id, position });
  return [{ framework: program.framework, language: "ts", code: textOf(program, module) }];
}

/** A subgraph is resumed with the graph that called it. Returns the reference of that graph, if it has checkpoints. */
async function rootOf(context: Context, key: Key): Promise<Key> {
  const root = { ...key, ns: "" };
  return isMain(key.space, key.ns) || (await findCheckpoint(context, root, {})) === null ? key : root;
}

/** CommonJS has no `await` outside of a function. */
function textOf({ imports, body }: Program, module: "esm" | "cjs"): string {
  if (module === "esm") {
    const lines = imports.map(([names, from]) => `import { ${names} } from ${JSON.stringify(from)};`);
    return [...lines, "", ...body, ""].join("\n");
  }
  const lines = imports.map(([names, from]) => `const { ${names} } = require(${JSON.stringify(from)});`);
  return [...lines, "", "async function main() {", ...body.map((line) => `  ${line}`), "}", "", "main();", ""].join(
    "\n",
  );
}
