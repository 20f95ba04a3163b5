// How results are shown.
import { UsageError } from "./usage-error.js";
import { type Figure, type Level, type Report, type Result, type Status, groups } from "./types.js";

const levels: readonly Level[] = ["MUST", "SHOULD", "OURS"];

const marks: Readonly<Record<Status, string>> = {
  passed: "yes",
  failed: "**no**",
  skipped: "-",
  "expected failure": "no, as declared",
  "unexpected pass": "**yes, against its declaration**",
};

const units: Readonly<Record<string, (value: number) => string>> = {
  bytes: (value) =>
    value < 1e3 ? `${value} B` : value < 1e6 ? `${(value / 1e3).toFixed(1)} KB` : `${(value / 1e6).toFixed(1)} MB`,
  ms: (value) => `${value.toPrecision(3)} ms`,
  "of 100": (value) => `${value} of 100`,
  times: (value) => `${value.toPrecision(3)} times`,
};

const show = ({ value, unit }: Figure) => units[unit]!(value);

/** Returns a text in which control characters are written as escapes. */
export const printable = (text: string): string =>
  // oxlint-disable-next-line no-control-regex -- these are what is looked for
  text.replaceAll(/[\0-\x08\x0b-\x1f\x7f]/g, (one) => `\\x${one.charCodeAt(0).toString(16).padStart(2, "0")}`);

/** Returns text for a cell of a table. */
const cell = (text: string) => printable(text.replaceAll(/\s+/g, " ").trim()).replaceAll("|", "\\|");

const line = (cells: readonly string[]) => `| ${cells.map(cell).join(" | ")} |`;

