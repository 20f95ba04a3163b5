// Tests the commands that look: what they answer as JSON, and for a human.
// @module-tag slow
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CheckpointStore, openStore } from "forkpoint";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import { SessionStore } from "forkpoint/claude-agent-sdk";
import { Checkpointer, Graph } from "forkpoint/tinyagents";
import { openInspector } from "forkpoint/inspect";
import { describe, expect, onTestFinished, test } from "vitest";
import { checkpoint, folder } from "../helpers.js";
import { answer, cli, filled, json, refused, withRun } from "./run.js";

/** Opens an inspector that is closed when the test ends. */
async function inspect(path: string) {
  const inspector = await openInspector(path);
  onTestFinished(() => inspector.close());
  return inspector;
}

describe("ls", () => {
  test("answers with what the inspector lists", async () => {
    const path = await filled();
    const inspector = await inspect(path);
    const { runs, cursor } = await json(["ls", "--db", path]);
    const expected = await inspector.runs({ limit: 20, withWhy: true, withBytes: true });
    expect(runs).toEqual(expected.items);
    expect(cursor).toEqual(expected.cursor);
  });

  test("goes through all pages", async () => {
    const path = await filled();
    const all = (await json(["ls", "--db", path, "--all", "--all-ns"])).runs;
    const seen = [];
    let cursor: string | null = null;
    do {
      const more: string[] = cursor === null ? [] : ["--cursor", cursor];
      const page = await json(["ls", "--db", path, "--limit", "7", "--all-ns", ...more]);
      seen.push(...page.runs);
      cursor = page.cursor;
    } while (cursor !== null);
    expect(seen).toEqual(all);
    expect(all.length).toBeGreaterThan(20);
    expect((await cli(["ls", "--db", path, "--limit", "3"])).stderr).toContain("--cursor ");
  });

  test("filters", async () => {
    const path = await filled();
    const ids = async (...args: string[]) =>
      (await json(["ls", "--db", path, "--all", ...args])).runs.map(({ run }: { run: string }) => run).toSorted();
    expect(await ids("--space", "agentium")).toEqual(["w"]);
    expect(await ids("--space", "agentos", "--match", "run-")).toEqual(
      expect.arrayContaining(["run-0", "run-1", "run-2"]),
    );
    expect(await ids("--match", "un-2")).toEqual(["run-2"]);
    expect(await ids("--space", "agentos", "--group", "no such graph")).toEqual([]);
    expect((await ids("--space", "agentos", "--group", "graph-a")).length).toBeGreaterThan(2);
    expect(await ids("--since", "0s")).toEqual([]);
    expect((await ids("--since", "1d")).length).toBe((await ids()).length);
    const statuses = async (...args: string[]) =>
      new Set((await json(["ls", "--db", path, ...args])).runs.map(({ status }: { status: unknown }) => status));
    expect(await statuses("--status", "unfinished")).toEqual(new Set(["unfinished"]));
  });

  test("says that an empty database is empty, and that nothing fits", async () => {
    const path = join(folder(), "agent.db");
    await (await openStore(path)).close();
    expect(await json(["ls", "--db", path])).toEqual({ runs: [], cursor: null });
    expect(await cli(["ls", "--db", path])).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringContaining("no runs yet"),
    });
    expect(await cli(["ls", "--db", await filled(), "--match", "nothing"])).toMatchObject({
      code: 0,
      stdout: "",
      stderr: expect.stringContaining("no runs match"),
    });
  });
});

