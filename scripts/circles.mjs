// Checks the imports between files: `node scripts/circles.mjs`. Imports may not form a circle, and a room may only
// import the rooms that it may use. Prints each circle as a chain of files.
import { readFileSync, readdirSync } from "node:fs";
import { posix, sep } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));

/** The rooms of the TypeScript code, and the rooms that each may use: the table in docs/internals/design.md, section Layout. */
const rooms = {
  "ts/bridge": [],
  "ts/store": ["ts/contracts/registry.ts", "ts/bridge"],
  "ts/plugin": ["ts/contracts/registry.ts", "ts/store", "ts/bridge"],
  "ts/contracts/registry.ts": ["ts/contracts/<name>", "ts/plugin"],
  "ts/contracts/index.ts": ["ts/contracts/registry.ts", "ts/contracts/<name>", "ts/plugin"],
  "ts/contracts/shared": ["ts/plugin", "ts/store", "ts/bridge"],
  "ts/contracts/<name>": ["ts/contracts/shared", "ts/plugin", "ts/store", "ts/bridge"],
  "ts/inspect": ["ts/contracts/index.ts", "ts/contracts/registry.ts", "ts/plugin", "ts/store", "ts/bridge"],
  "ts/effects": ["ts/store", "ts/bridge"],
  "ts/otel": ["ts/store", "ts/bridge"],
  "ts/testing": ["ts/store", "ts/bridge"],
  "ts/index.ts": ["ts/inspect", "ts/plugin", "ts/contracts/<name>", "ts/contracts/shared", "ts/store", "ts/bridge"],
  "tools/studio": ["ts/inspect", "ts/contracts/registry.ts", "ts/plugin", "ts/store", "ts/bridge"],
  "conformance/src/suite": [],
  "conformance/src/contracts/<name>": ["conformance/src/suite"],
  "conformance/src/index.ts": ["conformance/src/contracts/<name>", "conformance/src/suite"],
  "conformance/src/cli.ts": ["conformance/src/index.ts", "conformance/src/suite"],
  "tools/cli": [
    "tools/studio",
    "ts/index.ts",
    "ts/inspect",
    "ts/contracts/registry.ts",
    "ts/contracts/<name>",
    "ts/plugin",
    "ts/store",
    "ts/bridge",
  ],
};

/** The folders of the Rust crates' sources. */
const crates = ["engine/src", "src"];

/** Returns the files of a folder with one of these endings. */
function filesOf(folder, endings) {
  return readdirSync(root + folder, { recursive: true })
    .map((name) => posix.join(folder, name.replaceAll(sep, "/")))
    .filter((file) => endings.some((ending) => file.endsWith(ending)) && !file.endsWith(".d.ts"));
}

const read = (file) => readFileSync(root + file, "utf8");

/** Returns the imports of each file in ts/, tools/ and conformance/. Imports of types count. */
function importsOfTypeScript() {
  const files = new Set(
    ["ts", "tools", "conformance/src"].flatMap((folder) => filesOf(folder, [".ts", ".tsx", ".mts"])),
  );
  const graph = new Map();
  for (const file of files) {
    const targets = ts.preProcessFile(read(file), true, true).importedFiles.map(({ fileName }) => {
      const path = posix.join(posix.dirname(file), fileName).replace(/\.m?js$/, "");
      return fileName.startsWith(".")
        ? [".ts", ".tsx", ".mts"].map((end) => path + end).find((at) => files.has(at))
        : null;
    });
    graph.set(file, new Set(targets.filter((target) => target)));
  }
  return graph;
}

/** Returns the room of a file: its row of the table, and the folder that the row stands for. */
function roomOf(file) {
  const row = Object.keys(rooms).find((room) => file === room || file.startsWith(`${room}/`));
  if (row !== undefined) return { row, folder: row };
  const [folder, where] = /^(ts|conformance\/src)\/contracts\/[\w-]+(?=\/)/.exec(file) ?? [];
  if (folder === undefined) return undefined;
  return { row: `${where}/contracts/<name>`, folder };
}

/** Returns the imports that the table does not allow, and the files without a room. */
function arrowsUp(graph) {
  const found = [];
  for (const [file, targets] of graph) {
    const from = roomOf(file);
    if (from === undefined) found.push(`${file} is in no room`);
    for (const target of from === undefined ? [] : targets) {
      const to = roomOf(target);
      if (to === undefined || to.folder === from.folder || rooms[from.row].includes(to.row)) continue;
      found.push(`${file} -> ${target}: ${from.row} must not use ${to.row}`);
    }
  }
  return found;
}

/** Returns the rows of the table above that docs/internals/design.md lacks. */
function missingInDesign() {
  const lines = read("docs/internals/design.md").split("\n");
  const cells = Object.entries(rooms).map(([room, uses]) => [`| \`${room}\` |`, `| ${uses.join(", ")} |`]);
  return cells
    .filter(
      ([room, uses]) => !lines.some((line) => line.startsWith(room) && line.endsWith(uses.replace("|  |", "| |"))),
    )
    .map(([room, uses]) => `docs/internals/design.md lacks the row ${room} ... ${uses}`);
}

