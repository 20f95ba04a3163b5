// Tests that every view can be read in a terminal of 80 columns: no line is wider, and labels, times and sizes stay.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CheckpointStore, openStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { effects } from "forkpoint/effects";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { width } from "../../tools/cli/width.js";
import { fill } from "../contents.js";
import { checkpoint } from "../helpers.js";
import { cli, expectSafe, inTerminal, json } from "./run.js";

const COLUMNS = "80";

/** A run whose id, group and labels are long, beside the data of every framework. */
const LONG = "3ada8f84-2978-4022-9ed1-c16648f948a0-of-a-customer-with-a-very-long-name";
const WIDE = "スレッド-日本語のとても長い名前-1";
const HOSTILE = "\u001b[2J\u202eevil";
const CHARGE = "charge order 4711 of a customer with a very long name, and send the receipt";

async function makeRich(path: string): Promise<void> {
  const store = await openStore(path);
  await fill(store);
  const graphs = new CheckpointStore(store);
  for (const [at, runId] of [LONG, `${LONG}-2`, WIDE, HOSTILE].entries()) {
    for (let n = 0; n < 12; n++) {
      const id = `1f1ea799-30${at}${n.toString(16)}-67a0-8045-eb28f10917fb`;
      const nodeId = n === 3 ? "a_node_whose_name_is_long_enough_to_need_more_than_one_column" : `node-${n}`;
      const scratch = { n, text: "The order left the warehouse on Monday. ".repeat(n), [HOSTILE]: "日本".repeat(40) };
      const state = { ...checkpoint().state, scratch };
      await graphs.save(checkpoint({ id, runId, graphId: "a-graph-with-a-long-name", nodeId, timestamp: n, state }));
    }
  }
  await graphs.fork(`1f1ea799-3003-67a0-8045-eb28f10917fb`, { scratch: { forked: true } });
  const workflows = new WorkflowCheckpointStore<object>(store);
  await workflows.save({ id: "one", runId: "with-effects", stepIndex: 0, stepName: "charge", state: {}, createdAt: 1 });
  const run = { space: "agentium" as const, run: "with-effects" };
  const once = effects(store);
  await once(run, CHARGE, () => ({ receipt: 1 }));
  await once(run, "mail", () => Promise.reject(new Error("the mail server answered 503: ".repeat(9)))).catch(() => {});
  await store.close();
}

const folder = mkdtempSync(join(tmpdir(), "forkpoint-narrow-"));
const path = join(folder, "agent.db");

beforeAll(() => makeRich(path));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a view, and returns its lines. */
async function lines(...args: string[]): Promise<string[]> {
  const { code, stdout } = await cli([...args, "--db", path], { env: { COLUMNS } });
  expect([0, 1]).toContain(code);
  expectSafe(stdout);
  const all = stdout.trimEnd().split("\n");
  for (const line of all) expect(width(line), line).toBeLessThanOrEqual(80);
  return all;
}

