// Tests the questions that the command line shows, and the answers that it stores.
// @module-tag slow
import { join } from "node:path";
import { openInspector } from "forkpoint/inspect";
import { Checkpointer, Graph, START } from "forkpoint/tinyagents";
import { expect, test } from "vitest";
import { folder } from "../helpers.js";
import { alone, answer, bytesOf, cli, copies, json, refused } from "./run.js";

const hostile = "\u001b[31mred\u202e\nsecond line";

function graphOf(checkpointer: Checkpointer<{ said: unknown[] }>) {
  return new Graph<{ said: unknown[] }>({
    nodes: {
      pay: (_, context) => ({
        said: [
          context.interrupt({ question: "May I pay?", tool: "refund", args: { amount: 480 }, choices: ["yes", "no"] }),
        ],
      }),
      other: (_, context) => ({ said: [context.interrupt(hostile)] }),
    },
    edges: [
      [START, "pay"],
      [START, "other"],
    ],
    reducer: (state, update) => ({ said: [...state.said, ...(update.said ?? [])] }),
    checkpointer,
  });
}

const waiting = copies(async (path) => {
  // An open store may still write to its file.
  await using checkpointer = new Checkpointer<{ said: unknown[] }>(path);
  await graphOf(checkpointer).invoke({ said: [] }, { threadId: "order-7" });
});

test("questions are in ls and show on a line each, and looking changes nothing", async () => {
  const path = await waiting();
  const before = bytesOf(path);
  const listed = await answer(["ls", "--db", path]);
  expect(listed).toMatch(/ASKS\n! waiting +order-7 .* refund\(\{"amount":480\}\) May I pay\? \(and 1 more\)\n$/);
  const shown = await answer(["show", "order-7", "--db", path]);
  expect(shown).toContain('\n  refund({"amount":480}) May I pay? [yes, no]\n');
  expect(shown).toContain('\n  "\\u001b[31mred\\u202e"\n');
  const all = await answer(["answer", "order-7", "--db", path]);
  expect(all).toContain('graph.resume("order-7", { answers: {');
  expect(all).toContain("\n  second line\n");
  expect(all).not.toContain("\u001b");
  expect(all).not.toContain("\u202e");
  const { questions, answers } = await json(["answer", "order-7", "--db", path]);
  expect(questions.map(({ node, canAnswer }: Record<string, unknown>) => [node, canAnswer])).toEqual([
    ["pay", true],
    ["other", true],
  ]);
  expect(answers).toEqual([]);
  expect(questions[1].text).toBe(hostile);
  const [{ id }] = questions;
  expect(await answer(["answer", "order-7", id, "--approve", "--dry-run", "--db", path])).toContain('with "yes"');
  expect(bytesOf(path)).toBe(before);
});

test("an answer is stored once, with who gave it, and the program takes it", async () => {
  const path = await waiting();
  const { questions } = await json(["answer", "order-7", "--db", path]);
  const [{ id: pay }] = questions;
  const stored = await json(["answer", "order-7", pay, "--approve", "--by", "Ana", "--db", path]);
  expect(stored).toMatchObject({ space: "tinyagents", run: "order-7", ns: "", id: pay, value: "yes", by: "Ana" });
  const again = await refused(["answer", "order-7", pay, "--reject", "--db", path], 5);
  expect(again).toMatchObject({ code: "CONFLICT" });
  const { stdout, stderr } = await cli(["answer", "order-7", "--text", "fine", "--by", "Bob", "--db", path]);
  expect(stdout).toContain('✓ answered "\\u001b[31mred\\u202e" with "fine"');
  expect(stderr).toContain('graph.resume("order-7") in your program continues the run');
  const shown = await answer(["show", "order-7", "--db", path]);
  expect(shown).toMatch(/answered at step 0: refund\(\{"amount":480\}\) May I pay\? ✓ "yes" by Ana, \d{4}-/);
  expect((await graphOf(new Checkpointer(path)).resume("order-7")).state.said).toEqual(["yes", "fine"]);
  // The answers stay readable.
  const { questions: left, answers } = await json(["answer", "order-7", "--db", path]);
  expect(left).toEqual([]);
  expect(answers.map(({ step, answered }: Record<string, any>) => [step, answered.value, answered.by])).toEqual([
    [0, "yes", "Ana"],
    [0, "fine", "Bob"],
  ]);
  await using inspector = await openInspector(path);
  expect((await inspector.run({ space: "tinyagents", run: "order-7" }))!.status).toBe("finished");
});

test("wrong usage is refused before anything is stored", async () => {
  const path = await waiting();
  // A command that may write may also compress what is stored.
  const seen = () => Promise.all(["answer", "show"].map((command) => json([command, "order-7", "--db", path])));
  const before = await seen();
  const { id } = before[0]!["questions"][0];
  for (const [args, code] of [
    [["order-7", "--approve"], 2],
    [["order-7", id, "--approve", "--text", "x"], 2],
    [["order-7", id, "--value", "{no"], 2],
    [["order-7", id, "--approve", "--by", ""], 2],
    [["order-7", "unknown-question", "--approve"], 3],
    [["nobody", "--approve"], 3],
  ] as const)
    await refused(["answer", ...args, "--db", path], code);
  const after = await seen();
  const { checkpoints } = before[1]!;
  expect(checkpoints.length).toBeGreaterThan(0);
  expect([after[0], after[1]!["checkpoints"]]).toEqual([before[0], checkpoints]);
});

test(
  "two people who answer two questions at the same time are not both told that one is left",
  { timeout: 60_000 },
  async () => {
    for (let round = 0; round < 6; round++) {
      const path = await waiting();
      const { questions } = await json(["answer", "order-7", "--db", path]);
      const answers = questions.map(({ id }: { id: string }) =>
        alone(["answer", "order-7", id, "--text", "x", "--db", path]),
      );
      const said = (await Promise.all(answers)) as Array<{ code: number; stderr: string }>;
      expect(said.map(({ code }) => code)).toEqual([0, 0]);
      expect(said.map(({ stderr }) => stderr).join("\n")).toContain("continues the run");
    }
  },
);

test("the printed commands work, for several questions, and for ids that begin with a hyphen", async () => {
  const path = join(folder(), "agent.db");
  const checkpointer = new Checkpointer<{ said: unknown[] }>(path);
  for (const threadId of ["-order", "order 8"]) await graphOf(checkpointer).invoke({ said: [] }, { threadId });
  await checkpointer.close();
  /** Runs the command of a hint. Returns what it says. */
  const follow = async (hint: string) => {
    const words = /forkpoint (.+)$/m
      .exec(hint)![1]!
      .match(/'[^']*'|\S+/g)!
      .map((word) => word.replaceAll("'", ""));
    const [name, ...args] = words;
    const found = await cli([name!, "--db", path, ...args]);
    expect(found.code, found.stderr).toBe(0);
    return found;
  };
  for (const id of ["-order", "order 8"]) {
    const shown = await cli(["show", "--db", path, "--", id]);
    const listed = await follow(shown.stderr);
    expect(listed.stdout).toContain("May I pay?");
    const stored = await follow(listed.stderr);
    expect(stored.stdout).toContain('with "yes"');
    expect(stored.stderr).toContain("1 question left");
    const left = await follow(stored.stderr);
    await follow(left.stderr);
  }
  await using inspector = await openInspector(path);
  const { items } = await inspector.runs({ space: "tinyagents" });
  expect(items.map(({ status }) => status)).toEqual(["unfinished", "unfinished"]);
});
