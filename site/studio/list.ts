/** The list of recorded runs, with the filters of the page. */

import type { RunInfo, Status } from "../../ts/plugin/views.js";

export type Parameters = Record<string, string | number | boolean | readonly string[] | null | undefined>;

const orders: Record<string, (run: RunInfo) => number> = {
  active: ({ active }) => active,
  began: ({ began }) => began ?? 0,
  size: ({ bytes }) => bytes?.stored ?? 0,
};

/** Reads the parameter `of`: the list `[[space, run, ns], …]`. */
function named(all: readonly RunInfo[], text: string): Array<RunInfo | null> {
  const refs = JSON.parse(text) as Array<[string, string, string | null]>;
  return refs.map(([space, run]) => all.find((each) => each.space === space && each.run === run) ?? null);
}

/** Returns the runs that a request asks for. There are few, so they are one page. */
export function listed(all: readonly RunInfo[], parameters: Parameters): { runs: unknown[]; cursor: null } {
  const { of, space, match, status, version, since, label, sort } = parameters;
  if (typeof of === "string") return { runs: named(all, of), cursor: null };
  const labels = Array.isArray(label) ? (label as string[]) : [];
  const order = orders[String(sort ?? "active")] ?? orders["active"]!;
  const runs = all.filter((run) => {
    const own = new Set(Object.entries(run.labels).map(([key, value]) => `${key}=${value}`));
    return (
      (!space || run.space === space) &&
      (!status || run.status === status) &&
      (!match || run.run.includes(String(match))) &&
      (!version || run.version?.version === version) &&
      (!since || run.active >= Number(since)) &&
      labels.every((each) => own.has(each))
    );
  });
  return { runs: runs.toSorted((a, b) => order(b) - order(a)), cursor: null };
}

interface Counted {
  space: string;
  runs: number;
  checkpoints: number;
  statuses: Record<Status, number>;
}

/** Counts the runs of each framework. */
export function spacesOf(all: readonly RunInfo[]): Counted[] {
  return [...new Set(all.map(({ space }) => space))].map((space) => {
    const own = all.filter((run) => run.space === space);
    const statuses = { waiting: 0, failed: 0, stopped: 0, unfinished: 0, finished: 0, unknown: 0 };
    for (const { status } of own) statuses[status ?? "unknown"] += 1;
    const checkpoints = own.reduce((sum, run) => sum + run.checkpoints, 0);
    return { space, runs: own.length, checkpoints, statuses };
  });
}
