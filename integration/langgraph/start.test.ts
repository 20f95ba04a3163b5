// What a program loads when it starts, beside LangGraph's own package.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it, onTestFinished } from "vitest";
import { loadedBy } from "../../__test__/loaded.js";

const project = fileURLToPath(new URL(".", import.meta.url));

it.each(["import", "require"])("%s of forkpoint/langgraph loads few files, and no slow module of Node", (how) => {
  const { files, modules } = loadedBy(
    `await ${how}("forkpoint/langgraph");`,
    project,
    `await ${how}("@langchain/langgraph-checkpoint");`,
  );
  expect(files).toContain("contracts/langgraph/start.js");
  expect(files.length).toBeLessThanOrEqual(5);
  expect(files.filter((file) => file.includes("later"))).toEqual([]);
  expect(modules).toEqual([]);
});

it("a program that saves and reads loads nothing more", () => {
  const folder = mkdtempSync(join(tmpdir(), "forkpoint-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const program = `
    const { ForkpointSaver } = await import("forkpoint/langgraph");
    const saver = new ForkpointSaver(${JSON.stringify(join(folder, "agent.db"))});
    const config = { configurable: { thread_id: "thread-1", checkpoint_ns: "" } };
    const checkpoint = { ...emptyCheckpoint(), channel_values: { list: ["one"] }, channel_versions: { list: 1 } };
    const stored = await saver.put(config, checkpoint, { source: "loop", step: 1, parents: {} }, { list: 1 });
    await saver.putWrites(stored, [["list", "two"]], "task-1");
    if ((await saver.getTuple(config))?.pendingWrites.length !== 1) throw new Error("not found");
    for await (const { checkpoint } of saver.list(config)) if (checkpoint.channel_values.list[0] !== "one") throw new Error();
    await saver.close();`;
  const { files, modules } = loadedBy(
    program,
    project,
    'const { emptyCheckpoint } = await import("@langchain/langgraph-checkpoint");',
  );
  expect(files).toContain("contracts/langgraph/start.js");
  expect(files.length).toBeLessThanOrEqual(5);
  expect(files.filter((file) => file.includes("later"))).toEqual([]);
  expect(modules).toEqual([]);
});
