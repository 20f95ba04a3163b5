// Bundles the modules of ts/ into dist. A program starts faster if it loads few files, with only the code that it
// needs: see docs/internals/tools.md, section "Bundles".
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, posix, relative, resolve, sep } from "node:path";
import { transform } from "esbuild";
import { rollup } from "rollup";
import { root } from "./setup.mjs";

const source = `${root}ts`;

/** Modules that the tools load alone. Each has a small file that takes the module from a bundle. */
const forTools = [
  "bridge/errors",
  "bridge/json-form/form",
  "bridge/json-form/json-text",
  "bridge/json-form/path",
  "contracts/registry",
  "inspect/conversation/cost",
  "inspect/conversation/lists",
  "inspect/conversation/usage-order",
  "inspect/copy-runs",
  "inspect/diff",
  "inspect/edit",
  "inspect/export-mark",
  "inspect/graph",
  "inspect/leave-out",
  "inspect/limit",
  "inspect/runs",
  "store/options",
];

/** Modules that tests and benchmarks load alone, from dist/inner, which is not published. */
const forTests = [
  "bridge/bytes",
  "bridge/channels",
  "bridge/incremental/json",
  "bridge/incremental/list-format",
  "bridge/incremental/memory",
  "bridge/json-form/to-json-form",
  "bridge/native",
  "bridge/serializer",
  "bridge/wire",
  "contracts/agentium/wire",
  "contracts/agentos/stored",
  "contracts/agentos/wire",
  "contracts/helix/values",
  "contracts/langgraph/json",
  "contracts/langgraph/serde",
  "contracts/shared/recover-runs",
  "contracts/shared/recover-options",
  "store/ended-runs",
  "store/handle",
  "store/handle-of",
  "store/stored-programs",
  "store/store",
];

/** The prefix of the id of a module that only re-exports another one. It keeps Rollup from naming a bundle after it. */
const ALONE = "\0alone:";

/** Returns the modules of the entry points, such as `contracts/agentos/index`. */
function entries() {
  const { exports } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
  const files = Object.values(exports).map(({ default: file }) => /^\.\/dist\/(?!studio\/)(.*)\.js$/.exec(file)?.[1]);
  return files.filter((name) => name !== undefined);
}

/** Returns the modules with this name, such as `contracts/helix/later`: one for each room that has it. */
function named(name, end = ".ts") {
  const files = readdirSync(source, { recursive: true }).map((file) => file.replaceAll(sep, "/"));
  return files.filter((file) => file.endsWith(`/${name}${end}`)).map((file) => file.slice(0, -end.length));
}

const fileOf = (name) => resolve(source, `${name}.ts`);
const nameOf = (id) => relative(source, id).replaceAll(sep, "/").replace(/\.ts$/, "");

/**
 * Returns the bundle of a module. In each room, `start` has the modules to open a store, to save and to read, and
 * `later` has those that are loaded on first use. All share the rooms `bridge` and `store`: modules that need the addon
 * are in dist/store, and others in dist/bridge, because the command line, `forkpoint/otel` and `forkpoint/testing` load
 * no addon.
 */
function bundleOf(name, { starts, used, needsAddon, forCopies }) {
  // The command line and the studio load the second module alone.
  if (name === "bridge/bundled" || name === "inspect/step-name") return name;
  // The traits of all frameworks are small and need no other module.
  if (isOfTraits(name)) return "bridge/start";
  const [, room] = /^(contracts\/[\w-]+|\w+)\//.exec(name) ?? [];
  if (room === undefined || /^(?:otel|testing)$/.test(room) || name === `${room}/index`) return undefined;
  // Only the tools use this module. It is in no bundle, so that the command line does not load the addon with it.
  if (name === "inspect/conversation/usage-order") return undefined;
  // The inspector has its own entry. The entry `forkpoint` uses a part of it to copy stores, which Rollup puts into
  // that entry.
  // The frameworks' plug-ins are for the inspector, so its bundles contain them.
  const isInspected = room === "inspect" || room === "plugin" || (/^contracts\b/.test(room) && !used(name));
  if (isInspected) return starts(name) ? undefined : `inspect/${forCopies(name) ? "later" : "start"}`;
  const isShared = room === "bridge" || room === "store";
  const folder = isShared ? (needsAddon(name) ? "store" : "bridge") : room;
  return `${folder}/${starts(name) ? "start" : "later"}`;
}