describe("show", () => {
  test("answers with the run, its checkpoints in order, and its forks", async () => {
    const path = await filled();
    const inspector = await inspect(path);
    const ref = { space: "agentos", run: "run-1", ns: null };
    const shown = await json(["show", "run-1", "--db", path]);
    expect(Object.keys(shown)).toEqual(["run", "checkpoints", "effects", "forks", "cursor"]);
    expect(shown.run).toEqual(await inspector.run(ref, { withWhy: true, withBytes: true }));
    expect(shown.checkpoints).toEqual((await inspector.checkpoints(ref)).items);
    expect(shown.checkpoints.map(({ step }: { step: number }) => step)).toEqual([...shown.checkpoints.keys()]);
    expect(shown.forks).toHaveLength(1);
    expect(shown.forks[0].forkedFrom).toMatchObject({ run: "run-1", id: "g4" });
    expect(shown.cursor).toBeNull();
  });

  test("pages, and knows the last", async () => {
    const path = await withRun("long", 12);
    const page = await json(["show", "long", "--db", path, "--limit", "5"]);
    const rest = await json(["show", "long", "--db", path, "--cursor", page.cursor]);
    const ids = (shown: { checkpoints: Array<{ id: string }> }) => shown.checkpoints.map(({ id }) => id);
    expect([...ids(page), ...ids(rest)]).toEqual(Array.from({ length: 12 }, (_, n) => `long ${n}`));
    const last = await json(["show", "long", "--db", path, "--last", "3"]);
    expect(ids(last)).toEqual(["long 9", "long 10", "long 11"]);
    expect(last.cursor).toBeNull();
    expect((await cli(["show", "long", "--db", path, "--limit", "5"])).stderr).toContain(page.cursor);
  });

  test("reads a long run as a whole", async () => {
    const path = await withRun("long", 1203);
    expect((await json(["show", "long", "--db", path])).checkpoints).toHaveLength(1203);
    expect((await json(["show", "long", "--db", path, "--last", "1100"])).checkpoints[0].id).toBe("long 103");
  });

  test("names the next nodes, unless the run is large", async () => {
    const path = join(folder(), "agent.db");
    const checkpointer = new Checkpointer<{ text: string }>(path);
    const graph = new Graph<{ text: string }>({
      name: "writer",
      nodes: { write: ({ text }) => ({ text }), check: ({ text }) => ({ text }) },
      entry: "write",
      edges: [["write", "check"]],
      reducer: (state, update) => ({ ...state, ...update }),
      checkpointer,
    });
    await graph.invoke({ text: "short" }, { threadId: "short" });
    await graph.invoke({ text: "long ".repeat(1_500_000) }, { threadId: "long" });
    await checkpointer.close();
    const short = await answer(["show", "short", "--db", path]);
    expect(short).toMatch(/^STEP +LABEL +NEXT /m);
    expect(short).toMatch(/^ +0 +input +write /m);
    expect(short).toMatch(/^ +1 +write +check /m);
    const long = await cli(["show", "long", "--db", path]);
    expect(long.stdout).toMatch(/^STEP +LABEL +CHECKPOINT /m);
    expect(long.stderr).toContain("--last");
    expect(await answer(["show", "long", "--last", "2", "--db", path])).toMatch(/^ +1 +write +check /m);
  });

  test("--tree draws a line for each checkpoint, the newest first, and the forks", async () => {
    const path = await filled();
    const tree = (await answer(["show", "run-1", "--db", path, "--tree"])).split("\n");
    const marked = tree.filter((line) => line.includes("*"));
    const { checkpoints, forks } = await json(["show", "run-1", "--db", path]);
    expect(marked.map((line) => line.split(/ {2,}/)[2])).toEqual(
      checkpoints.map(({ id }: { id: string }) => id).toReversed(),
    );
    const at = tree.findIndex((line) => line.includes(forks[0].run));
    expect(tree[at]).toMatch(/^\| > /);
    expect(tree[at + 1]).toBe("|/");
    expect(tree[at + 2]).toMatch(/^\* +1 +node-1 +g4 /);
    expect(await answer(["show", forks[0].run, "--db", path])).toContain("forked from run-1, checkpoint g4");
  });
});

