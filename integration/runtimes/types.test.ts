// The declarations fit each way to compile and to load the package.
import { join } from "node:path";
import { describe, expect, inject, it } from "vitest";
import { entryPoints, folderIn, forms, node, root, tool } from "./helpers.js";

it.each(forms)("attw finds no problem in any entry point: %s", (form) => {
  const { tarballs, project } = inject("installed")[form];
  const packed = tarballs.find((path) => /forkpoint-\d[^/\\]*$/.test(path))!;
  const { status, stdout } = node([tool("@arethetypeswrong/cli/dist/index.js"), packed, "--format", "json"], project);
  expect(status).toBe(0);
  const { analysis, problems } = JSON.parse(stdout);
  expect(problems ?? {}).toEqual({});
  expect(Object.keys(analysis.entrypoints).map((path) => path.replace(".", "forkpoint"))).toEqual(
    expect.arrayContaining(entryPoints),
  );
});

/** Uses every entry point. LangGraph's class must be the class of the program's own kind of module. */
const uses = `
import { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { openStore, type Store, type StoreOptions } from "forkpoint";
import { ForkpointSaver } from "forkpoint/langgraph";
${entryPoints.map((entry, at) => `import * as entry${at} from "${entry}";`).join("\n")}

export const entries: object[] = [${entryPoints.map((_, at) => `entry${at}`).join(", ")}];
export const saver: BaseCheckpointSaver = new ForkpointSaver("memory:");
export const options: StoreOptions = { durability: "normal" };
export const open = (): Promise<Store> => openStore("memory:", options);
export const close = (store: Store): Promise<void> => store.close();
// @ts-expect-error an option that does not exist
void openStore("memory:", { durabilty: "normal" });
`;

/** A module for `import` that passes its objects to a module for `require`: both have the same types. */
const both = `
import { openStore } from "forkpoint";
import { close } from "./uses.cjs";
await close(await openStore("memory:"));
`;

/** TypeScript's own messages about files of other packages are not about this package. */
const aboutOthers = (line: string) => /^(\.\.\/)*node_modules\/(?!forkpoint\/)|^ /.test(line) || missing.test(line);

/** Optional peers that are installed in folders of their own, with tests of the types: `integration/mastra` and `integration/openai-agents`. */
const missing = /error TS2307: Cannot find module '(@mastra\/core\/storage|@openai\/agents)'/;

describe("the declarations need no skipLibCheck under exactOptionalPropertyTypes", () => {
  it.each([
    ["node16", "node16", ["uses.cts", "uses.mts", "both.mts"]],
    ["nodenext", "nodenext", ["uses.cts", "uses.mts", "both.mts"]],
    ["esnext", "bundler", ["uses.ts"]],
    ["commonjs", "node10", ["uses.ts"]],
  ])("with module %s and moduleResolution %s", (module, moduleResolution, files) => {
    const compilerOptions = {
      module,
      moduleResolution,
      target: "es2022",
      lib: ["es2022", "esnext.disposable", "dom"],
      types: [],
      strict: true,
      exactOptionalPropertyTypes: true,
      esModuleInterop: true,
      skipLibCheck: false,
      noEmit: true,
    };
    const folder = folderIn("the addon beside", {
      "tsconfig.json": JSON.stringify({ compilerOptions, files }),
      ...Object.fromEntries(files.map((file) => [file, file === "both.mts" ? both : uses])),
    });
    const { stdout } = node([join(root, "node_modules/typescript/bin/tsc"), "-p", folder, "--pretty", "false"], folder);
    expect(stdout.split("\n").filter((line) => line !== "" && !aboutOthers(line))).toEqual([]);
  });
});