const TIME = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`;
const SIZE = String.raw`\d+(?:\.\d)? K?B`;

describe("at 80 columns", () => {
  test.each([[[]], [["--all-ns", "--all"]], [["--sort", "size"]], [["--space", "agentos"]]])(
    "ls %j keeps status, last step, time and size, and short ids find their runs",
    async (args) => {
      const [title, ...rows] = await lines("ls", ...args);
      expect(title).toMatch(/^STATUS +RUN .*LAST STEP +ACTIVE +SIZE$/);
      for (const row of rows) expect(row).toMatch(new RegExp(`(just now|ago) +${SIZE}$`));
      const short = rows.map((row) => /(\S*…\S*)/.exec(row)?.[1]).filter((text) => text?.startsWith("3ada8f84"));
      expect(short.length).toBeGreaterThanOrEqual(1);
      for (const id of short) expect((await json(["show", id!, "--db", path])).run.run).toContain(LONG);
    },
  );

  test("show keeps step, label, time and size, and short ids find their checkpoints", async () => {
    const shown = await lines("show", LONG, "--last", "6");
    const at = shown.findIndex((line) => line.startsWith("STEP"));
    expect(shown[at]).toMatch(/^STEP +LABEL +CHECKPOINT .*SAVED +SIZE/);
    const rows = shown.slice(at + 1, shown.indexOf("Forks") - 1);
    expect(rows).toHaveLength(6);
    for (const row of rows) {
      const [, step, label, id] = new RegExp(`^ *(\\d+) +(\\S+) +(\\S+…).* ${TIME} +${SIZE}`).exec(row)!;
      const { checkpoint: found } = await json(["get", LONG, id!, "--db", path]);
      expect(found).toMatchObject({ step: Number(step), label });
    }
  });

  test("show --tree keeps labels and times", async () => {
    const tree = await lines("show", LONG, "--tree");
    const marked = tree.filter((line) => line.includes("* "));
    expect(marked).toHaveLength(12);
    for (const line of marked) expect(line).toMatch(new RegExp(`\\* +\\d+  \\S+ +1f1ea799-30\\S*… .*${TIME}$`));
    expect(tree.some((line) => /> \S+/.test(line))).toBe(true);
  });

  test("tail keeps time, step, label and size", async () => {
    for (const line of await lines("tail", "--no-follow", "-n", "100")) {
      if (/effect/.test(line)) continue;
      expect(line).toMatch(new RegExp(`^${TIME}  .+  step \\d+ .* ${SIZE}$`));
    }
    expect((await lines("tail", "with-effects", "--no-follow")).at(-1)).toMatch(/with-effects +(step|effect)/);
  });

  test("effects keep their state, key and time", async () => {
    const [title, ...rows] = await lines("effects", "with-effects");
    expect(title).toMatch(/^STATE +EFFECT .*BEGAN/);
    expect(rows).toHaveLength(2);
    expect(rows[0]).toMatch(/done +charge order 4711/);
    expect((await lines("show", "with-effects")).join("\n")).toMatch(/✓ done +charge order/);
  });

  test("stats keep counts and sizes", async () => {
    const shown = await lines("stats");
    expect(shown.find((line) => line.startsWith("FRAMEWORK"))).toMatch(/RUNS .*CHECKPOINTS +SIZE/);
    expect(shown.find((line) => line.startsWith("LARGEST"))).toMatch(/CHECKPOINTS +SIZE/);
  });

  const helix = ["s", "--space", "helix"];
  const views = [
    ...["get", "diff"].flatMap((name) => [[LONG], [WIDE], helix, ["t0"]].map((of) => [name].concat(of))),
    ...[[WIDE], [HOSTILE], [HOSTILE, "--tree"], helix, ["t0"]].map((of) => ["show"].concat(of)),
    ["get", "with-effects", "--effect", CHARGE],
    ["diff", LONG, "--step", "0"],
    ...[["prune", "--keep-last", "2"], ["rm", LONG], ["fork", LONG], ["vacuum"]].map((of) => of.concat("--dry-run")),
    ["label", LONG],
    ...[[], [LONG], ["--repair-plan"]].map((of) => ["verify"].concat(of)),
  ];
  test.each(views.map((args) => [args]))("%j has no wider line", async (args) => {
    expect((await lines(...args)).join("").length).toBeGreaterThan(8);
  });

  test("doctor has no wider line but paths", async () => {
    const { stdout } = await cli(["doctor", "--db", path], { env: { COLUMNS } });
    for (const line of stdout.split("\n").filter((each) => !each.includes(path))) {
      expect(width(line), line).toBeLessThanOrEqual(80);
    }
    expect(stdout).toContain("no errors");
  });

  test("a pipe without COLUMNS gets everything", async () => {
    const { stdout } = await cli(["ls", "--all", "--db", path]);
    expect(stdout).toContain(LONG);
    const { stdout: wide } = await cli(["ls", "--all", "--db", path], { env: { COLUMNS: "many" } });
    expect(wide.split("\n").length).toBe(stdout.split("\n").length);
    expect(wide).toContain(LONG);
  });

  test.runIf(process.platform === "linux")("notes, hints and errors are broken in a terminal", async () => {
    const env = { NO_COLOR: "1" };
    for (const args of [
      ["fork", LONG, "--dry-run", "--as", `${LONG}-fork`],
      ["show", "no such run"],
      ["prune", "--keep-last", "2", "--dry-run"],
    ]) {
      const { screen } = await inTerminal([...args, "--db", path], { columns: 80, env });
      const known = [path, LONG];
      const wide = screen.split("\n").filter((line) => width(line) > 80 && !known.some((text) => line.includes(text)));
      expect(wide).toEqual([]);
    }
  });
});
