/** What tests of `drainCheck` share: it says of a new version what `recover` of this version does. */
import type { DrainReport } from "forkpoint/inspect";
import { expect } from "vitest";

/** A program that names its versions, and one that does not: the options of the old and of the new version. */
export const programs: Array<[string, { program?: string; version?: string }, { program?: string; version?: string }]> =
  [
    ["with a name", { program: "trip", version: "1" }, { program: "trip", version: "2" }],
    ["without a name", {}, {}],
  ];

/** A run as a dry run of `recover` reports it. */
interface Recovered {
  outcome: string;
  runId?: string;
  threadId?: string;
  differences?: readonly string[];
}

/**
 * Expects that `drainCheck` lists the runs that `recover` reports as changed, and no others. Returns what differs for each of
 * them, by its id.
 */
export function expectRecovered(report: DrainReport, recovered: readonly Recovered[]): Map<string, string> {
  const changed = new Map(report.runs.map(({ run, differences }) => [run, differences.join("; ")]));
  const expected = recovered.flatMap(({ outcome, runId, threadId, differences = [] }) => {
    const run = (runId ?? threadId)!;
    if (outcome === "changed") return [[run, differences.join("; ")]];
    // A program without a name is another program for `recover` if its nodes have other names.
    return outcome === "skipped" ? [[run, changed.get(run)]] : [];
  });
  expect([...changed].toSorted()).toEqual(expected.toSorted());
  expect(report).toMatchObject({ ok: changed.size === 0, other: 0, unknown: 0 });
  return changed;
}
