// Bundles the command line and the studio with the packages that they use, so that the published package needs none of
// these packages.
import { chmodSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createHash } from "node:crypto";
import { join, posix, relative, resolve, sep } from "node:path";
import { build } from "esbuild";
import { root } from "./setup.mjs";

/** The language level of Node 20.19, and of the browsers of its time. */
const target = "es2022";

/** The shared options of bundles for Node.js. */
const forNode = { absWorkingDir: root, bundle: true, platform: "node", format: "cjs", target: "node20.19" };

/**
 * Separate modules of the tools: the output of `bundlePage` for the studio's server, the maker of files of runs for the
 * studio and the command line, and the demo.
 */
const alone = new Set(["tools/studio/files.js", "tools/studio/take.js", "tools/cli/demo.js"]);

/**
 * Leaves imports of modules outside of a tool unbundled, because the tool runs the package's compiled modules. The
 * modules of ts/ are in dist, and each tool has a folder beside them.
 */
const outside = (tool) => ({
  name: "outside",
  setup({ onResolve }) {
    onResolve({ filter: /^\./ }, ({ path, importer, resolveDir, kind }) => {
      if (kind === "entry-point" || importer.includes("node_modules")) return undefined;
      const file = relative(root, resolve(resolveDir, path)).replaceAll(sep, "/");
      if (file.startsWith(`tools/${tool}/`) && !alone.has(file)) return undefined;
      const compiled = posix.relative(`dist/${tool}`, file.replace(/^(?:ts|tools)\//, "dist/"));
      return { path: compiled.startsWith(".") ? compiled : `./${compiled}`, external: true };
    });
  },
});

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
  const options = {
    ...forNode,
    minify: true,
    // Stack traces of unexpected errors show the function names.
    keepNames: false,
    legalComments: "none",
    plugins: [outside("cli")],
    metafile: true,
    logLevel: "warning",
  };
  const { metafile } = await build({
    ...options,
    entryPoints: ["tools/cli/index.ts"],
    outfile: "dist/cli/main.js",
    banner: { js: "#!/usr/bin/env node" },
  });
  // Other commands do not load the demo. It contains no packages.
  await build({ ...options, entryPoints: ["tools/cli/demo.ts"], outfile: "dist/cli/demo.js" });
  writeFileSync(`${root}dist/cli/LICENSES.txt`, licences(metafile));
  chmodSync(`${root}dist/cli/main.js`, 0o755);
}

/** Bundles the server of the studio. */
async function bundleStudio() {
  await build({
    ...forNode,
    entryPoints: ["tools/studio/index.ts", "tools/studio/take.ts"],
    outdir: "dist/studio",
    plugins: [outside("studio")],
    logLevel: "warning",
  });
}

const types = { ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml" };

/** Writes the files of the page as one module, so that the server reads no files for requests. */
async function bundlePage() {
  const page = "tools/studio/page";
  const options = {
    absWorkingDir: root,
    outdir: "dist/studio",
    entryNames: "[name]-[hash]",
    chunkNames: "[name]-[hash]",
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
  };
  const main = `${page}/main.tsx`;
  const { outputFiles, metafile } = await build({
    ...options,
    entryPoints: [main, `${page}/style.css`],
    // The modules of `import()` become separate files.
    splitting: true,
  });
  // An exported HTML file has the entire page in one script.
  const whole = await build({ ...options, entryPoints: [main] });
  // The script that an exported HTML file runs before the page.
  const embedded = await build({
    absWorkingDir: root,
    entryPoints: ["tools/studio/embedded/index.ts"],
    bundle: true,
    format: "iife",
    target,
    minify: true,
    legalComments: "none",
    write: false,
    logLevel: "warning",
  });
  // These two are not served, because every path begins with a slash.
  const scripts = { embedded: embedded.outputFiles[0].text, whole: whole.outputFiles[0].text };
  const files = {};
  for (const [name, body] of Object.entries(scripts)) files[name] = { type: types[".js"], body };
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

/** Bundles the command line, the studio and its page into dist. */
export async function bundle() {
  for (const tool of ["cli", "studio"]) rmSync(`${root}dist/${tool}`, { recursive: true, force: true });
  await bundleCli();
  await bundleStudio();
  await bundlePage();
}