describe("get", () => {
  test("answers with the checkpoint and its values", async () => {
    const path = await filled();
    const inspector = await inspect(path);
    const ref = { space: "agentos", run: "run-1", ns: null };
    const newest = await json(["get", "run-1", "--db", path]);
    expect(Object.keys(newest).toSorted()).toEqual(["checkpoint", "next", "parts", "rest", "state", "writes"]);
    expect(newest).toEqual(JSON.parse(JSON.stringify(await inspector.checkpoint(ref))));
    expect(newest.checkpoint.id).toBe("g28");
    expect(newest.state.scratch.when).toEqual({ $type: "Date", value: new Date(28).toISOString() });
    expect(newest.state.scratch.bytes).toMatchObject({ $type: "Bytes", value: "HAD/" });
    expect((await json(["get", "run-1", "g7", "--db", path])).checkpoint.id).toBe("g7");
    expect((await json(["get", "run-1", "--step", "0", "--db", path])).checkpoint.id).toBe("g1");
    expect((await json(["get", "run-1", "--step", "-2", "--db", path])).checkpoint.id).toBe("g25");
    expect((await json(["get", "run-1", "--step=-1", "--db", path])).checkpoint.id).toBe("g28");
  });

  test("takes one part or the value at a path", async () => {
    const path = await filled();
    const at = (...args: string[]) => json(["get", "run-1", "--db", path, ...args]);
    expect(await at("--path", "scratch.notes[-1]")).toBe("note 27 of a conversation that grows");
    expect(await at("-p", '.scratch["notes"][0:2]')).toEqual(
      [0, 1].map((n) => `note ${n} of a conversation that grows`),
    );
    expect(await at("--path", "scratch.when")).toEqual({ $type: "Date", value: "1970-01-01T00:00:00.028Z" });
    expect(await at("--path", "visitedNodes", "--part", "rest")).toEqual(["node-1"]);
    const rest = await at("--part", "rest");
    expect(Object.keys(rest)).toEqual(["checkpoint", "rest"]);
    expect((await at("--part", "writes")).writes).toEqual([]);
  });

  test("--raw prints a text and bytes as they are", async () => {
    const path = await filled();
    const text = await answer(["get", "run-1", "--db", path, "-r", "-p", "scratch.notes[3]"]);
    expect(text).toBe("note 3 of a conversation that grows\n");
    const raw = await answer(["get", "run-1", "--db", path, "--raw", "--path", "scratch.bytes"]);
    expect(Buffer.from(raw)).toEqual(Buffer.from(new TextDecoder().decode(new Uint8Array([28, 0, 255]))));
    expect(JSON.parse(await answer(["get", "run-1", "--db", path, "--raw", "-p", "artifacts"]))).toEqual({
      answer: 42,
    });
  });

  test("reads a large and a deep state", async () => {
    const path = join(folder(), "agent.db");
    const store = new CheckpointStore(path);
    let deep: unknown = "bottom";
    for (let n = 0; n < 400; n++) deep = { deep };
    const large = Array.from({ length: 50_000 }, (_, n) => ({ n, text: "é".repeat(20) }));
    await store.save(checkpoint({ runId: "large", state: { ...checkpoint().state, scratch: { deep, large } } }));
    await store.close();
    expect((await json(["get", "large", "--db", path])).state.scratch.large).toEqual(large);
    const text = await answer(["get", "large", "--db", path, "--path", "scratch"]);
    expect(JSON.parse(text)).toEqual({ deep, large });
  });

  test("reads values of a user's serializer with --serializer", async () => {
    const path = join(folder(), "agent.db");
    const module = join(folder(), "reversed.mjs");
    writeFileSync(
      module,
      `const turn = (text) => [...text].reverse().join("");
       export default {
         name: "reversed",
         serialize: (value) => Buffer.from(turn(JSON.stringify(value))),
         deserialize: (bytes) => JSON.parse(turn(Buffer.from(bytes).toString())),
       };`,
    );
    const { default: serializer } = await import(module);
    const store = new CheckpointStore(path, { serializer });
    await store.save(checkpoint({ runId: "own", state: { ...checkpoint().state, scratch: { secret: 7 } } }));
    await store.close();
    const without = await json(["get", "own", "--db", path]);
    expect(JSON.stringify(without.state)).toContain('"$type":"Opaque"');
    expect(
      without.parts.some(({ readable, tag }: { readable: boolean; tag: string }) => !readable && tag === "reversed"),
    ).toBe(true);
    expect((await cli(["get", "own", "--db", path])).stderr).toContain("--serializer");
    expect((await json(["get", "own", "--db", path, "--serializer", module])).state.scratch).toEqual({ secret: 7 });
  });
});

