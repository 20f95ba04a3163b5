// Writes the reference of the API from the declarations of the package: a page for each entry point.
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { Application } from "typedoc";
import { anchorsOf } from "../scripts/links.mjs";
import { guides, sentenceOf, titleOf } from "./guides.mjs";
import { manifest, root, site } from "./places.mjs";
import { writePage } from "./pages.mjs";

/** The entry points: the path that a program imports, the name of the page, and the file of the declarations. */
export const entries = Object.entries(manifest.exports)
  .filter(([, target]) => typeof target === "object")
  .map(([path, { types, import: forImport }]) => ({
    path: `${manifest.name}${path.slice(1)}`,
    name: path === "." ? manifest.name : path.slice(2),
    // The declarations of an ES module only name those of the CommonJS module.
    file: root + (types ?? forImport.types).slice(2),
  }));

/** A folder for what TypeDoc reads and writes. */
const work = `${site}.cache/api/`;

/**
 * Declares the packages of others that the declarations import. They need not be installed: the reference only names what is
 * in them.
 */
function declareOthers() {
  const names = new Map();
  for (const file of readdirSync(`${root}dist/types`).filter((each) => each.endsWith(".d.ts"))) {
    const text = readFileSync(`${root}dist/types/${file}`, "utf8");
    for (const [, imported, from] of text.matchAll(/^import \{ ([^}]+) \} from '([^.'][^']*)';$/gm)) {
      const known = names.get(from) ?? new Set();
      for (const each of imported.split(", ")) known.add(each.replace(/ as .*/, ""));
      names.set(from, known);
    }
  }
  const parameters = Array.from({ length: 6 }, (_, at) => `T${at} = any`).join(", ");
  const modules = Array.from(names, ([from, known]) => {
    const classes = Array.from(known, (name) => `  export class ${name}<${parameters}> {}\n`);
    return `declare module "${from}" {\n${classes.join("")}}\n`;
  });
  writeFileSync(`${work}others.d.ts`, modules.join(""));
}

async function convert() {
  const tsconfig = `${work}tsconfig.json`;
  const compilerOptions = {
    target: "es2023",
    module: "nodenext",
    lib: ["es2023", "esnext.disposable"],
    types: ["node"],
    typeRoots: [`${root}node_modules/@types`],
    skipLibCheck: true,
    noEmit: true,
  };
  writeFileSync(tsconfig, JSON.stringify({ compilerOptions, include: [`${root}dist/types/*.d.ts`, "others.d.ts"] }));
  const table = "table";
  const app = await Application.bootstrapWithPlugins({
    plugin: ["typedoc-plugin-markdown"],
    name: manifest.name,
    entryPoints: entries.map(({ file }) => file),
    tsconfig,
    skipErrorChecking: true,
    excludeInternal: true,
    excludePrivate: true,
    disableSources: true,
    readme: "none",
    out: `${work}pages`,
    router: "module",
    entryFileName: "index",
    hideBreadcrumbs: true,
    hidePageHeader: true,
    useCodeBlocks: true,
    expandObjects: true,
    parametersFormat: table,
    propertiesFormat: table,
    interfacePropertiesFormat: table,
    classPropertiesFormat: table,
    typeDeclarationFormat: table,
    logLevel: "Error",
  });
  const converted = await app.convert();
  if (converted === undefined) throw new Error("TypeDoc has not read the declarations");
  // A page has the name of its entry point.
  for (const module of converted.children) if (module.name === "index") module.name = manifest.name;
  await app.generateOutputs(converted);
  if (app.logger.hasErrors()) throw new Error("TypeDoc has found errors");
}

/** The headings of a member's parts. There are thousands, so they would hide the members in the outline and in the search. */
const PARTS =
  /^#{4,6} (Parameters|Returns|Throws|Example|Examples|Type Parameters|Extends|Extended by|Implements|Overrides|Inherited from|Implementation of|Default Value|See|Call Signature|Index Signature|Indexable|Since|Deprecated|Remarks)$/gm;

/**
 * Returns the text of each page, by its name. TypeDoc numbers equal anchors of a page, and counts some that it doesn't write. Such a
 * link gets the number before.
 */
function readPages() {
  const texts = new Map(entries.map(({ name }) => [name, readFileSync(`${work}pages/${name}.md`, "utf8")]));
  for (const [name, text] of texts) texts.set(name, text.replace(/^# .*\n/, "").replaceAll(PARTS, "**$1**"));
  const anchors = new Map(
    Array.from(texts, ([name, text]) => {
      const rows = Array.from(text.matchAll(/<a id="([^"]+)">/g), ([, id]) => `#${id}`);
      return [name, new Set([...anchorsOf(text), ...rows])];
    }),
  );
  const mend = (own) => (whole, name, slug, number) => {
    const known = anchors.get(name === "" ? own : name);
    for (let n = Number(number); n >= 0; n--) {
      const anchor = n === 0 ? `#${slug}` : `#${slug}-${n}`;
      if (known?.has(anchor)) return `](${name === "" ? "" : `${name}.md`}${anchor})`;
    }
    return whole;
  };
  for (const [name, text] of texts) {
    texts.set(name, text.replaceAll(/\]\(([\w-]*?)(?:\.md)?#([\w-]+?)-(\d+)\)/g, mend(name)));
  }
  return texts;
}

/** Returns the guide of an entry point, if there is one. */
const guideOf = (name) => guides.find((path) => path === `docs/${name}.md`);

/** Writes the pages. */
export async function writeApi() {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  declareOthers();
  await convert();
  const texts = readPages();
  const rows = [];
  for (const { path, name } of entries) {
    const text = texts.get(name);
    const guide = guideOf(name);
    const lead = guide === undefined ? "" : `Guide: [${titleOf(guide)}](../${guide})\n\n`;
    const code = `\`\`\`ts\nimport * as ${identifier(name)} from "${path}";\n\`\`\`\n`;
    writePage(`api/${name}.md`, `# ${path}\n\n${lead}${code}${text}`, {
      title: path,
      description: `All classes, functions and types of ${path}`,
      outline: [2, 3],
      editLink: false,
    });
    const about = guide === undefined ? "" : sentenceOf(readFileSync(root + guide, "utf8"));
    rows.push(`| [\`${path}\`](${name}.md) | ${about.replaceAll("|", "\\|")} |`);
  }
  const text = `# API

What each import path of the package exports. These pages are made from the package's types.

| Import | What it is for |
|---|---|
${rows.join("\n")}
`;
  writePage("api/index.md", text, {
    title: "API",
    description: "What each import path of forkpoint exports",
    editLink: false,
  });
}

/** Returns a name for a variable. */
const identifier = (name) => name.replaceAll(/-(\w)/g, (_, letter) => letter.toUpperCase());
