// Tests how lists of messages and of writes are aligned by their ids, and which changes are the framework's own.
import { describe, expect, test } from "vitest";
import { diffValues } from "../../ts/inspect/diff.js";
import { sameIds } from "../../ts/inspect/identity.js";
import { traitsOf } from "../../ts/contracts/registry.js";
import type { BothWrites } from "../../ts/plugin/traits.js";
import type { Change } from "../../ts/plugin/views.js";
import { random } from "./random.js";

const isOwn = (space: string, change: Change, writes: BothWrites) => traitsOf(space).isOwn?.(change, writes) === true;

const signs = { add: "+", remove: "-", replace: "~" } as const;

const shortOf = (changes: Change[]) => changes.map(({ op, path }) => `${signs[op]}${path.join("/")}`);

const diff = (before: unknown, after: unknown, part: Change["part"] = "state") =>
  shortOf(diffValues(part, before, after, 10_000).changes);

/** A message as LangChain stores it. */
const message = (id: string | undefined, content: string, kind = "HumanMessage") => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "messages", kind],
  kwargs: { content, ...(id !== undefined && { id }) },
});

describe("messages", () => {
  test("with the same id are compared with each other, wherever others were inserted", () => {
    const before = [message("a", "1"), message("b", "2"), message("c", "3")];
    const after = [message("new", "0"), message("a", "1!"), message("b", "2!"), message("c", "3!")];
    expect(diff(before, after)).toEqual(["+0", "~1/kwargs/content", "~2/kwargs/content", "~3/kwargs/content"]);
    expect(diff(after, before)).toEqual(["-0", "~0/kwargs/content", "~1/kwargs/content", "~2/kwargs/content"]);
  });

  test("of other libraries have their id in a key", () => {
    const written = (content: string) => [1, 2, 3].map((id) => ({ id, role: "user", content }));
    const [before, after] = [written("text"), written("other").slice(1)];
    expect(diff(before, after)).toEqual(["-0", "~0/content", "~1/content"]);
    // 1 and "1" are different ids.
    expect(
      diff(
        [
          { id: 1, a: 1 },
          { id: 2, a: 2 },
        ],
        [
          { id: "2", a: 1 },
          { id: 2, a: 3 },
        ],
      ),
    ).toEqual(["~0/id", "~1/a"]);
  });

  test("without an id, or with one that is there twice, are compared by their order", () => {
    const before = [message(undefined, "1"), message(undefined, "2")];
    expect(diff(before, [message(undefined, "1!"), message(undefined, "2!")])).toEqual([
      "~0/kwargs/content",
      "~1/kwargs/content",
    ]);
    const twice = [message("a", "1"), message("a", "2"), message("b", "3")];
    const after = [message("a", "1!"), message("a", "2!"), message("b", "3!")];
    expect(diff(twice, after)).toEqual(["~0/kwargs/content", "~1/kwargs/content", "~2/kwargs/content"]);
  });

  test("that changed their order are aligned as far as the order is kept", () => {
    const list = (...ids: string[]) => ids.map((id, n) => message(id, `${id} ${n}`));
    expect(diff(list("a", "b", "c", "d"), list("d", "a", "b", "c"))).toEqual([
      "+0",
      "~1/kwargs/content",
      "~2/kwargs/content",
      "~3/kwargs/content",
      "-3",
    ]);
  });

  test("of a list of any length are aligned", () => {
    const before = Array.from({ length: 5_000 }, (_, n) => ({ id: n, text: `text ${n}` }));
    const after = before.toSpliced(10, 0, { id: -1, text: "inserted" }).toSpliced(4_990, 1);
    after[3_000] = { ...after[3_000]!, text: "other" };
    expect(diff(before, after)).toEqual(["+10", "~3000/text", "-4989"]);
  });
});

