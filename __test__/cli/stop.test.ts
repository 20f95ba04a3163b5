// Stops runs with the command line. The holders are real processes: one listens, one does not, and one is killed.
// @module-tag slow
import { CheckpointStore } from "forkpoint";
import { describe, expect, test } from "vitest";
import { Worker } from "../exclusive-worker.js";
import { checkpoint, place } from "../helpers.js";
import { alone, answer, bytesOf, cli, json, refused, start } from "./run.js";

const hostile = "\u001b[31mred\u202e\nsecond line";

describe.each(["sqlite", "jsonl"] as const)("%s", (kind) => {
  const held = async (run: string, given: object = {}) => {
    const target = place(kind);
    const worker = new Worker(target);
    await worker.works("a", run, given);
    return { target, worker, holder: expect.stringContaining(`process ${worker.program.pid} on `) };
  };

  test("a run in another process stops, and its author and reason are listed", async () => {
    const { target, worker, holder } = await held("run-1");
    const db = ["--db", target];
    const ended = await json(["stop", "run-1", "--by", "Ana", "--reason", "wrong customer", ...db]);
    const stopped = { by: "Ana", reason: "wrong customer", at: expect.any(Number) };
    const about = { space: "agentos", run: "run-1", ns: null };
    expect(ended).toEqual({ ...about, outcome: "stopped", holder, status: "stopped", stopped });
    expect(await worker.says("a")).toMatchObject({ code: "STOPPED", stopped: { kind: "stop", ...stopped } });
    expect(await answer(["ls", ...db])).toMatch(/\n■ stopped +run-1 /);
    expect(await answer(["ls", "--status", "unfinished", ...db])).toBe("");
    expect((await json(["ls", "--status", "stopped", ...db])).runs).toMatchObject([
      { run: "run-1", status: "stopped", stopped, statusWhy: "by Ana: wrong customer" },
    ]);
    expect(await answer(["show", "run-1", ...db])).toMatch(/\n■ stopped by Ana (just now|\d+ s ago): wrong customer\n/);
    expect((await json(["show", "run-1", ...db])).run).toMatchObject({ status: "stopped", stopped });
    expect(await answer(["stats", ...db])).toMatch(/ UNFINISHED +STOPPED .*\nagentos +1 +0 +0 +0 +1 /);
    expect((await json(["stats", ...db])).spaces.agentos.statuses).toMatchObject({ unfinished: 0, stopped: 1 });
    // A second stop changes nothing.
    const { stdout, stderr } = await cli(["stop", "run-1", "--by", "Bob", ...db]);
    expect(stdout).toBe("✓ stopped run-1: no process worked on it\n");
    expect(stderr).toContain('recover(graph, store, { runs: ["run-1"] })');
    expect((await json(["show", "run-1", ...db])).run).toMatchObject({ stopped });
    worker.tell("append", { name: "b", run: "run-1" });
    await worker.says("b");
    expect(await answer(["ls", ...db])).toMatch(/\n~ unfinished +run-1 /);
  });

  test("a process that ignores the request is named after the wait, with an exit code of its own", async () => {
    const { target, worker, holder } = await held("-run", { ignores: true });
    const late = await cli(["stop", "--wait", "300ms", "--db", target, "--", "-run"]);
    expect(late).toMatchObject({ code: 1, stderr: expect.stringContaining("it stops when it notices the request") });
    expect(late.stdout).toMatch(/^! no answer -run: process \d+ on .* has not stopped yet\n$/);
    const again = await cli(["stop", "--wait", "1ms", "--json", "--db", target, "--", "-run"]);
    expect(again.code).toBe(1);
    expect(JSON.parse(again.stdout)).toMatchObject({
      outcome: "no answer",
      holder,
      status: "unfinished",
      stopped: null,
    });
    // The user does not wait any longer. The request stays.
    const waits = start(["stop", "--wait", "5m", "--db", target, "--", "-run"]);
    waits.child.kill("SIGTERM");
    expect((await waits.ended).stdout).toBe("");
    worker.tell("open", { of: "a" });
    await worker.says("a");
    expect((await json(["show", "--db", target, "--", "-run"])).run).toMatchObject({ status: "stopped" });
  });

  test("the run of a killed process is unfinished, and counts as stopped from then on", async () => {
    const { target, worker } = await held("run-1");
    worker.program.kill();
    await worker.program.ended;
    expect((await json(["show", "run-1", "--db", target])).run).toMatchObject({ status: "unfinished", stopped: null });
    const { code, stdout } = await alone(["stop", "run-1", "--by", hostile, "--db", target]);
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^✓ stopped run-1: process \d+ on .* had ended before\n$/),
    ]);
    const ended = await json(["stop", "run-1", "--db", target]);
    expect(ended).toMatchObject({ outcome: "not running", status: "stopped", stopped: { by: hostile } });
    expect(await answer(["show", "run-1", "--db", target])).toContain("by \\u001b[31mred\\u202e\\u000asecond line");
  });
});

test("wrong usage is refused, and a run that has ended stays as it is", async () => {
  const target = place("sqlite");
  const store = new CheckpointStore(target);
  await store.save(checkpoint({ runId: "finished", pendingEdges: [] }));
  await store.close();
  const db = ["--db", target];
  await answer(["ls", ...db]);
  const before = bytesOf(target);
  for (const [args, code] of [
    [["finished", "--by", ""], 2],
    [["finished", "--reason", "x".repeat(1_001)], 2],
    [["finished", "--wait", "long"], 2],
    [["finished", "--wait", "9000h"], 2],
    [["nobody"], 3],
    [[], 2],
  ] as const)
    await refused(["stop", ...args, ...db], code);
  expect(bytesOf(target)).toBe(before);
  const { code, stdout, stderr } = await cli(["stop", "finished", ...db]);
  expect([code, stdout, stderr]).toEqual([0, "finished is finished: no process worked on it\n", ""]);
  expect((await json(["show", "finished", ...db])).run).toMatchObject({ status: "finished", stopped: null });
});
