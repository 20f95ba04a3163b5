/** Finds the arguments for Node that load a program in any folder. */

import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

/** The options that preload a module. The value is true if Node imports the module by its URL. */
const modules: Record<string, boolean> = {
  "--import": true,
  "--loader": true,
  "--experimental-loader": true,
  "--require": false,
  "-r": false,
};

/** Other options about finding and reading modules. The value is true if the option has a value. */
const others: Record<string, boolean> = {
  "--conditions": true,
  "-C": true,
  "--experimental-strip-types": false,
  "--experimental-transform-types": false,
};

/**
 * Returns the arguments for Node. `given` are the caller's. Without them, a TypeScript program gets the loaders of this
 * process, such as tsx.
 */
export function nodeArgsFor(program: string, given: readonly string[] | undefined): string[] {
  if (given !== undefined) return optionsOf(given).flatMap((option) => placed(option, program));
  if (!/\.[cm]?tsx?$/.test(program)) return [];
  const own = [...optionsOf(wordsOf(process.env["NODE_OPTIONS"] ?? "")), ...optionsOf(process.execArgv)];
  return own
    .filter(([name]) => Object.hasOwn(modules, name) || Object.hasOwn(others, name))
    .flatMap((option) => placed(option, program));
}

type NodeOption = [name: string, value?: string];

/** Parses options in both forms: `--import tsx` and `--import=tsx`. */
function optionsOf(args: readonly string[]): NodeOption[] {
  const options: NodeOption[] = [];
  for (let at = 0; at < args.length; at++) {
    const text = args[at]!;
    const end = text.startsWith("--") ? text.indexOf("=") : -1;
    const name = end < 0 ? text : text.slice(0, end);
    const hasValue = Object.hasOwn(modules, name) || others[name] === true;
    if (!hasValue) options.push([text]);
    else if (end >= 0) options.push([name, text.slice(end + 1)]);
    else if (at + 1 < args.length) options.push([name, args[(at += 1)]!]);
    else options.push([text]);
  }
  return options;
}

/** Writes an option again. Names modules so that Node finds them from the program's other folder. */
function placed([name, value]: NodeOption, program: string): string[] {
  if (value === undefined) return [name];
  const path = Object.hasOwn(modules, name) ? pathOf(value, program) : undefined;
  if (path === undefined) return [name, value];
  return [name, modules[name] ? pathToFileURL(path).href : path];
}

/** Returns the file of a module. Undefined: it is a URL, or only Node can resolve it. */
function pathOf(specifier: string, program: string): string | undefined {
  if (/^\.{1,2}[/\\]/.test(specifier)) return resolve(specifier);
  if (/^[a-z][a-z\d+.-]+:/i.test(specifier)) return undefined;
  for (const from of [program, join(process.cwd(), "program.js")]) {
    try {
      return createRequire(from).resolve(specifier);
    } catch {
      // Node's message about a missing module is better.
    }
  }
  return undefined;
}

/** Splits `NODE_OPTIONS`. Values with spaces are in double quotes. */
function wordsOf(text: string): string[] {
  const words = text.match(/(?:[^\s"]|"(?:\\.|[^"\\])*")+/g) ?? [];
  return words.map((word) =>
    word.replaceAll(/"((?:\\.|[^"\\])*)"/g, (_, inner: string) => inner.replaceAll(/\\(.)/g, "$1")),
  );
}