describe("the pairs of two lists of ids", () => {
  test("are the longest ones that keep the order of both", () => {
    expect(sameIds(["a", "b", null, "c"], ["c", null, "a", "b"])).toEqual([
      [0, 2],
      [1, 3],
    ]);
    expect(sameIds([], ["a"])).toEqual([]);
    const below = random(7);
    for (let n = 0; n < 300; n++) {
      const list = () => Array.from({ length: below(12) }, () => (below(6) === 0 ? null : `${below(9)}`));
      const [before, after] = [list(), list()];
      const pairs = sameIds(before, after);
      const unique = (ids: Array<string | null>, id: string | null) => ids.filter((each) => each === id).length === 1;
      for (const [index, [i, j]] of pairs.entries()) {
        expect(before[i]).toBe(after[j]);
        expect(unique(before, before[i]!) && unique(after, after[j]!)).toBe(true);
        if (index > 0) expect(pairs[index - 1]![0] < i && pairs[index - 1]![1] < j).toBe(true);
      }
      // The length is the one of the slow way.
      const [left, right] = [before, after].map((ids, at) =>
        ids.filter((id) => id !== null && unique(ids, id) && unique(at === 0 ? after : before, id)),
      );
      const most = (i: number, j: number): number =>
        i === left!.length || j === right!.length
          ? 0
          : left![i] === right![j]
            ? 1 + most(i + 1, j + 1)
            : Math.max(most(i + 1, j), most(i, j + 1));
      expect(pairs).toHaveLength(most(0, 0));
    }
  });
});

describe("writes", () => {
  const write = (task: string, index: number, channel: string, value: unknown, owner: string | null = null) => ({
    task,
    index,
    channel,
    value,
    owner,
  });

  test("of different tasks have nothing in common", () => {
    const before = [write("t1", 0, "messages", ["a"], "c2"), write("t1", 1, "branch:to:b", null, "c2")];
    const after = [write("t2", -3, "__interrupt__", { value: "go on?" })];
    expect(diff(before, after, "writes")).toEqual(["-0", "-1", "+0"]);
    expect(diff(after, [write("t2", -3, "__interrupt__", { value: "really?" })], "writes")).toEqual(["~0/value/value"]);
  });

  test("that were applied are the framework's own, and a question is not", () => {
    const before = [write("t1", 0, "messages", ["a"], "c2"), write("t1", 1, "other", 1)];
    const after = [write("t1", 1, "other", 1, "c3"), write("t2", -3, "__interrupt__", 1), write("t2", 0, "join:a", 1)];
    const { changes } = diffValues("writes", before, after, 100);
    const own = (space: string) => changes.filter((each) => isOwn(space, each, { before, after }));
    expect(shortOf(changes)).toEqual(["-0", "~0/owner", "+1", "+2"]);
    expect(shortOf(own("langgraph"))).toEqual(["-0", "~0/owner", "+2"]);
    expect(own("agentos")).toEqual([]);
  });
});

describe("LangGraph's own changes", () => {
  const none = { before: [], after: [] };
  test.each<[Change["op"], string, boolean]>([
    ["add", "branch:to:agent", true],
    ["remove", "branch:to:agent", true],
    ["add", "join:a+b:c", true],
    ["replace", "__pregel_tasks", true],
    ["remove", "__start__", true],
    // The input of a run.
    ["add", "__start__", false],
    ["replace", "__previous__", false],
    ["replace", "__root__", false],
    ["add", "messages", false],
    ["add", "branch", false],
    ["add", "__proto__", false],
  ])("%s of the channel %s", (op, channel, own) => {
    expect(isOwn("langgraph", { part: "state", op, path: [channel] }, none)).toBe(own);
    expect(isOwn("langgraph", { part: "rest", op, path: [channel] }, none)).toBe(true);
    expect(isOwn("agentium", { part: "state", op, path: [channel] }, none)).toBe(false);
  });

  test("the state as one value is not", () => {
    expect(isOwn("langgraph", { part: "state", op: "replace", path: [] }, none)).toBe(false);
  });
});
