// Tests how runs and checkpoints are named, and that ids and values from a database can do no harm.
// @module-tag slow
import { join } from "node:path";
import { CheckpointStore, openStore } from "forkpoint";
import { ForkpointStorage, WorkflowCheckpointStore } from "forkpoint/agentium";
import { safeText } from "forkpoint/inspect";
import { describe, expect, test } from "vitest";
import { checkpoint, folder } from "../helpers.js";
import { answer, cli, expectSafe, json, refused, withRun } from "./run.js";

/** Makes a database whose runs of AgentOS have these ids. Their checkpoints are `<n>-first` and `<n>-second`. */
async function withIds(ids: readonly string[]): Promise<string> {
  const path = join(folder(), "agent.db");
  const store = new CheckpointStore(path);
  for (const [n, runId] of ids.entries()) {
    await store.save(checkpoint({ id: `${n}-first`, runId, timestamp: 1 }));
    await store.save(checkpoint({ id: `${n}-second`, runId, timestamp: 2 }));
  }
  await store.close();
  return path;
}

describe("a run", () => {
  test("is found by its id, or by the only id that begins so", async () => {
    const path = await withIds(["order-1", "order-12", "refund-7", "abc"]);
    const found = async (id: string) => (await json(["show", id, "--db", path])).run.run;
    expect(await found("order-1")).toBe("order-1");
    expect(await found("order-12")).toBe("order-12");
    expect(await found("refu")).toBe("refund-7");
    expect(await found("abc")).toBe("abc");
    const { code, message } = await refused(["show", "orde", "--db", path], 2);
    expect(code).toBe("USAGE");
    expect(message).toContain('"order-1" (agentos)');
    expect(message).toContain('"order-12" (agentos)');
    // Three characters are too few, and the middle of an id is no beginning.
    expect((await refused(["show", "ref", "--db", path], 3)).message).toContain("4 characters");
    await refused(["show", "fund-7", "--db", path], 3);
    await refused(["show", "%", "--db", path], 3);
    await refused(["show", "order_1", "--db", path], 3);
  });

  test("that several spaces have needs --space", async () => {
    const path = join(folder(), "agent.db");
    const store = await openStore(path);
    await new CheckpointStore(store).save(checkpoint({ runId: "shared" }));
    const workflows = new WorkflowCheckpointStore<object>(store);
    await workflows.save({ id: "w", runId: "shared", stepIndex: 0, stepName: "s", state: {}, createdAt: 1 });
    await store.close();
    const { message } = await refused(["get", "shared", "--db", path], 2);
    expect(message).toContain("--space");
    expect(message).toContain('"shared" (agentos)\n"shared" (agentium)');
    expect((await json(["get", "shared", "--space", "agentium", "--db", path])).checkpoint.space).toBe("agentium");
    expect((await json(["get", "shared", "--space", "agentos", "--db", path])).checkpoint.space).toBe("agentos");
    await refused(["get", "shared", "--space", "langgraph", "--db", path], 3);
  });

  test("that several namespaces have needs --ns", async () => {
    const path = join(folder(), "agent.db");
    const store = await openStore(path);
    const storage = new ForkpointStorage(store);
    for (const namespace of ["one", "two"]) await storage.set(namespace, "key", { namespace });
    await store.close();
    const { message } = await refused(["get", "key", "--db", path], 2);
    expect(message).toContain("--ns");
    expect(message).toContain('namespace "one"');
    expect((await json(["get", "key", "--ns", "two", "--db", path])).checkpoint.ns).toBe("two");
    await refused(["get", "key", "--ns", "three", "--db", path], 3);
  });
});

describe("a checkpoint", () => {
  test("is found by its id, or by the only id of its run that begins so", async () => {
    const path = await withRun("steps", 12);
    const found = async (id: string) => (await json(["get", "steps", id, "--db", path])).checkpoint.id;
    expect(await found("steps 1")).toBe("steps 1");
    expect(await found("steps 11")).toBe("steps 11");
    const { message } = await refused(["get", "steps", "steps", "--db", path], 2);
    expect(message).toContain('"steps 11" (step 11)');
    await refused(["get", "steps", "ste", "--db", path], 3);
    const two = await withIds(["one", "two"]);
    await refused(["get", "one", "1-first", "--db", two], 3);
    expect((await json(["get", "one", "0-fi", "--db", two])).checkpoint.id).toBe("0-first");
  });
});

const hostile = {
  "an option": "--all",
  "a help flag": "-h",
  "two dashes": "--",
  spaces: "  a  b  ",
  "a line feed": "first\nsecond",
  "an escape sequence": "red \u001b[31m\u001b[2J\u001b]0;title\u0007",
  "a C1 control": "c1 \u009b31m",
  "a bidi override": "user\u202egnp.exe\u2066",
  "a carriage return": "good\rbad!",
  tabs: "a\tb",
  quotes: `it's "quoted" \\ \`x\` $(y)`,
  "emoji and wide characters": "👩‍👩‍👧 日本語 Ünïcödé",
  "a path": "../../etc/passwd",
  "a pattern": "%_*?[a-z].",
  "a prototype": "__proto__",
  much: "x".repeat(2000),
};

