// What a program loads when it starts, beside LangGraph's own package.
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { loadedBy } from "../../__test__/loaded.js";
import { folder } from "./helpers.js";

const project = fileURLToPath(new URL(".", import.meta.url));

/** Few files, and no slow module of Node. */
function expectLittle(program: string, before: string): void {
  const { files, modules } = loadedBy(program, project, before);
  expect(files).toContain("contracts/langgraph/start.js");
  expect(files.length).toBeLessThanOrEqual(5);
  expect(files.filter((file) => file.includes("later"))).toEqual([]);
  expect(modules).toEqual([]);
}

it.each(["import", "require"])("%s of forkpoint/langgraph loads few files, and no slow module of Node", (how) =>
  expectLittle(`await ${how}("forkpoint/langgraph");`, `await ${how}("@langchain/langgraph-checkpoint");`),
);

it("a program that saves and reads loads nothing more", () => {
  const program = `
    const { ForkpointSaver } = await import("forkpoint/langgraph");
    const saver = new ForkpointSaver(${JSON.stringify(join(folder(), "agent.db"))});
    const config = { configurable: { thread_id: "thread-1", checkpoint_ns: "" } };
    const checkpoint = { ...emptyCheckpoint(), channel_values: { list: ["one"] }, channel_versions: { list: 1 } };
    const stored = await saver.put(config, checkpoint, { source: "loop", step: 1, parents: {} }, { list: 1 });
    await saver.putWrites(stored, [["list", "two"]], "task-1");
    if ((await saver.getTuple(config))?.pendingWrites.length !== 1) throw new Error("not found");
    for await (const { checkpoint } of saver.list(config)) if (checkpoint.channel_values.list[0] !== "one") throw new Error();
    await saver.close();`;
  expectLittle(program, 'const { emptyCheckpoint } = await import("@langchain/langgraph-checkpoint");');
});
