// Bundlers leave the package alone with the settings of docs/deploy.md. A bundle that contains the package says why it
// does not work.
import { readFileSync, renameSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import commonjs from "@rollup/plugin-commonjs";
import resolve from "@rollup/plugin-node-resolve";
import { type ModuleFormat, rollup } from "@rollup/wasm-node";
import { build as esbuild } from "esbuild";
import { build as vite } from "vite";
import { describe, expect, it } from "vitest";
import webpack from "webpack";
import { folderIn, forms, guide, loadable, node, output, printed, program, root } from "./helpers.js";

/** Bundles the file `server.js` of a folder into the file `out`. Returns the warnings. */
type Bundle = (folder: string, out: string, whole: boolean) => Promise<string[]>;

/** Loads a configuration file of docs/deploy.md. */
async function configuration(folder: string, file: string): Promise<object> {
  return (await import(/* @vite-ignore */ pathToFileURL(join(folder, file)).href)).default;
}

const withEsbuild: Bundle = async (folder, out, whole) => {
  // The guide has a command: what follows "--external:" is the setting.
  const [, external] = /--external:(\S+)/.exec(guide("esbuild"))!;
  const { warnings } = await esbuild({
    absWorkingDir: folder,
    entryPoints: ["server.js"],
    bundle: true,
    platform: "node",
    format: out.endsWith(".cjs") ? "cjs" : "esm",
    outfile: out,
    external: whole ? [] : [external!],
    logLevel: "silent",
  });
  return warnings.map(({ text }) => text);
};

const withWebpack: Bundle = async (folder, out, whole) => {
  const { externals, externalsType, ...others } = (await configuration(
    folder,
    "webpack.config.mjs",
  )) as webpack.Configuration;
  const esm = out.endsWith(".mjs");
  const settings = {
    ...others,
    mode: "development" as const,
    context: folder,
    output: { path: folder, filename: out, module: esm },
    experiments: { outputModule: esm },
    ...(!whole && { externals, ...(!esm && { externalsType }) }),
  };
  const stats = await new Promise<webpack.Stats>((done, failed) => {
    webpack(settings, (error, made) => (made === undefined ? failed(error) : done(made)));
  });
  const { errors, warnings } = stats.toJson({ all: false, errors: true, warnings: true });
  return [...errors!, ...warnings!].map(({ message }) => message);
};

const withRollup: Bundle = async (folder, out, whole) => {
  const warnings: string[] = [];
  const { external } = (await configuration(folder, "rollup.config.mjs")) as { external: RegExp[] };
  const bundle = await rollup({
    input: join(folder, "server.js"),
    external: [/^node:/, ...(whole ? [] : external)],
    plugins: [resolve({ preferBuiltins: true }), commonjs()],
    onwarn({ code, message, ids = [] }) {
      // A part of the package that is loaded when it is needed takes the rest from the part that loads it.
      const isLater = code === "CIRCULAR_DEPENDENCY" && ids.some((id) => /\bforkpoint\b.*\blater\.js$/.test(id));
      if (!isLater) warnings.push(message);
    },
  });
  await bundle.write({ file: join(folder, out), format: (out.endsWith(".cjs") ? "cjs" : "es") as ModuleFormat });
  return warnings;
};

const withVite: Bundle = async (folder, out, whole) => {
  const warnings: string[] = [];
  const settings = (await configuration(folder, "vite.config.mjs")) as { ssr: object };
  const warn = (message: string) => void warnings.push(message);
  await vite({
    ...settings,
    root: folder,
    configFile: false,
    // The setting must also win over one that bundles everything else.
    ssr: { ...(!whole && settings.ssr), noExternal: true },
    build: {
      ssr: "server.js",
      outDir: "made",
      rollupOptions: { output: { entryFileNames: out, format: out.endsWith(".cjs") ? "cjs" : "es" } },
    },
    logLevel: "warn",
    customLogger: {
      info() {},
      warn,
      warnOnce: warn,
      error: warn,
      clearScreen() {},
      hasErrorLogged: () => false,
      hasWarned: false,
    },
  });
  renameSync(join(folder, "made", out), join(folder, out));
  return warnings;
};

const bundlers: Array<[name: string, bundle: Bundle]> = [
  ["esbuild", withEsbuild],
  ["webpack", withWebpack],
  ["Rollup", withRollup],
  ["Vite SSR", withVite],
];

const configurations = ["webpack.config.mjs", "rollup.config.mjs", "vite.config.mjs"];

function app(form: (typeof forms)[number], code: string): string {
  const files = configurations.map((file) => [file, guide(file)]);
  return folderIn(form, { "server.js": code, "package.json": '{ "type": "module" }', ...Object.fromEntries(files) });
}

/** Runs a bundle that contains the package. It fails, and says why. */
function refuses(out: string, folder: string): void {
  const { status, stdout, stderr } = node([out], folder);
  expect([status, stdout]).toEqual([1, ""]);
  expect(stderr).toContain("forkpoint cannot be bundled, because it loads a native addon.");
  for (const [name] of bundlers) expect(stderr).toContain(`${name}:`);
  expect(stderr).toContain('serverExternalPackages: ["forkpoint"]');
}

it.each(loadable)("a bundle of %s names the settings", async (entry) => {
  for (const out of ["out.cjs", "out.mjs"]) {
    const folder = app("the addon beside", `import * as entry from "${entry}"; console.log(entry);`);
    await withEsbuild(folder, out, true);
    refuses(out, folder);
  }
});

describe.each(bundlers)("%s", (_, bundle) => {
  const formats = ["out.cjs", "out.mjs"];

  it.each(formats)("leaves the package alone without a warning: %s", async (out) => {
    for (const form of forms) {
      const folder = app(form, program);
      expect(await bundle(folder, out, false)).toEqual([]);
      expect(node([out], folder)).toEqual(printed(output));
    }
  });

  it.each(formats)("makes a bundle that names the settings: %s", async (out) => {
    for (const form of forms) {
      const folder = app(form, program);
      expect(await bundle(folder, out, true)).toEqual([]);
      refuses(out, folder);
    }
  });
});

it("the error has the settings of the guide", async () => {
  const { bundledError } = (await import(
    /* @vite-ignore */ pathToFileURL(join(root, "dist/bridge/bundled.js")).href
  )) as {
    bundledError(): Error & { code: string };
  };
  const { code, message } = bundledError();
  expect(code).toBe("UNSUPPORTED");
  const text = readFileSync(join(root, "docs/deploy.md"), "utf8").replaceAll(/\s+/g, " ");
  const settings = [...message.matchAll(/^ {2}[^:]+: +(.*)$/gm)].map(([, setting]) => setting!);
  expect(settings).toHaveLength(5);
  for (const setting of settings) for (const part of setting.split(", externalsType")) expect(text).toContain(part);
});
