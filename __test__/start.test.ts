// What a program loads when it starts. Each file takes time to find and to read, and its code takes time to compile.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { checkpoint, folder } from "./helpers.js";
import { loadedBy } from "./loaded.js";

const root = fileURLToPath(new URL("..", import.meta.url));

const names = "agentos agentium ai claude-agent-sdk helix mcp openai-agents tinyagents".split(" ");
const contracts = ["forkpoint", ...names.map((name) => `forkpoint/${name}`)];

describe.each(["import", "require"])("%s", (how) => {
  it.each(contracts)("%s loads few files, and no slow module of Node", (entry) => {
    const { files, modules } = loadedBy(`await ${how}("${entry}");`, root);
    expect(files).toContain("store/start.js");
    expect(files.length).toBeLessThanOrEqual(6);
    expect(files.filter((file) => /later|inspect/.test(file))).toEqual([]);
    expect(modules).toEqual([]);
  });

  it.each(["forkpoint/otel", "forkpoint/testing"])("%s loads no addon", (entry) => {
    const { files } = loadedBy(`await ${how}("${entry}");`, root);
    expect(files).toContain("bridge/start.js");
    expect(files.filter((file) => /^(?:store|contracts)\//.test(file))).toEqual([]);
  });
});

it("a program that saves and reads loads nothing more", () => {
  const program = `
    const { CheckpointStore } = await import("forkpoint");
    const store = new CheckpointStore(${JSON.stringify(`${folder()}/agent.db`)});
    await store.save(${JSON.stringify(checkpoint({ id: "checkpoint-1" }))});
    if ((await store.get("checkpoint-1")) === null) throw new Error("not found");
    await store.close();`;
  const { files, modules } = loadedBy(program, root);
  expect(files.length).toBeLessThanOrEqual(6);
  expect(files.filter((file) => /later|inspect/.test(file))).toEqual([]);
  expect(modules).toEqual([]);
});

it("a call that few programs make loads what it needs", () => {
  const program = `
    const { CheckpointStore } = await import("forkpoint");
    const store = new CheckpointStore("memory:");
    await store.stats();`;
  expect(loadedBy(program, root).files).toContain("store/later.js");
});

it("no file of the package needs one of dist/inner, which is not published", () => {
  const names = readdirSync(join(root, "dist"), { recursive: true }).map(String);
  const scripts = names.filter((name) => /\.m?js$/.test(name) && !name.startsWith("inner"));
  expect(scripts).toContain("index.js");
  const needing = scripts.filter((name) => readFileSync(join(root, "dist", name), "utf8").includes("/inner/"));
  expect(needing).toEqual([]);
});
