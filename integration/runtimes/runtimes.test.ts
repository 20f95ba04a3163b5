// The installed package in each runtime that has an npm package with its executable.
import { readFileSync } from "node:fs";
import { cpSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { executable, folderIn, forms, loadable, node, output, printed, program, root, run, tool } from "./helpers.js";

describe.each(forms)("Node, %s", (form) => {
  it("shares one copy between import and require", () => {
    const folder = folderIn(form, {
      "both.mjs": `
        import { createRequire } from "node:module";
        const require = createRequire(import.meta.url);
        for (const entry of ${JSON.stringify(loadable)}) {
          const [imported, required] = [await import(entry), require(entry)];
          const names = Object.keys(required);
          console.log(entry, names.length > 0, names.filter((name) => imported[name] !== required[name]).toSorted().join());
        }`,
    });
    // LangGraph has two copies, so each class that is made from it is two classes.
    const made = "ForkpointCache,ForkpointSaver,ForkpointStore";
    const other = (entry: string) => (entry === "forkpoint/langgraph" ? made : "");
    expect(node(["both.mjs"], folder)).toEqual(
      printed(loadable.map((entry) => `${entry} true ${other(entry)}\n`).join("")),
    );
  });

  it("gives both kinds of modules the saver of their own LangGraph", () => {
    const check = "console.log(new ForkpointSaver('memory:') instanceof BaseCheckpointSaver);";
    const names = (name: string) => (name === "forkpoint/langgraph" ? "{ ForkpointSaver }" : "{ BaseCheckpointSaver }");
    const packages = ["forkpoint/langgraph", "@langchain/langgraph-checkpoint"];
    const folder = folderIn(form, {
      "saver.mjs": packages.map((name) => `import ${names(name)} from "${name}";\n`).join("") + check,
      "saver.cjs": packages.map((name) => `const ${names(name)} = require("${name}");\n`).join("") + check,
    });
    for (const file of ["saver.mjs", "saver.cjs"]) expect(node([file], folder)).toEqual(printed("true\n"));
  });

  it("works in a worker thread", () => {
    const worker = `import { Worker } from "node:worker_threads"; new Worker(new URL("program.mjs", import.meta.url));`;
    const folder = folderIn(form, { "worker.mjs": worker, "program.mjs": program });
    expect(node(["worker.mjs"], folder)).toEqual(printed(output));
  });

  it.each(["program.ts", "program.cts", "program.mts"])("works with tsx: %s", (file) => {
    const folder = folderIn(form, { [file]: program.replace("({ n })", "({ n }: { n: number })") });
    expect(node([tool("tsx/dist/cli.mjs"), file], folder)).toEqual(printed(output));
  });

  it("works with vitest", () => {
    const folder = folderIn(form, {
      "vitest.config.mjs": "export default {};",
      "store.test.js": `
        import { expect, test } from "vitest";
        import { CheckpointStore } from "forkpoint";
        test("reads", async () => expect(await new CheckpointStore("memory:").get("none")).toBe(null));`,
    });
    const { status, stdout } = node([join(root, "node_modules/vitest/vitest.mjs"), "run", "--root", folder], folder);
    expect([status, stdout]).toEqual([0, expect.stringMatching(/Tests {2}1 passed/)]);
  });
});

describe.each(forms)("other runtimes, %s", (form) => {
  it("works in Deno", () => {
    const folder = folderIn(form, { "program.mjs": program });
    const permissions = ["--no-prompt", "--allow-ffi", "--allow-read", "--allow-write"];
    expect(run(executable("deno"), ["run", ...permissions, "program.mjs"], folder)).toEqual(printed(output));
  });

  it("works in Bun, imported and required", () => {
    const required = program.replaceAll(/import (.*) from (.*);/g, "const $1 = require($2);");
    const folder = folderIn(form, { "program.mjs": program, "program.cjs": required });
    for (const file of ["program.mjs", "program.cjs"]) {
      expect(run(executable("bun"), [file], folder)).toEqual(printed(output));
    }
  });
});

describe("a store that several runtimes use", () => {
  /** Saves values under the runtime's name and reads those of all runtimes. Prints a line for each. */
  const exchange = `
    import { CheckpointStore } from "forkpoint";
    const [, , name, serializer] = process.argv;
    const values = {
      small: { text: "hello", list: [1, null, true] },
      large: { text: "x".repeat(10_000), deep: [[[{ n: -1.5 }]]] },
      typed: { at: new Date(0), map: new Map([["a", 2]]), bytes: new Uint8Array([1, 2]) },
      absent: { a: undefined },
      twice: ((shared) => ({ a: shared, b: shared }))({ n: 1 }),
    };
    const store = new CheckpointStore("shared.db", serializer === undefined ? undefined : { serializer });
    const rest = { graphId: "graph-1", runId: name, nodeId: "node-1", timestamp: 1, nodeResults: {}, visitedNodes: [], pendingEdges: [] };
    for (const [key, input] of Object.entries(values)) {
      const state = { input, scratch: {}, artifacts: {}, diagnostics: {} };
      await store.save({ id: name + "-" + key, state, ...rest }).catch(({ code, message }) => console.log("save", key, code, message));
    }
    const text = (value) => JSON.stringify(value, (key, each) => each instanceof Map ? [...each] : each);
    for (const { runId } of (await store.runs()).runs.toSorted((a, b) => a.runId < b.runId ? -1 : 1)) {
      for (const [key, value] of Object.entries(values)) {
        const found = await store.get(runId + "-" + key).catch(({ code }) => code);
        const same = found !== null && text(found.state?.input) === text(value);
        if (found !== null) console.log("read", runId, key, typeof found === "string" ? found : same);
      }
    }
    await store.close();`;

  const all = ["small", "large", "typed", "absent", "twice"];
  const reads = (name: string, keys: string[]) => keys.map((key) => `read ${name} ${key} true`);

  it("never holds a value that another runtime reads as another value", () => {
    const folder = folderIn("the addon beside", { "exchange.mjs": exchange });
    const lines = (command: string, args: string[]) => {
      const { status, stdout, stderr } = run(command, args, folder);
      expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
      return stdout.trim().split("\n");
    };
    expect(lines(process.execPath, ["exchange.mjs", "node"])).toEqual(reads("node", all));
    expect(lines(executable("bun"), ["exchange.mjs", "bun"])).toEqual([
      ...reads("bun", all),
      "read node small true",
      ...["large", "typed", "absent", "twice"].map((key) => `read node ${key} UNSUPPORTED`),
    ]);
    const both = [...reads("bun", all), ...reads("deno", all), ...reads("node", all)];
    expect(lines(executable("deno"), ["run", "--allow-all", "exchange.mjs", "deno"])).toEqual(both);
    expect(lines(process.execPath, ["exchange.mjs", "node"])).toEqual(both);
  });

  it('can be read by all of them with serializer: "json"', () => {
    const folder = folderIn("the addon beside", { "exchange.mjs": exchange });
    const args = (name: string) => ["exchange.mjs", name, "json"];
    // JSON turns a Date into a string, and a Uint8Array into an object.
    const kept = (name: string) => reads(name, all).with(2, `read ${name} typed false`);
    const { stdout: bun } = run(executable("bun"), args("bun"), folder);
    expect(bun.split("\n").filter((line) => line.startsWith("read"))).toEqual(kept("bun"));
    const { stdout: here } = node(args("node"), folder);
    expect(here.split("\n").filter((line) => line.startsWith("read"))).toEqual([...kept("bun"), ...kept("node")]);
  });
});

describe("Linux", () => {
  /** Loads the package with an executable of another name, and prints the packages of the addons that were loaded. */
  const choose = `
    Object.defineProperty(process, "execPath", { value: process.argv[2] });
    if (process.argv[3] === "unlinked") process.dlopen = () => { throw new Error("not for this machine"); };
    try { require("forkpoint"); } catch (error) { console.log(error.message); }
    console.log(Object.keys(require.cache).filter((path) => path.endsWith(".node")).map((path) => path.split(/[\\\\/]/).at(-2)).join());`;

  /** Makes a project with the addons for both libraries, as an installation that ignores `libc` would. */
  function linux(): string {
    const folder = folderIn("the addon beside", { "choose.cjs": choose });
    const project = join(folder, "..");
    const name = `forkpoint-linux-${process.arch}`;
    cpSync(join(project, "node_modules/forkpoint"), join(folder, "node_modules/forkpoint"), { recursive: true });
    for (const libc of ["gnu", "musl"]) {
      mkdirSync(join(folder, `node_modules/${name}-${libc}`));
      const file = `forkpoint.linux-${process.arch}-${libc}.node`;
      cpSync(
        join(root, `forkpoint.linux-${process.arch}-gnu.node`),
        join(folder, `node_modules/${name}-${libc}/${file}`),
      );
    }
    const header = readFileSync(process.execPath).subarray(0, 8192).toString("latin1");
    const loader = /\/lib[^\0]*\/ld-linux-[^\0]*/.exec(header)![0];
    const musl = `/lib/ld-musl-${process.arch === "x64" ? "x86_64" : "aarch64"}.so.1`.padEnd(loader.length, "\0");
    writeFileSync(join(folder, "node-of-alpine"), Buffer.from(header.replace(loader, musl), "latin1"));
    return folder;
  }

  it("loads the addon for the C library of the executable", () => {
    const folder = linux();
    const name = `forkpoint-linux-${process.arch}`;
    expect(node(["choose.cjs", process.execPath], folder)).toEqual(printed(`${name}-gnu\n`));
    expect(node(["choose.cjs", "node-of-alpine"], folder)).toEqual(printed(`${name}-musl\n`));
    expect(node(["choose.cjs", "no such file"], folder)).toEqual(printed(`${name}-gnu\n`));
  });

  it("never tries the addon for glibc under musl", () => {
    const { stdout } = node(["choose.cjs", "node-of-alpine", "unlinked"], linux());
    expect(stdout).toContain("forkpoint has no addon for");
    expect(stdout).toContain("-musl");
    expect(stdout).not.toContain("-gnu");
  });
});
