// Tests `grep`, and lists of all runs that are printed while they are read.
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { CheckpointStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { describe, expect, test } from "vitest";
import { checkpoint, folder, windows } from "../helpers.js";
import { makeExample } from "./example.js";
import { answer, cli, copies, expectSafe, inTerminal, json, main, refused, startProgram } from "./run.js";

const example = copies(makeExample);

async function withStates(states: Record<string, unknown>): Promise<string> {
  const path = join(folder(), "agent.db");
  const store = new WorkflowCheckpointStore<any>(path);
  for (const [runId, state] of Object.entries(states)) {
    await store.save({ id: runId, runId, stepIndex: 0, stepName: "a", state, createdAt: 1 });
  }
  await store.close();
  return path;
}

describe("grep", () => {
  test("exits with 1 if nothing is found, and prints nothing", async () => {
    const db = await example();
    expect(await cli(["grep", "submarine", "--db", db])).toMatchObject({ code: 1, stdout: "", stderr: "" });
    expect(await cli(["grep", "WAREHOUSE", "--db", db])).toMatchObject({ code: 1, stdout: "" });
    expect(await cli(["grep", "WAREHOUSE", "-i", "--db", db])).toMatchObject({ code: 0 });
  });

  test("searches one run, all its steps, and only some runs", async () => {
    const db = await example();
    const lines = async (...args: string[]) => (await answer(["grep", ...args, "--db", db])).trim().split("\n");
    expect(await lines("warehouse", "support-1183", "--all-steps")).toEqual([
      "support-1183  step 2   state.scratch.facts[1]  The order left the warehouse.",
    ]);
    expect(await lines("wareh.use|delivery", "support-1183", "--regex")).toHaveLength(2);
    expect(await lines("delivery", "--status", "failed")).toEqual([
      "billing-7  step 1   state.scratch.facts[0]  The question is about a delivery.",
    ]);
    expect(await lines("stepName", "--space", "agentium", "--limit", "1")).toHaveLength(1);
    const { stderr } = await cli(["grep", "delivery", "--limit", "1", "--db", db]);
    expect(stderr).toContain("raise --limit");
  });

  test("refuses wrong usage", async () => {
    const db = await example();
    expect((await refused(["grep", "", "--db", db], 2)).message).toContain("empty");
    expect((await refused(["grep", "(", "--regex", "--db", db], 2)).message).toContain("regular expression");
    expect((await refused(["grep", "a", "no-such-run", "--db", db], 3)).message).toContain("there is no run");
    expect((await refused(["grep", "a", "--limit", "0", "--db", db], 2)).message).toContain("--limit");
    expect((await refused(["grep", "--db", db], 2)).message).toContain("text");
  });

  test("writes hostile texts as escapes, on one line", async () => {
    const db = await withStates({
      "r\u001b[31m": { "k\u001b]0;x\u0007": "one\ntwo \u001b[2J\u202e needle \u0000 three\r\nfour", "needle\n": 1 },
    });
    const out = await answer(["grep", "needle", "--db", db]);
    expectSafe(out);
    expect(out.trim().split("\n")).toHaveLength(2);
    expect(out).toContain("\\u001b[2J");
    expectSafe(await answer(["grep", "needle", "--json", "--db", db]));
  });

  test.skipIf(process.platform !== "linux")("fits a terminal of 80 columns", async () => {
    const long = `${"before ".repeat(40)}needle${" after".repeat(40)}`;
    const db = await withStates({
      run: { text: long, [`key ${"x".repeat(60)}`]: { inner: "a needle 🜁 中文 ".repeat(9) } },
    });
    const { screen } = await inTerminal(["grep", "needle", "--db", db], { columns: 80 });
    const lines = screen.split("\n").map((line) => stripVTControlCharacters(line).replaceAll("\r", ""));
    expect(lines.filter((line) => line.includes("needle"))).toHaveLength(2);
    for (const line of lines.filter((each) => each.includes("before"))) expect(line.length).toBeLessThanOrEqual(80);
  });

  test("says what it could not search", async () => {
    const path = join(folder(), "agent.db");
    const name = 'secret "\u001b';
    const serializer = { name, serialize: () => new Uint8Array([1]), deserialize: () => ({}) };
    const store = new WorkflowCheckpointStore<any>(path, { serializer });
    await store.save({ id: "a", runId: "a", stepIndex: 0, stepName: "a", state: {}, createdAt: 1 });
    await store.close();
    const { code, stderr } = await cli(["grep", "a", "--db", path]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^\d values? could not be searched: the serializer "secret \\"\\u001b" is missing/);
    expectSafe(stderr);
  });

  test.skipIf(windows)("ends without a word when nobody reads, and on Ctrl-C", async () => {
    const db = await withStates({
      run: { list: Array.from({ length: 900 }, (_, n) => `needle ${n} ${"x".repeat(60)}`) },
    });
    const script = `{ "$NODE" "$MAIN" grep needle --db "$DB"; echo "code $?" >&2; } | head -n 1`;
    const env = { NODE: process.execPath, MAIN: main, DB: db };
    const { stdout, stderr } = await startProgram("sh", ["-c", script], { env }).ended;
    expect(stdout.split("\n")).toHaveLength(2);
    expect(stderr).toBe("code 0\n");
  });
});

describe("ls --all", () => {
  test("prints what plain pages have, with one header, and ends without a word when nobody reads", async () => {
    const path = join(folder(), "agent.db");
    const store = new CheckpointStore(path, { durability: "off" });
    for (let n = 0; n < 350; n++) {
      await store.save(
        checkpoint({ id: `c${n}`, runId: n === 20 ? `run-${"x".repeat(30)}` : `run-${n}`, timestamp: n }),
      );
    }
    await store.close();
    const lines = (await answer(["ls", "--all", "--db", path])).trim().split("\n");
    const names = (await json(["ls", "--all", "--json", "--db", path])).runs.map(({ run }: { run: string }) => run);
    expect(names).toHaveLength(350);
    const rows = lines.filter((line) => !line.startsWith("STATUS"));
    expect(rows.map((line) => /run-\w+/.exec(line)![0])).toEqual(names);
    // The long name comes later, and makes the columns wider.
    expect(lines.filter((line) => line.startsWith("STATUS"))).toHaveLength(2);
    expect(await cli(["ls", "--all", "--match", "none", "--db", path])).toMatchObject({ code: 0, stdout: "" });
    if (windows) return;
    const script = `{ "$NODE" "$MAIN" ls --all --db "$DB"; echo "code $?" >&2; } | head -n 3`;
    const piped = await startProgram("sh", ["-c", script], { env: { NODE: process.execPath, MAIN: main, DB: path } })
      .ended;
    expect(piped.stdout.split("\n")).toHaveLength(4);
    expect(piped.stderr).toBe("code 0\n");
  });
});