/** Removes comments and strings. All other code keeps its position. */
function withoutText(code) {
  const skipped = /\/\/[^\n]*|\/\*[^]*?\*\/|r(#*)"[^]*?"\1|"(?:\\[^]|[^"\\])*"|'(?:\\[^']+|[^'\\])'/g;
  return code.replaceAll(skipped, (text) => (text.startsWith("'") || text.endsWith('"') ? '""' : ""));
}

/** Returns the position after an item: after its `;` or its closing brace. */
function endOfItem(code, from) {
  for (let at = from, depth = 0; at < code.length; at++) {
    if ("({[".includes(code[at])) depth += 1;
    if (")}]".includes(code[at])) depth -= 1;
    if (depth === 0 && (code[at] === ";" || code[at] === "}")) return at + 1;
  }
  return code.length;
}

/** Removes the items for tests only. Returns the code, and the names of the test modules. */
function withoutTests(code) {
  const tests = [];
  let out = code;
  for (let at; (at = out.search(/#\[cfg\((?:test|all\(test\b[^\]]*)\)\]/)) >= 0;) {
    const end = endOfItem(out, at);
    const name = /\bmod\s+(\w+)\s*;$/.exec(out.slice(at, end))?.[1];
    if (name !== undefined) tests.push(name);
    out = out.slice(0, at) + out.slice(end);
  }
  return { code: out, tests };
}

/** Returns the paths of a `use`, such as `crate::a::{self, b::C}`, each as a list of names. */
function pathsOf(tree) {
  const brace = tree.indexOf("{");
  if (brace < 0)
    return [
      tree
        .replace(/\s+as\s+\w+$/, "")
        .trim()
        .split(/\s*::\s*/),
    ];
  const before = tree.slice(0, brace).trim().replace(/::$/, "").split("::").filter(Boolean);
  const branches = [];
  let depth = 0;
  let branch = "";
  for (const letter of tree.slice(brace + 1, tree.lastIndexOf("}"))) {
    if (letter === "{") depth += 1;
    if (letter === "}") depth -= 1;
    if (letter === "," && depth === 0) [branch] = ["", branches.push(branch)];
    else branch += letter;
  }
  return [...branches, branch]
    .filter((each) => each.trim() !== "")
    .flatMap((each) => {
      const paths = pathsOf(each);
      return paths.map((path) => before.concat(path[0] === "self" ? path.slice(1) : path));
    });
}

/** Returns the uses of other files in each file of a crate. A `mod child;` is not a use. */
function usesOfRust(folder) {
  const modules = new Map();
  for (const file of filesOf(folder, [".rs"])) {
    const path = file.slice(folder.length + 1).replace(/(^|\/)(?:lib|mod)\.rs$|\.rs$/, "");
    modules.set(path.replaceAll("/", "::"), file);
  }
  const parsed = [...modules].map(([module, file]) => {
    const { code, tests } = withoutTests(withoutText(read(file)));
    // `pub(in crate::a)` names a module without using it.
    return { module, file, code: code.replaceAll(/\bpub\s*\(\s*in\b[^)]*\)/g, "pub"), tests };
  });
  const tests = parsed.flatMap(({ module, tests }) =>
    tests.map((test) => (module === "" ? test : `${module}::${test}`)),
  );
  const isTest = (module) => tests.some((test) => module === test || module.startsWith(`${test}::`));
  const graph = new Map();
  for (const { module, file, code } of parsed.filter((each) => !isTest(each.module))) {
    const own = module === "" ? [] : module.split("::");
    const children = new Set([...code.matchAll(/\bmod\s+(\w+)\s*;/g)].map(([, name]) => name));
    /** Returns the file of the longest module path that is a prefix of the path. */
    const resolved = ([first, ...others]) => {
      let at = own;
      let rest = others;
      if (first === "crate") at = [];
      else if (first === "super") at = own.slice(0, -1);
      else if (children.has(first)) rest = [first, ...others];
      else if (first !== "self") return undefined;
      for (; rest[0] === "super"; rest = rest.slice(1)) at = at.slice(0, -1);
      while (rest.length > 0 && modules.has([...at, rest[0]].join("::")))
        [at, rest] = [[...at, rest[0]], rest.slice(1)];
      return modules.get(at.join("::"));
    };
    const uses = [...code.matchAll(/\buse\s+([^;]+);/g)].flatMap(([, tree]) => pathsOf(tree));
    const inline = code.replaceAll(/\buse\s+[^;]+;/g, "").matchAll(/(?<![\w:$])[a-z_]\w*(?:::\w+)+/g);
    const paths = [...uses, ...[...inline].map(([path]) => path.split("::"))];
    graph.set(file, new Set(paths.map(resolved).filter((target) => target !== undefined && target !== file)));
  }
  return graph;
}

/** Returns the shortest path from one file to another, or undefined. */
function way(graph, from, to) {
  const before = new Map([[from, undefined]]);
  for (const file of before.keys()) {
    if (file === to) {
      const chain = [];
      for (let at = to; at !== undefined; at = before.get(at)) chain.unshift(at);
      return chain;
    }
    for (const next of graph.get(file) ?? []) if (!before.has(next)) before.set(next, file);
  }
  return undefined;
}

/** Returns circles, the shortest first, until they contain every import that is part of a circle. */
function circlesOf(graph) {
  const found = [];
  for (const [file, targets] of graph) {
    for (const target of targets) {
      const chain = way(graph, target, file);
      if (chain !== undefined) found.push([file, ...chain]);
    }
  }
  const seen = new Set();
  const circles = found.toSorted((a, b) => a.length - b.length);
  return circles
    .map((circle) => circle.join(" -> "))
    .filter((circle, at) => {
      const [file, target] = circles[at];
      const isNew = !seen.has(`${file} -> ${target}`);
      for (const [i, each] of circles[at].entries()) if (isNew) seen.add(`${each} -> ${circles[at][i + 1]}`);
      return isNew;
    });
}

const graph = importsOfTypeScript();
const rust = crates.flatMap((folder) => circlesOf(usesOfRust(folder)));
const problems = [...arrowsUp(graph), ...circlesOf(graph), ...missingInDesign(), ...rust];
for (const problem of problems) console.error(problem);
process.exit(problems.length > 0 ? 1 : 0);