describe("runs with hostile ids", () => {
  const ids = Object.values(hostile);

  test("are listed safely, each in one line, and parse back", async () => {
    const path = await withIds(ids);
    const { runs } = await json(["ls", "--db", path]);
    expect(runs.map(({ run }: { run: string }) => run)).toEqual(ids.toReversed());
    const table = await answer(["ls", "--db", path]);
    expectSafe(table);
    const lines = table.trimEnd().split("\n").slice(1);
    expect(lines).toHaveLength(ids.length);
    for (const [at, id] of ids.toReversed().entries()) expect(lines[at]).toContain(safeText(id).trimEnd());
    for (const args of [["tail", "--no-follow", "-n", "100"], ["stats"]]) {
      const text = await answer([args[0]!, "--db", path, ...args.slice(1)]);
      expectSafe(text);
      if (args[0] === "tail") expect(text.trimEnd().split("\n")).toHaveLength(ids.length * 2);
    }
    const out = join(folder(), "runs");
    expectSafe(await answer(["export", "--db", path, "--out", out]));
    const exported = (await json(["ls", "--db", out])).runs;
    expect(exported.map(({ run }: { run: string }) => run)).toEqual(ids.toReversed());
  });

  test.each(Object.entries(hostile))("are found: %s", async (_, id) => {
    const path = await withIds([id, "another"]);
    expect((await json(["show", "--db", path, "--", id])).run.run).toBe(id);
    const { checkpoint } = await json(["get", "--db", path, "--", id, "0-second"]);
    expect(checkpoint).toMatchObject({ run: id, id: "0-second" });
    for (const args of [
      ["show", "--tree"],
      ["diff", "--to-step=-1"],
    ]) {
      const { code, stdout, stderr } = await cli([...args, "--db", path, "--", id]);
      expect({ args, code }).toEqual({ args, code: 0 });
      expectSafe(stdout);
      expectSafe(stderr);
    }
    expect(await json(["rm", "--yes", "--db", path, "--", id])).toEqual({ dryRun: false, removed: 2 });
  });

  test("are forked", async () => {
    const path = await withIds([hostile["an escape sequence"]]);
    const [from, to] = [hostile["an escape sequence"], hostile["a bidi override"]];
    const fork = await json(["fork", "--db", path, "--as", to, "--", from]);
    expect([fork.from.run, fork.run]).toEqual([from, to]);
    expectSafe(await answer(["fork", "--db", path, "--", from]));
    expectSafe(await answer(["show", "--db", path, "--", to]));
  });
});

test("an id that is not found is shown safely", async () => {
  const path = await withIds(["one"]);
  for (const id of ["", hostile["a line feed"], hostile["an escape sequence"], hostile["a bidi override"]]) {
    const { code, stderr } = await cli(["show", "--db", path, "--", id]);
    expect(code).toBe(3);
    expectSafe(stderr);
  }
  const flag = await cli(["ls", "--\u001b[31mred"]);
  expect(flag.code).toBe(2);
  expectSafe(flag.stderr);
});

describe("values", () => {
  test("cannot write to the terminal, and parse back exactly", async () => {
    const path = join(folder(), "agent.db");
    const text = "\u001b[2J\u202eevil\u2069 \u0000 \u007f \u009b \ud800 lone \udc00 \u2028 \r\n\t é 👋";
    const state = { ...checkpoint().state, scratch: { [text]: text, list: [text] } };
    const store = new CheckpointStore(path);
    await store.save(checkpoint({ runId: "hostile", state, nodeId: "node\u001b[31m" }));
    await store.close();
    const shown = await json(["get", "hostile", "--db", path]);
    expect(shown.state.scratch).toEqual({ [text]: text, list: [text] });
    expect(await json(["get", "hostile", "--db", path, "--path", "scratch.list[0]"])).toBe(text);
    for (const args of [
      ["get", "hostile"],
      ["diff", "hostile"],
      ["ls"],
      ["show", "hostile"],
      ["show", "hostile", "--tree"],
    ]) {
      const stdout = await answer([args[0]!, "--db", path, ...args.slice(1)]);
      expectSafe(stdout);
    }
    // --raw gives the text itself. UTF-8 has no lone surrogates.
    const raw = await answer(["get", "hostile", "--db", path, "--raw", "--path", "scratch.list[0]"]);
    expect(raw).toBe(`${text.toWellFormed()}\n`);
  });

  test("that look like options of ours are values", async () => {
    const path = await withRun("plain", 1);
    const setting = 'scratch.n={"$type":"Map","value":[["a",1]]}';
    const fork = await json(["fork", "plain", "--db", path, "--set", setting, "--as", "--odd"]);
    expect(fork.run).toBe("--odd");
    expect(await json(["get", "--db", path, "--path", "scratch.n.a", "--", "--odd"])).toBe(1);
  });
});
