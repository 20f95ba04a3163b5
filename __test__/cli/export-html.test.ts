// `export --html` writes a run to one file, and `show --graph` prints the graph of a run.
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CheckpointStore } from "forkpoint";
import { describe, expect, test } from "vitest";
import { type Taken, unpack } from "../../tools/studio/taken.js";
import { checkpoint, folder } from "../helpers.js";
import { answer, bytesOf, cli, filled, json, refused, withRun } from "./run.js";

/** Returns what a file has. */
function takenFrom(path: string): Taken {
  const [, data] = /<script type="application\/json" id="taken">(.*?)<\/script>/s.exec(readFileSync(path, "utf8"))!;
  return unpack(JSON.parse(data!)) as Taken;
}

/** A database with a run that has a secret. */
async function withSecret(): Promise<string> {
  const path = join(folder(), "agent.db");
  const store = new CheckpointStore(path);
  for (const [step, nodeId] of ["plan", "read", "plan\u001b[31m"].entries()) {
    const state = { ...checkpoint().state, scratch: { apiKey: "sk-1", n: step } };
    await store.save(checkpoint({ id: `r-${step}`, runId: "run-1", nodeId, timestamp: step, state }));
  }
  await store.close();
  return path;
}

describe("export --html", () => {
  test("writes one private file with all steps, and changes nothing", async () => {
    const path = await filled();
    const before = bytesOf(path);
    const cwd = folder();
    const report = await json(["export", "run-1", "--html", "run.html", "--db", path], { cwd });
    const file = join(cwd, "run.html");
    expect(report).toEqual({
      path: file,
      checkpoints: expect.any(Number),
      bytes: statSync(file).size,
      damaged: 0,
      leftOut: {},
    });
    if (process.platform !== "win32") expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(takenFrom(file).runs[0]!.checkpoints).toHaveLength(report.checkpoints);
    expect(bytesOf(path)).toEqual(before);
    // The file does not say where the database is.
    expect(readFileSync(file, "utf8")).not.toContain(path);
  });

  test("leaves out, says what did not match, and takes the last steps only", async () => {
    const path = await withSecret();
    const cwd = folder();
    const args = ["--leave-out", ".apiKey", "--leave-out", ".none\u001b", "--last", "2", "--db", path];
    const { stdout, stderr, code } = await cli(["export", "run-1", "--html", "run.html", ...args], { cwd });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^✓ wrote .*run\.html: 2 checkpoints, [\d.]+ KB; 2 values left out\n$/);
    expect(stderr).toBe("nothing matches --leave-out .none\\u001b: look at the file before you share it\n");
    expect(readFileSync(join(cwd, "run.html"), "utf8")).not.toContain("sk-1");
    expect(takenFrom(join(cwd, "run.html")).runs[0]!.earlier).toBe(1);
  });

  test("refuses wrong usage, a file that exists, and a missing run or folder", async () => {
    const path = await withRun("one", 2);
    const cwd = folder();
    const run = (...args: string[]) => ["export", ...args, "--db", path];
    writeFileSync(join(cwd, "there.html"), "mine");
    expect(await refused(run("one", "--html", "there.html"), 5, { cwd })).toMatchObject({ code: "CONFLICT" });
    expect(readFileSync(join(cwd, "there.html"), "utf8")).toBe("mine");
    await refused(run("one"), 2, { cwd });
    await refused(run("one", "--html", "a.html", "--out", "b"), 2, { cwd });
    await refused(run("--html", "a.html"), 2, { cwd });
    await refused(run("one", "two", "--html", "a.html"), 2, { cwd });
    await refused(run("one", "--html", "a.html", "--since", "1d"), 2, { cwd });
    await refused(run("one", "--html", "a.html", "--last", "0"), 2, { cwd });
    await refused(run("one", "--out", "b", "--last", "1"), 2, { cwd });
    await refused(run("one", "--out", "b", "--leave-out", "a"), 2, { cwd });
    expect((await refused(run("one", "--html", "a.html", "--leave-out", "a[0:2]"), 2, { cwd })).message).toContain(
      "ranges",
    );
    await refused(run("none", "--html", "a.html"), 3, { cwd });
    await refused(run("one", "--html", "no/a.html"), 3, { cwd });
    expect(existsSync(join(cwd, "a.html"))).toBe(false);
    expect(existsSync(join(cwd, "b"))).toBe(false);
  });
});

describe("show --graph", () => {
  test("prints the graph as text, as Mermaid and as JSON, with escaped names", async () => {
    const path = await withSecret();
    expect(await answer(["show", "run-1", "--graph", "--db", path])).toBe(
      "start -> plan\nplan -> read\nread -> plan\\u001b[31m\n",
    );
    const mermaid = await answer(["show", "run-1", "--mermaid", "--db", path]);
    expect(mermaid.split("\n").slice(0, 3)).toEqual(["flowchart TD", '  n0(["start"])', '  n1["plan"]']);
    expect(mermaid).toContain('["plan#27;#91;31m"]');
    const graph = await json(["show", "run-1", "--graph", "--db", path]);
    expect(graph.edges[0]).toEqual({ from: "__start__", to: "plan", count: 1, conditional: false });
  });

  test("says that the nodes are not known", async () => {
    const path = await filled();
    const { runs } = await json(["ls", "--db", path, "--space", "storage"]);
    const { stdout, stderr } = await cli([
      "show",
      runs[0].run,
      "--space",
      "storage",
      "--ns",
      runs[0].ns,
      "--graph",
      "--db",
      path,
    ]);
    expect([stdout, stderr]).toEqual(["", "the nodes of this run aren't known\n"]);
  });
});
