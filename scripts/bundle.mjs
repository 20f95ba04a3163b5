// Bundles the command line and the page of the studio with the packages that they are made of. The published package
// needs none of these packages.
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { dirname, join, relative, resolve } from "node:path";
import { build } from "esbuild";
import { root } from "./setup.mjs";

/** The language level of Node 20.19, and of the browsers of its time. */
const target = "es2022";

/**
 * Leaves the imports of modules outside the command line as they are: it runs the compiled modules of the package, and
 * has no copy of them.
 */
const outside = {
  name: "outside",
  setup({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ path, importer, resolveDir, kind }) => {
      if (kind === "entry-point" || importer.includes("node_modules")) return undefined;
      const file = resolve(resolveDir, path);
      const inside = file.startsWith(`${root}ts/cli/`) || file === `${root}ts/cli.js`;
      return inside ? undefined : { path: relative(`${root}ts/cli`, file), external: true };
    });
  },
};

/** Returns the licences of the packages that a bundle contains. */
function licences(metafile) {
  const folders = new Set();
  for (const input of Object.keys(metafile.inputs)) {
    const package_ = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(input)?.[1];
    if (package_ !== undefined) folders.add(package_);
  }
  const texts = [...folders].toSorted().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(root, folder, "package.json"), "utf8"));
    const file = readdirSync(join(root, folder)).find((each) => /^licen[cs]e/i.test(each));
    const text = file === undefined ? "" : `\n${readFileSync(join(root, folder, file), "utf8").trim()}\n`;
    return `${name} ${version}: ${license}\n${text}`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

async function bundleCli() {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ["ts/cli.ts"],
    outfile: "dist/cli/main.js",
    bundle: true,
    platform: "node",
    format: "cjs",
    target: "node20.19",
    minify: true,
    // A stack trace of an unexpected error names the functions.
    keepNames: false,
    legalComments: "none",
    banner: { js: "#!/usr/bin/env node" },
    plugins: [outside],
    metafile: true,
    logLevel: "warning",
  });
  writeFileSync(`${root}dist/cli/LICENSES.txt`, licences(metafile));
  chmodSync(`${root}dist/cli/main.js`, 0o755);
}

const types = { ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml" };

/** Writes the files of the page as one module. The server reads no file when a request comes. */
async function bundlePage() {
  const page = "ts/studio/page";
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [`${page}/main.tsx`, `${page}/style.css`],
    outdir: "dist/studio",
    entryNames: "[name]-[hash]",
    bundle: true,
    format: "esm",
    target,
    jsx: "automatic",
    jsxImportSource: "preact",
    minify: true,
    legalComments: "none",
    metafile: true,
    write: false,
    logLevel: "warning",
  });
  const files = {};
  const add = (name, text) => {
    files[`/assets/${name}`] = { type: types[/\.\w+$/.exec(name)[0]], body: text };
  };
  for (const { path, text } of outputFiles) add(relative(`${root}dist/studio`, path), text);
  const icon = readFileSync(`${root}${page}/icon.svg`, "utf8");
  const iconName = `icon-${createHash("sha256").update(icon).digest("hex").slice(0, 8)}.svg`;
  add(iconName, icon);
  const named = (name) =>
    Object.keys(files)
      .find((path) => path.startsWith(`/assets/${name}`))
      .slice(1);
  const html = readFileSync(`${root}${page}/index.html`, "utf8")
    .replace("main.js", named("main-"))
    .replace("style.css", named("style-"))
    .replace("icon.svg", named("icon-"));
  files["/"] = { type: "text/html; charset=utf-8", body: html };
  mkdirSync(`${root}dist/studio`, { recursive: true });
  const text = `"use strict";\nObject.defineProperty(exports, "__esModule", { value: true });\nexports.files = ${JSON.stringify(files)};\n`;
  writeFileSync(`${root}dist/studio/files.js`, text);
  writeFileSync(`${root}dist/studio/LICENSES.txt`, licences(metafile));
}

/** Bundles the command line and the page into dist. */
export async function bundle() {
  rmSync(`${root}dist/cli`, { recursive: true, force: true });
  mkdirSync(dirname(`${root}dist/cli/main.js`), { recursive: true });
  if (existsSync(`${root}ts/cli.ts`)) await bundleCli();
  if (existsSync(`${root}ts/studio/page/main.tsx`)) await bundlePage();
}
