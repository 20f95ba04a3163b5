// Tests doctor and verify, with databases that are whole, damaged and badly placed.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { randomBytes } from "node:crypto";
import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CheckpointStore, type Store, openStore } from "forkpoint";
import { SessionStore } from "forkpoint/helix";
import { Checkpointer } from "forkpoint/tinyagents";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkpoint, damage, folder, windows } from "../helpers.js";
import { answer, cli, filled, filledTexts, json, withRun } from "./run.js";

interface Report {
  ok: boolean;
  checked: { checkpoints: number; payloads: number; writes: number };
  runs?: { checkpoints: number; payloads: number; writes: number };
  others?: number;
  next: string | null;
  findings: Array<{
    code: string;
    severity: string;
    message: string;
    remedy: string;
    ref: { run: string; id: string } | null;
  }>;
  plan?: Array<{ code: string; remedy: string; command: string | null }>;
}

/** Runs doctor or verify with --json. The exit code is 1 if an error was found. */
async function report(...args: string[]): Promise<Report> {
  const { code, stdout } = await cli([...args, "--json"]);
  const found = JSON.parse(stdout) as Report;
  expect(code).toBe(found.ok ? 0 : 1);
  return found;
}

/** Makes a database with one damaged payload, which SQLite itself does not notice. */
async function damaged(): Promise<string> {
  const path = await withRun("whole", 3);
  const store = new CheckpointStore(path);
  // The random bytes prevent compression, so that the marker can be found in the file.
  const scratch = { text: "a marker in the state", noise: randomBytes(4_000) };
  const state = { ...checkpoint().state, scratch };
  await store.save(checkpoint({ id: "damaged", runId: "broken", state }));
  await store.close();
  damage(path, "marker in the state");
  return path;
}

describe("verify", () => {
  test("reads everything of a whole database", async () => {
    const path = await filled();
    const { ok, checked, findings } = await report("verify", "--db", path);
    expect({ ok, findings }).toEqual({ ok: true, findings: [] });
    const { checkpoints } = await json(["stats", "--db", path]);
    expect(checked).toMatchObject({ checkpoints, payloads: expect.any(Number), writes: expect.any(Number) });
    const text = await answer(["verify", "--db", path]);
    expect(text).toMatch(/^✓ no errors\n/);
    expect(text).toContain(`${checkpoints} checkpoints`);
    const one = await report("verify", "run-1", "--db", path);
    expect(one.ok).toBe(true);
    expect(one.checked.checkpoints).toBeLessThanOrEqual(checkpoints);
    expect(one.checked.checkpoints).toBeGreaterThanOrEqual(10);
  });

  test("verifies a part, and goes on from there", async () => {
    const path = await filled();
    const whole = await report("verify", "--db", path);
    const text = await answer(["verify", "--rows", "5", "--db", path]);
    const after = /Go on with: --after (\S+)\n/.exec(text)![1]!;
    const first = await report("verify", "--rows", "5", "--db", path);
    expect(first).toMatchObject({ ok: true, next: after });
    const rest = await report("verify", "--after", after, "--db", path);
    expect(rest.next).toBeNull();
    expect(first.checked.checkpoints + rest.checked.checkpoints).toBe(whole.checked.checkpoints);
    expect(first.checked.checkpoints).toBeLessThan(whole.checked.checkpoints);
  });

  test("finds a damaged payload, and says which and what to do", async () => {
    const path = await damaged();
    const { ok, findings, plan } = await report("verify", "--repair-plan", "--db", path);
    expect(ok).toBe(false);
    const finding = findings.find(({ code }) => code === "CORRUPT")!;
    expect(finding).toMatchObject({ severity: "error", ref: { space: "agentos", run: "broken", id: "damaged" } });
    expect(finding.message).not.toContain("marker");
    const step = plan!.find(({ command }) => command !== null)!;
    expect(step).toEqual({
      code: "CORRUPT",
      remedy: finding.remedy,
      command: `forkpoint rm --db ${path} --space agentos --checkpoint damaged -- broken`,
    });
    const { code, stdout } = await cli(["verify", "--repair-plan", "--db", path]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^✗ error CORRUPT {2}/);
    expect(stdout).toContain("How to repair\n");
    // A damaged value is an error, and not a wrong answer.
    expect((await cli(["get", "broken", "--db", path])).code).toBe(5);
    expect((await cli(["ls", "--db", path])).code).toBe(0);
    // The step of the plan works.
    const [, ...args] = step.command!.split(" ");
    await answer([...args.slice(0, -2), "--yes", ...args.slice(-2)]);
    expect((await report("verify", "--db", path)).ok).toBe(true);
  });
});