describe("diff", () => {
  test("compares with the parent, and any two", async () => {
    const path = await withRun("grows", 4);
    const changes = async (...args: string[]) => json(["diff", "grows", "--db", path, ...args]);
    const newest = await changes();
    expect(newest.from.id).toBe("grows 2");
    expect(newest.to.id).toBe("grows 3");
    expect(newest.truncated).toBe(false);
    expect(newest.changes).toEqual(
      expect.arrayContaining([
        { part: "state", op: "replace", path: ["scratch", "n"], before: 2, after: 3 },
        { part: "state", op: "add", path: ["scratch", "notes", 2], after: "note 2" },
      ]),
    );
    expect(await changes("grows 3")).toEqual(newest);
    expect(await changes("--step", "3")).toEqual(newest);
    expect(await changes("--from-step", "2", "--to-step", "-1")).toEqual(newest);
    expect(await changes("grows 2", "grows 3")).toEqual(newest);
    const back = await changes("grows 3", "grows 2");
    expect(back.changes).toEqual(
      expect.arrayContaining([{ part: "state", op: "remove", path: ["scratch", "notes", 2], before: "note 2" }]),
    );
    const first = await changes("--step", "0");
    expect(first.from).toBeNull();
    expect(first.changes.length).toBeGreaterThan(0);
    for (const { op } of first.changes) expect(op).toBe("add");
    const state = await changes("--part", "state");
    for (const { part } of state.changes) expect(part).toBe("state");
  });

  test("compares runs", async () => {
    const path = await filled();
    const { from, to } = await json(["diff", "run-1", "g4", "--to-run", "run-2", "--db", path]);
    expect([from.run, from.id, to.run, to.id]).toEqual(["run-1", "g4", "run-2", "g29"]);
    const { forks } = await json(["show", "run-1", "--db", path]);
    const fork = await json(["diff", forks[0].run, "--db", path]);
    expect(fork.from).toMatchObject({ run: "run-1", id: "g4" });
  });

  test("--exit-code is 1 if there is a difference, and 0 if there is none", async () => {
    const path = await withRun("grows", 3);
    const code = async (...args: string[]) => (await cli(["diff", "grows", "--db", path, ...args])).code;
    expect(await code("--exit-code")).toBe(1);
    expect(await code()).toBe(0);
    expect(await code("grows 1", "grows 1", "--exit-code")).toBe(0);
    expect(await answer(["diff", "grows", "--db", path, "grows 1", "grows 1"])).toContain("no difference");
  });

  test("prints paths that get and fork take", async () => {
    const path = await withRun("grows", 4);
    const text = await answer(["diff", "grows", "--db", path]);
    const [, place] = /^~ changed +(state\.scratch\.n) /m.exec(text)!;
    expect(await json(["get", "grows", "--path", place!, "--db", path])).toBe(3);
    expect(await json(["get", "grows", "--path", place!, "--part", "state", "--db", path])).toBe(3);
    expect(await json(["get", "grows", "--path", "rest.nodeId", "--db", path])).toBe("node-3");
    await answer(["fork", "grows", "--set", `${place}=30`, "--as", "other", "--db", path]);
    expect(await json(["get", "other", "--path", "scratch.n", "--db", path])).toBe(30);
    await answer(["fork", "grows", "--set", '["state"]["scratch"].n=31', "--as", "another", "--db", path]);
    expect(await json(["get", "another", "--path", "scratch.n", "--db", path])).toBe(31);
    // Another part is not meant, and cannot be edited.
    await refused(["get", "grows", "--path", place!, "--part", "rest", "--db", path], 3);
    const error = await refused(["fork", "grows", "--set", 'rest.nodeId="n"', "--db", path], 2);
    expect(error.message).toContain("only values of the state can be set");
  });

  test("a key of the state may have the name of a part", async () => {
    const path = join(folder(), "agent.db");
    const workflows = new WorkflowCheckpointStore<object>(path);
    const state = { state: { city: "Lisbon" }, city: "Rome" };
    await workflows.save({ id: "a", runId: "trip", stepIndex: 0, stepName: "s", state, createdAt: 1 });
    await workflows.close();
    const get = (place: string) => json(["get", "trip", "--path", place, "--db", path]);
    expect([await get("state.city"), await get("city"), await get("state.state.city")]).toEqual([
      "Lisbon",
      "Rome",
      "Lisbon",
    ]);
    await answer(["fork", "trip", "--set", 'state.city="Porto"', "--as", "other", "--db", path]);
    expect(await json(["get", "other", "--db", path])).toMatchObject({
      state: { state: { city: "Porto" }, city: "Rome" },
    });
  });
});

