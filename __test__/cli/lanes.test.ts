// Tests the drawing of `forkpoint show --tree`, which git draws in the same way.
import { describe, expect, test } from "vitest";
import type { CheckpointInfo, RunInfo } from "forkpoint/inspect";
import { drawTree } from "../../tools/cli/lanes.js";
import { plain } from "../../tools/cli/style.js";

/** Makes checkpoints from their parents: `[0]` is the parent of 1, and so on. Null has none. */
function checkpoints(parents: Array<number | null>, run = "r"): CheckpointInfo[] {
  const ref = (n: number) => ({ space: "langgraph", run, ns: "", id: `c${n}` });
  return parents.map((parent, step) => ({
    ...ref(step),
    seq: step,
    step,
    label: null,
    nodes: null,
    group: null,
    parent: parent === null ? null : { ...ref(parent), kind: "recorded" },
    at: null,
    savedAt: 0,
    bytes: { logical: 0, stored: 0 },
    chain: 0,
    meta: {},
  }));
}

/** A run that was forked from a checkpoint. */
function fork(run: string, from: number): RunInfo {
  const [latest] = checkpoints([null], run) as [CheckpointInfo];
  const forkedFrom = { space: "langgraph", run: "r", ns: "", id: `c${from}` };
  const rest = {
    group: null,
    checkpoints: 1,
    began: 0,
    active: 0,
    status: "finished" as const,
    stopped: null,
    question: null,
    statusWhy: null,
    bytes: null,
    version: null,
    lease: null,
    stranded: null,
    labels: {},
  };
  return { space: "langgraph", run, ns: "", latest, forkedFrom, ...rest };
}

/** The lanes and the step of each line. */
function drawn(parents: Array<number | null>, forks: RunInfo[] = []): string[] {
  const lines = drawTree(checkpoints(parents), forks, plain, Number.POSITIVE_INFINITY);
  return lines.map((line) =>
    line
      .replace(/ {2}c\d+ {2}\d{4}.*$/, "")
      .replace(/ {2}langgraph.*$/, "")
      .replace(/ {2}✓ finished$/, ""),
  );
}

describe("a tree", () => {
  test("of a line is a line", () => expect(drawn([null, 0, 1])).toEqual(["* 2", "* 1", "* 0"]));

  test("of nothing is nothing", () => expect(drawn([])).toEqual([]));

  test("of two branches has two lanes, and the trunk is that of the newest", () =>
    expect(drawn([null, 0, 1, 1, 2, 3])).toEqual(["* 5", "| * 4", "* | 3", "| * 2", "|/", "* 1", "* 0"]));

  test("joins a lane that is far away", () =>
    expect(drawn([null, 0, 0, 1, 0])).toEqual(["* 4", "| * 3", "| | * 2", "| * | 1", "| |/", "|/|", "|/", "* 0"]));

  test("uses a lane again", () =>
    expect(drawn([null, 0, 1, 2, 0, 2])).toEqual([
      "* 5",
      "| * 4",
      "| | * 3",
      "| |/",
      "|/|",
      "* | 2",
      "* | 1",
      "|/",
      "* 0",
    ]));

  test("ends a lane whose parent is gone", () => expect(drawn([null, 7, 1])).toEqual(["* 2", "* 1", "* 0"]));

  test("marks forks", () =>
    expect(drawn([null, 0], [fork("other", 0), fork("third", 1)])).toEqual([
      "  > third",
      " /",
      "* 1",
      "| > other",
      "|/",
      "* 0",
    ]));

  test("of many checkpoints is drawn at once", () => {
    const parents = Array.from({ length: 5000 }, (_, n) => (n === 0 ? null : Math.max(0, n - 1 - (n % 7))));
    const lines = drawn(parents);
    expect(lines.filter((line) => line.includes("*"))).toHaveLength(5000);
  });
});