/** Returns true for the registry of frameworks and the modules that it uses. */
const isOfTraits = (name) => /^contracts\/(?:registry|[\w-]+\/(?:traits|own))$/.test(name);

/** Finds the modules that a start loads. `importsOf` returns the imports of a module. */
function graphOf(importsOf) {
  const reach = (from, found = new Set()) => {
    if (found.has(from)) return found;
    found.add(from);
    for (const to of importsOf(from)) reach(to, found);
    return found;
  };
  const started = new Set();
  for (const name of entries()) if (/^(?:contracts|index)\b/.test(name)) reach(name, started);
  // The modules that the contracts themselves use, at the start or later.
  const used = new Set(started);
  for (const name of named("later")) if (name.startsWith("contracts/")) reach(name, used);
  const copies = reach("inspect/later");
  return {
    starts: (name) => started.has(name),
    used: (name) => used.has(name),
    needsAddon: (name) => reach(name).has("bridge/native"),
    forCopies: (name) => copies.has(name),
  };
}

/** Compiles a module without renaming. */
async function compiled(id) {
  const tsconfigRaw = { compilerOptions: { useDefineForClassFields: true } };
  const options = { loader: "ts", format: "esm", target: "node20.19", sourcefile: id, tsconfigRaw };
  const { code } = await transform(readFileSync(id, "utf8"), options);
  // Rollup does not change this call. Its path depends on the module's bundle.
  return code.replaceAll('require("./later.js")', `require("dist:${posix.dirname(nameOf(id))}/later.js")`);
}

const plugin = {
  name: "modules",
  buildStart() {
    const add = (id, name, preserveSignature) =>
      this.emitFile({ type: "chunk", id, fileName: `${name}.js`, preserveSignature });
    for (const name of [...entries(), ...named("entry")]) add(fileOf(name), name, "strict");
    for (const name of forTools) add(ALONE + name, name, "strict");
    for (const name of forTests) add(ALONE + name, `inner/${name}`, "strict");
    // This file is the bundle. It also exports what other bundles need.
    for (const name of named("later")) add(fileOf(name), name, "allow-extension");
  },
  resolveId(path, importer) {
    if (importer === undefined || importer.startsWith(ALONE)) return path;
    return path.startsWith(".") ? resolve(dirname(importer), path.replace(/js$/, "ts")) : { id: path, external: true };
  },
  load: (id) =>
    id.startsWith(ALONE) ? `export * from ${JSON.stringify(fileOf(id.slice(ALONE.length)))};` : compiled(id),
  renderChunk: (code, { fileName }) =>
    code.replaceAll(/(?<=\brequire\(")dist:([^"]+)/g, (_, to) => {
      const path = posix.relative(posix.dirname(fileName), to);
      return path.startsWith(".") ? path : `./${path}`;
    }),
};

/** Writes the bundles. */
export async function writeModules() {
  const bundle = await rollup({
    input: [],
    plugins: [plugin],
    onLog(level, { message }) {
      throw new Error(`${level}: ${message}`);
    },
  });
  let graph;
  const manualChunks = (id, { getModuleInfo }) => {
    graph ??= graphOf((name) =>
      getModuleInfo(fileOf(name))
        .importedIds.filter((to) => to.startsWith(source))
        .map(nameOf),
    );
    return id.startsWith(ALONE) ? undefined : bundleOf(nameOf(id), graph);
  };
  mkdirSync(`${root}dist`, { recursive: true });
  for (const name of readdirSync(`${root}dist`)) {
    if (!/^(?:types|cli|studio)$/.test(name)) rmSync(`${root}dist/${name}`, { recursive: true });
  }
  await bundle.write({
    dir: `${root}dist`,
    format: "cjs",
    esModule: true,
    chunkFileNames: "[name].js",
    manualChunks,
    minifyInternalExports: false,
    // For `import`, Node finds the names of the exports in this form of text.
    generatedCode: { constBindings: true, arrowFunctions: false },
    // A file loads the files that it uses, each at its first use.
    hoistTransitiveImports: false,
  });
  // A small ES module that programs import. It loads the bundles.
  for (const name of named("index", ".mts")) {
    writeFileSync(`${root}dist/${name}.mjs`, await compiled(resolve(source, `${name}.mts`)));
  }
}