describe("what is no checkpoint", () => {
  test.each([
    [["diff", "run-1", "run-2"], "it is a run: use --to-run run-2"],
    [["diff", "run-1", "g4", "run-2"], "it is a run: use --to-run run-2"],
    [["get", "run-1", "run-2"], "it is a run: pass it alone"],
    [["diff", "run-1", "0", "1"], "did you mean --from-step 0?"],
    [["diff", "run-1", "g4", "1"], "did you mean --to-step 1?"],
    [["diff", "run-1", "3"], "did you mean --step 3?"],
    [["get", "run-1", "3"], "did you mean --step 3?"],
    [["fork", "run-1", "3"], "did you mean --step 3?"],
    [["get", "run-1", "node-1"], "it is the label of"],
    [["get", "w", "no such id", "--space", "agentium"], "`forkpoint show` lists its checkpoints"],
  ])("%j", async ([name, ...others], message) => {
    const error = await refused([name!, "--db", await filled(), ...others], 3);
    expect(error.message).toContain(message);
  });

  test("the label of one step, and a key that is not there: the error lists the keys", async () => {
    const path = await withRun("grows", 4);
    const message = async (...args: string[]) => (await refused(["get", "grows", ...args, "--db", path], 3)).message;
    expect(await message("node-2")).toContain("it is the label of step 2: use --step 2");
    expect(await message("--path", "scrtch")).toMatch(/^there is nothing at "scrtch" in .*: it has .*scratch/);
  });
});

describe("stats", () => {
  test("answers with what the store holds", async () => {
    const path = await filled();
    const stats = await json(["stats", "--db", path]);
    const inspector = await inspect(path);
    const versions = await inspector.versions();
    expect(versions).toContainEqual(expect.objectContaining({ space: "agentos", version: null, runs: 4 }));
    expect(stats).toEqual(JSON.parse(JSON.stringify({ ...(await inspector.stats()), versions })));
    expect(stats).toMatchObject({
      walBytes: expect.toBeOneOf([expect.any(Number), null]),
      freeBytes: expect.any(Number),
    });
    expect(stats.spaces.agentos).toEqual({
      isEstimate: false,
      runs: 4,
      statuses: { waiting: 0, failed: 0, unfinished: 4, stopped: 0, finished: 0, unknown: 0 },
      checkpoints: 30,
      effects: 0,
      logicalBytes: expect.any(Number),
      storedBytes: expect.any(Number),
    });
  });
});

test("the size of a session is that of its messages, in ls, show and stats", async () => {
  const db = join(folder(), "agent.db");
  const store = new SessionStore(db);
  const words = Array.from({ length: 500 }, (_, at) => `word${at}`).join(" ");
  const key = { projectKey: "p", sessionId: "s" };
  await store.append(key, [{ type: "user", uuid: "u", message: { role: "user", content: words } }]);
  await store.close();
  const [run] = (await json(["ls", "--sort", "size", "--db", db])).runs;
  // Messages count as they are stored, which is compressed.
  expect(run.bytes.logical).toBeGreaterThan(300);
  const shown = await json(["show", "s", "--db", db]);
  expect([shown.run.bytes, shown.checkpoints.map(({ bytes }: { bytes: object }) => bytes)]).toEqual([
    run.bytes,
    [run.bytes],
  ]);
  expect(await answer(["show", "s", "--db", db])).not.toContain(" 1 B");
  const { largest } = await json(["stats", "--db", db]);
  expect(largest[0]).toMatchObject({ run: "s", storedBytes: run.bytes.stored });
});