describe("verify of a run", () => {
  type Damage = (marked: { marker: string }, store: Store) => Promise<void>;
  const cases: Array<[what: string, run: string, damage: Damage]> = [
    [
      "the current state of a session",
      "session",
      async (marked, store) => {
        await new SessionStore(store).createSession("session", { agentType: "a", initialState: marked });
      },
    ],
    [
      "a message of a session",
      "session",
      async (marked, store) => {
        const sessions = new SessionStore(store);
        await sessions.createSession("session", { agentType: "a" });
        await sessions.appendMessages("session", [{ role: "user", content: marked }]);
      },
    ],
    [
      "a checkpoint of a subgraph",
      "thread",
      async (marked, store) => {
        const checkpointer = new Checkpointer<object>(store);
        await checkpointer.put({ threadId: "thread", checkpointId: "root", state: {} });
        // The random bytes prevent compression.
        const state = { ...marked, noise: randomBytes(4_000) };
        await checkpointer.put({ threadId: "thread", checkpointId: "in", namespace: ["sub"], state });
      },
    ],
    [
      "a pending write of a subgraph",
      "thread",
      async (marked, store) => {
        const checkpointer = new Checkpointer<object>(store);
        const place = { threadId: "thread", checkpointId: "in", namespace: ["sub"] };
        await checkpointer.put({ threadId: "thread", checkpointId: "root", state: {} });
        await checkpointer.put({ ...place, state: {} });
        await checkpointer.putWrites(place, [{ node: "n", taskId: "t", idx: 0, channel: "c", payload: marked }]);
      },
    ],
  ];

  test.each(cases)("finds damage in %s, and says what it has read", async (_, name, write) => {
    const path = await withRun("whole", 3);
    const store = await openStore(path);
    // A short value is not compressed, so the marker can be found in the file.
    await write({ marker: "a marker in the value" }, store);
    await store.close();
    damage(path, "marker in the value");
    const broken = await report("verify", name, "--db", path);
    expect(broken.ok).toBe(false);
    expect(broken.findings).toMatchObject([{ code: "CORRUPT", severity: "error" }]);
    const isKnown = broken.findings[0]!.ref !== null;
    // Of another run, nothing is wrong, unless it is not known which run the damaged row belongs to.
    const other = await report("verify", "whole", "--db", path);
    expect(other.findings).toEqual(isKnown ? [] : broken.findings);
    // The counts are those of the whole database, and the text says it.
    const all = await report("verify", "--db", path);
    expect([broken.checked, other.checked]).toEqual([all.checked, all.checked]);
    // What was read of the run is counted apart, without what is damaged. What is left out is told.
    expect(other.runs).toEqual({ checkpoints: 3, payloads: 3, writes: 0 });
    expect(other.others).toBe(isKnown ? 1 : 0);
    expect(broken.others).toBe(0);
    expect([all.runs, all.others]).toEqual([undefined, undefined]);
    const { stdout } = await cli(["verify", "whole", "--db", path]);
    expect(stdout).toMatch(/ verified in the complete database; findings are shown for 1 run\n$/);
    expect(stdout).toContain("\n3 checkpoints, 3 payloads, 0 writes of the run read\n");
    expect(stdout.includes("! 1 finding of other runs")).toBe(isKnown);
  });

  test("counts the payloads that it could read, and the pending writes", async () => {
    const path = await damaged();
    expect((await report("verify", "broken", "--db", path)).runs).toEqual({ checkpoints: 1, payloads: 0, writes: 0 });
    const both = await report("verify", "broken", "whole", "--db", path);
    expect(both.runs).toEqual({ checkpoints: 4, payloads: 3, writes: 0 });
    expect(await report("verify", "t0", "--db", await filled())).toMatchObject({
      ok: true,
      runs: { checkpoints: 2, payloads: 2, writes: 2 },
      others: 0,
    });
  });
});

