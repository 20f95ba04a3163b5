#!/usr/bin/env node
// The command line.
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { compare, counts, inWords, isBad, markdown, printable, upstreamOf } from "./suite/report.js";
import { UsageError } from "./suite/usage-error.js";
import { type Group, type Level, type Report, type Result, groups } from "./suite/types.js";
import { contracts } from "./index.js";

const help = `Usage:
  forkpoint-conformance <contract> <module> [options]   measures a store
  forkpoint-conformance compare <report.json>...        shows reports side by side
  forkpoint-conformance list [contract]                 lists the expectations

Contracts: ${Object.keys(contracts).join(", ")}

The module exports open({ target }) and, if it has more to say, close, wipe, bytes, name, version, skip and expectFail.

Options:
  --target <target>    where the store is. {dir} becomes a new folder for each expectation, {n} a new name.
                       Default: "{dir}/store"
  --group <group>      ${groups.join(", ")}. May be given several times. Default: all
  --level <level>      must: what the contract demands. should: also what frameworks' own stores do. ours: everything.
                       Default: everything is measured, and what only Forkpoint demands (ours) does not fail
  --only <id>          one expectation. May be given several times
  --seed <number>      of all random choices. Default: 1
  --timeout <ms>       for each expectation. Default: 60000
  --no-upstream        leaves out the suite that the framework publishes
  --json [file]        writes the report as JSON. Without a file: to the standard output
  --markdown [file]    writes the report as Markdown
  --compare <file>     shows an earlier report beside this one, and fails if something no longer passes
  --help               prints this

Exit codes: 0 all is as it is declared, 1 something is not, 2 wrong usage.`;

/** Returns the arguments in a form in which `--json` and `--markdown` always have a value. */
function withFiles(args: readonly string[]): string[] {
  return args.flatMap((argument, at) => {
    const isBare = argument === "--json" || argument === "--markdown";
    const next = args[at + 1];
    return isBare && (next === undefined || next.startsWith("--") || !/\.\w+$/.test(next))
      ? [`${argument}=-`]
      : [argument];
  });
}

const options = {
  target: { type: "string" },
  group: { type: "string", multiple: true },
  level: { type: "string" },
  only: { type: "string", multiple: true },
  seed: { type: "string", default: "1" },
  timeout: { type: "string", default: "60000" },
  "no-upstream": { type: "boolean", default: false },
  json: { type: "string" },
  markdown: { type: "string" },
  compare: { type: "string" },
  help: { type: "boolean", default: false },
} as const;

function parse() {
  try {
    return parseArgs({ args: withFiles(process.argv.slice(2)), options, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function contractOf(name: string | undefined) {
  if (name !== undefined && Object.hasOwn(contracts, name)) return contracts[name as keyof typeof contracts];
  throw new UsageError(`there is no contract ${name}: the contracts are ${Object.keys(contracts).join(", ")}`);
}

function number(name: string, text: string): number {
  if (!/^\d+$/.test(text)) throw new UsageError(`--${name} must be a whole number, and is ${text}`);
  return Number(text);
}

const byLevel: Readonly<Record<string, readonly Level[]>> = {
  must: ["MUST"],
  should: ["MUST", "SHOULD"],
  ours: ["MUST", "SHOULD", "OURS"],
};

/** Reads a report that `--json` has written. */
function read(file: string): Report {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw new UsageError(`${file} is no report: ${(error as Error).message}`);
  }
}

/** Writes a text to a file, or to the standard output. */
function put(file: string | undefined, text: string) {
  if (file === "-") process.stdout.write(text);
  else if (file !== undefined) writeFileSync(file, text);
}

/** Says what has become of an expectation, on the error output. */
function say({ id, level, status, title, reason, message }: Result, done: number, of: number) {
  const isQuiet = status === "passed" || status === "skipped" || status === "expected failure";
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${isQuiet ? `${done} of ${of} ${id}` : ""}`);
  if (isQuiet) return;
  process.stderr.write(printable(`${status}: ${level} ${id}: ${title}\n  ${message ?? reason}\n`));
}

/** Returns the ids that passed before and don't now. */
function lost(before: Report, now: Report): string[] {
  const passed = new Set(before.results.filter(({ status }) => status === "passed").map(({ id }) => id));
  return now.results.filter(({ id, status }) => passed.has(id) && status !== "passed").map(({ id }) => id);
}

function list(name: string | undefined) {
  for (const contract of name === undefined ? Object.values(contracts) : [contractOf(name)])
    for (const { id, group, level, title, source } of contract.definition.expectations)
      console.log(`${id}\t${group}\t${level}\t${title}\t${source}`);
}

async function main(): Promise<number> {
  const { values, positionals } = parse();
  const [name, module, ...more] = positionals;
  if (values.help || name === undefined) {
    console.log(help);
    return values.help ? 0 : 2;
  }
  if (name === "list") {
    list(module);
    return 0;
  }
  if (name === "compare") {
    if (module === undefined) throw new UsageError("compare needs the files of reports");
    process.stdout.write(compare([module, ...more].map(read)));
    return 0;
  }
  const contract = contractOf(name);
  if (module === undefined || more.length > 0) throw new UsageError(`${name} needs the path of one module`);
  const levels = byLevel[values.level ?? "ours"];
  if (levels === undefined) throw new UsageError(`--level must be must, should or ours, and is ${values.level}`);
  const unknown = values.group?.find((group) => !(groups as readonly string[]).includes(group));
  if (unknown !== undefined) throw new UsageError(`there is no group ${unknown}: the groups are ${groups.join(", ")}`);
  const suite = contract({ module, ...(values.target === undefined ? {} : { target: values.target }) });
  const before = values.compare === undefined ? undefined : read(values.compare);
  if (before !== undefined && before.contract !== name)
    throw new UsageError(`${values.compare} is a report of ${before.contract}, and not of ${name}`);
  const isPart = values.only !== undefined || values.group !== undefined;
  const report = await suite.run({
    levels,
    ...(values.group === undefined ? {} : { groups: values.group as Group[] }),
    ...(values.only === undefined ? {} : { only: values.only }),
    seed: number("seed", values.seed),
    timeoutMs: number("timeout", values.timeout),
    upstream: !values["no-upstream"] && !isPart,
    onResult: say,
  });
  if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
  put(values.json, `${JSON.stringify(report, null, 2)}\n`);
  put(values.markdown, markdown(report));
  if (before !== undefined) process.stdout.write(compare([before, report]));
  const gone = before === undefined ? [] : lost(before, report);
  for (const id of gone) process.stderr.write(`passed before: ${id}\n`);
  const met = Object.entries(counts(report)).map(([level, count]) => `${level} ${inWords(count)}`);
  const own = report.upstream === undefined ? "" : `; ${report.upstream.package} ${upstreamOf(report)}`;
  process.stderr.write(`${report.store.name}: ${met.join("; ")}${own}\n`);
  const failing = values.level === undefined ? byLevel["should"]! : levels;
  const isWrong = (result: Result) => isBad(result) && (failing.includes(result.level) || result.status !== "failed");
  return gone.length > 0 || report.results.some(isWrong) ? 1 : 0;
}

/** Waits until all that was printed has been taken. */
async function flush() {
  for (const stream of [process.stdout, process.stderr])
    await new Promise<void>((resolve) => stream.write("", () => resolve()));
}

let code: number;
try {
  code = await main();
} catch (error) {
  const isUsage = error instanceof UsageError;
  console.error(isUsage ? `${error.message}\nSee: forkpoint-conformance --help` : error);
  code = isUsage ? 2 : 1;
}
await flush();
// Some stores keep a process alive.
process.exit(code);
