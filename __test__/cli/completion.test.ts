// Tests the completion of commands in shells.
import { join } from "node:path";
import { CheckpointStore } from "forkpoint";
import { describe, expect, test } from "vitest";
import { checkpoint, folder } from "../helpers.js";
import { answer, cli, filled, startProgram } from "./run.js";

/** What is offered for the last word. */
async function offered(words: string[], cwd?: string): Promise<string[]> {
  const text = await answer(["complete", "--", ...words], cwd === undefined ? {} : { cwd });
  const lines = text.trimEnd().split("\n");
  expect(lines.at(-1)).toMatch(/^:\d+$/);
  return lines.slice(0, -1).map((line) => line.split("\t")[0]!);
}

describe("completion", () => {
  test.each(["bash", "zsh", "fish", "powershell"])("prints a script for %s", async (shell) => {
    const script = await answer(["completion", shell]);
    expect(script).toContain("forkpoint");
    expect(script).toContain("complete");
  });

  test.runIf(process.platform === "linux")("has a script that bash can read", async () => {
    const script = await answer(["completion", "bash"]);
    expect(await startProgram("bash", ["-n"], { input: script }).ended).toMatchObject({ code: 0, stderr: "" });
  });

  test("offers commands and flags", async () => {
    expect(await offered([""])).toEqual(expect.arrayContaining(["ls", "show", "get", "studio", "completion"]));
    expect(await offered(["sh"])).toEqual(["show"]);
    expect(await offered(["ls", "--s"])).toEqual([
      "--serializer",
      "--space",
      "--status",
      "--stranded",
      "--since",
      "--sort",
    ]);
    expect(await offered(["show", "--tr"])).toEqual(["--tree"]);
    expect(await offered([""])).not.toContain("complete");
  });

  test("offers spaces and other values that are known", async () => {
    expect(await offered(["ls", "--space", ""])).toEqual(expect.arrayContaining(["agentos", "langgraph"]));
    expect(await offered(["ls", "--space", "agentos", "--status", "w"])).toEqual(["waiting"]);
    expect(await offered(["completion", "z"])).toEqual(["zsh"]);
  });

  test("offers the runs of the database", async () => {
    const path = await filled();
    expect((await offered(["show", "run"], join(path, ".."))).toSorted()).toEqual(["run-0", "run-1", "run-2"]);
    expect((await offered(["get", "--db", path, "run-1"])).toSorted()).toEqual(["run-1"]);
    expect(await offered(["show", "run"], folder())).toEqual([]);
    expect(await offered(["show", "--db", "no such file", "run"])).toEqual([]);
  });

  test("offers no id that a shell would not take as it is", async () => {
    const path = join(folder(), "agent.db");
    const store = new CheckpointStore(path);
    const ids = [
      "good-1",
      "$(touch evil)",
      "`x`",
      "a b",
      "x;y",
      "--flag",
      "new\nline",
      "\u001b[31m",
      "*",
      "~",
      "good:2",
    ];
    for (const runId of ids) await store.save(checkpoint({ runId }));
    await store.close();
    expect((await offered(["show", "--db", path, ""])).toSorted()).toEqual(["good-1", "good:2"]);
  });

  test("is not in the help", async () => {
    expect((await cli(["--help"])).stdout).not.toMatch(/^ {2}complete\b/m);
  });
});