describe("doctor", () => {
  test.runIf(process.platform === "linux")("names a process that keeps the log from shrinking", async () => {
    const path = await filled();
    const store = await openStore(path);
    const logs = async () =>
      (await report("doctor", "--db", path)).findings
        .filter(({ code }) => code === "LOG")
        .map(({ message }) => message);
    // SQLite's own tool begins to read, and never ends.
    const reader = spawn("sqlite3", [path], { stdio: ["pipe", "pipe", "inherit"] });
    onTestFinished(async () => {
      reader.kill();
      await store.close();
    });
    reader.stdin.write("BEGIN; SELECT 'reads' FROM lineage LIMIT 1;\n");
    expect(String((await once(reader.stdout, "data"))[0])).toContain("reads");
    expect(await logs()).toEqual([]);
    const noise = randomBytes(1 << 20).toString("base64");
    for (let n = 0; n < 20; n++) {
      const state = { ...checkpoint().state, scratch: { noise: `${n}${noise}` } };
      await new CheckpointStore(store).save(checkpoint({ id: `large ${n}`, runId: `run ${n}`, state }));
    }
    const [message] = await logs();
    expect(message).toMatch(/^the write-ahead log has \d+ MiB, because process \d+ \(sqlite3\) reads an old state$/u);
    expect(message).toContain(`${reader.pid}`);
    reader.kill();
    await once(reader, "exit");
    expect(await logs()).toEqual([]);
  });

  test.skipIf(windows)("names the command that closes the files, as a shell takes it", async () => {
    const remedies = async (path: string) =>
      (await report("doctor", "--db", path)).findings.filter(({ code }) => code === "MODE").map(({ remedy }) => remedy);
    const path = await withRun("run", 2, join(folder(), "it's a $database.db"));
    expect(await remedies(path)).toEqual([]);
    chmodSync(path, 0o644);
    const quoted = `'${path.replace("'", String.raw`'\''`)}'`;
    expect(await remedies(path)).toEqual([`If states are private, run: chmod 600 ${quoted}`]);
    chmodSync(path, 0o620);
    expect(await remedies(path)).toEqual([`Run: chmod 600 ${quoted}`]);
    spawnSync("sh", ["-c", `chmod 600 ${quoted}`]);
    expect(await remedies(path)).toEqual([]);
  });

  test.skipIf(windows)("looks at the log, at a folder of text files, and at the folder of the database", async () => {
    const findings = async (path: string) =>
      (await report("doctor", "--db", path)).findings.filter(({ code }) => code === "MODE");
    const path = await filled();
    const store = await openStore(path);
    await new CheckpointStore(store).save(checkpoint({ id: "in the log", runId: "run-9" }));
    chmodSync(`${path}-wal`, 0o644);
    const [log, ...others] = await findings(path);
    expect(others).toEqual([]);
    expect(log).toMatchObject({ severity: "note", message: "other users can read agent.db-wal: its mode is 0644" });
    expect(log!.remedy).toContain(`chmod 600 ${path}-wal`);
    await store.close();
    chmodSync(join(path, ".."), 0o777);
    expect(await findings(path)).toMatchObject([
      { severity: "warning", message: "every user can replace the database: the mode of its folder is 0777" },
    ]);
    // In a folder with the sticky bit, as /tmp, nobody can.
    chmodSync(join(path, ".."), 0o1777);
    expect(await findings(path)).toEqual([]);
    const text = await filledTexts();
    chmodSync(text.slice("jsonl:".length), 0o755);
    expect((await findings(text))[0]!.remedy).toContain(`chmod 700 ${text.slice("jsonl:".length)}`);
  });

  test("finds damaged pages", async () => {
    const path = await filled();
    const bytes = readFileSync(path);
    bytes.fill(0x5a, 4096 * 2, 4096 * 6);
    writeFileSync(path, bytes);
    const { code, stdout, stderr } = await cli(["doctor", "--json", "--db", path]);
    // Either it can be opened and the damage is found, or it cannot be opened.
    if (code === 1) expect((JSON.parse(stdout) as Report).findings.some((each) => each.code === "CORRUPT")).toBe(true);
    else expect([code, JSON.parse(stderr).error.code]).toEqual([5, "CORRUPT"]);
  });

  test("looks at a folder of text files", async () => {
    const target = await filledTexts();
    expect((await report("doctor", "--db", target)).ok).toBe(true);
    expect((await report("verify", "--db", target)).ok).toBe(true);
  });
});

test("a file that is no database is an error", async () => {
  const path = join(folder(), "agent.db");
  writeFileSync(path, "hello ".repeat(1000));
  for (const name of ["doctor", "verify"]) expect((await cli([name, "--db", path])).code).toBe(5);
});