/** Returns a Markdown table. */
export function table(head: readonly string[], rows: ReadonlyArray<readonly string[]>): string {
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

/** Returns true for a result that is not as the store's module declares it. */
export const isBad = ({ status }: Result): boolean => status === "failed" || status === "unexpected pass";

/** How many expectations of a level a store meets, of those that were tried, and how many were skipped. */
export interface Count {
  readonly met: number;
  readonly of: number;
  readonly skipped: number;
}

/** Returns how many expectations of each level a store meets. Those on growth have no verdict and are not counted. */
export function counts({ results }: Report): Record<Level, Count> {
  const count = (level: Level) => {
    const mine = results.filter((result) => result.level === level && result.group !== "growth");
    const skipped = mine.filter(({ status }) => status === "skipped").length;
    return { met: mine.filter(({ status }) => /pass/.test(status)).length, of: mine.length - skipped, skipped };
  };
  return { MUST: count("MUST"), SHOULD: count("SHOULD"), OURS: count("OURS") };
}

/** Returns a count in words. */
export const inWords = ({ met, of, skipped }: Count): string =>
  `${met} of ${of}${skipped === 0 ? "" : `, ${skipped} skipped`}`;

/** Returns what the framework's own suite has said, in a few words. */
export function upstreamOf({ upstream }: Report): string {
  if (upstream === undefined) return "-";
  if (upstream.error !== undefined) return "could not be run";
  const { passed, failed, skipped } = upstream;
  return `${passed} of ${passed + failed + skipped}`;
}

const named = ({ store: { name, version } }: Report) => (version === undefined ? name : `${name} ${version}`);

/** Returns the report as Markdown: the counts, then each group, then the figures. */
export function markdown(report: Report): string {
  const met = counts(report);
  const { contract, suite, target, ran, machine, seed, upstream, results, figures } = report;
  const parts = [
    `# ${named(report)}: ${contract}`,
    table(
      ["", ...levels, upstream === undefined ? "the framework's own suite" : `${upstream.package} ${upstream.version}`],
      [["met", ...levels.map((level) => inWords(met[level])), upstreamOf(report)]],
    ),
    `forkpoint-conformance ${suite}, target \`${target}\`, seed ${seed}, ${machine}, ${ran.slice(0, 10)}.`,
  ];
  if (upstream !== undefined && upstream.failures.length > 0)
    parts.push(`${upstream.package} fails on:`, upstream.failures.map((name) => `- ${cell(name)}`).join("\n"));
  for (const group of groups) {
    const mine = results.filter((result) => result.group === group);
    if (mine.length === 0) continue;
    const rows = mine.map((result) => {
      const { level, id, title, status } = result;
      return [level, `\`${id}\``, title, [marks[status], why(result)].filter((text) => text !== "").join(": ")];
    });
    parts.push(`## ${group}`, table(["level", "id", "the store", "met"], rows));
  }
  if (figures.length > 0) {
    const rows = figures.map((figure) => [`\`${figure.id}\``, figure.name, show(figure)]);
    parts.push("## Figures", table(["id", "what", "figure"], rows));
  }
  return `${parts.join("\n\n")}\n`;
}

/** The number of characters of a message or a reason that are shown. */
const SHOWN = 300;

/** Returns why a store does not meet an expectation. */
const why = ({ reason, message }: Result) =>
  [reason, message]
    .filter((text) => text !== undefined)
    .map((text) => cell(text!).slice(0, SHOWN))
    .join(": ");

/** Returns what a store does not meet, and what it skips, as a list. */
function misses(report: Report): string[] {
  const failed = report.results.filter(({ status }) => !/^passed|skipped/.test(status));
  const skipped = new Map<string, number>();
  for (const { status, reason } of report.results)
    if (status === "skipped") skipped.set(reason!, (skipped.get(reason!) ?? 0) + 1);
  return [
    ...failed.map((result) => `- ${result.level} \`${result.id}\`: ${why(result)}`),
    ...[...skipped].map(([reason, count]) => `- ${count} skipped: ${cell(reason)}`),
  ];
}

/** Returns reports of one contract side by side, as Markdown: the counts, what not all do, the figures, and the failures. */
export function compare(reports: readonly Report[]): string {
  const contracts = new Set(reports.map(({ contract }) => contract));
  if (contracts.size !== 1)
    throw new UsageError(`only results of one contract can be compared: ${[...contracts].join(", ")}`);
  const met = reports.map(counts);
  const head = reports.map(named);
  const parts = [
    `# ${[...contracts][0]}`,
    table(
      ["", ...head],
      [
        ...levels.map((level) => [level as string].concat(met.map((each) => inWords(each[level])))),
        ["the framework's own suite", ...reports.map(upstreamOf)],
      ],
    ),
  ];
  const all = new Map(reports.flatMap(({ results }) => results.map((result) => [result.id, result] as const)));
  const rows = [];
  for (const { id, level, title, group } of all.values()) {
    if (group === "growth") continue;
    const each = reports.map(({ results }) => results.find((result) => result.id === id));
    if (each.every((result) => result?.status === "passed" || result?.status === "skipped")) continue;
    rows.push([level, `\`${id}\``, title, ...each.map((result) => (result === undefined ? "" : marks[result.status]))]);
  }
  if (rows.length > 0) parts.push("## What not all do", table(["level", "id", "the store", ...head], rows));
  const names = new Map(
    reports.flatMap(({ figures }) => figures.map((one) => [`${one.id}: ${one.name}`, one] as const)),
  );
  if (names.size > 0) {
    const figures = [...names.values()].map(({ id, name }) => {
      const found = reports.map((report) => report.figures.find((one) => one.id === id && one.name === name));
      return [`\`${id}\``, name].concat(found.map((one) => (one === undefined ? "" : show(one))));
    });
    parts.push("## Figures", table(["id", "what", ...head], figures));
  }
  for (const report of reports) {
    const { target, ran, machine, seed, suite } = report;
    parts.push(
      `## ${named(report)}`,
      `forkpoint-conformance ${suite}, target \`${target}\`, seed ${seed}, ${machine}, ${ran.slice(0, 10)}.`,
      ...(misses(report).length > 0 ? [misses(report).join("\n")] : []),
    );
  }
  return `${parts.join("\n\n")}\n`;
}
