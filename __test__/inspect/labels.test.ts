// Tests labels of runs on every kind of store: setting them, the option of a store, and finding runs by them.
import { join } from "node:path";
import { CheckpointStore, copyStore, openStore } from "forkpoint";
import { SessionStore } from "forkpoint/helix";
import { type Inspector, type RunQuery, openInspector } from "forkpoint/inspect";
import { Checkpointer } from "forkpoint/tinyagents";
import { describe, expect, test } from "vitest";
import { allRuns, fill, inspected as opened } from "../contents.js";
import { checkpoint as session, texts } from "../helix/helpers.js";
import { checkpoint, failure, folder, kinds, place, rejection } from "../helpers.js";

const found = async (inspector: Inspector, query: RunQuery) =>
  (await allRuns(inspector, query)).map(({ space, run, ns }) => [space, run, ns].join(" ").trim());

const labelsOf = async (inspector: Inspector, space: string, run: string, ns?: string) =>
  (await inspector.run({ space, run, ns }))!.labels;

describe.each(kinds)("labels in %s", (kind) => {
  test("are merged, removed, and found with other filters", async () => {
    const { store, inspector } = await opened(place(kind));
    const graphs = new CheckpointStore(store);
    for (const n of [1, 2, 3, 4]) await graphs.save(checkpoint({ id: `c${n}`, runId: `run-${n}`, timestamp: n }));
    const set = (n: number, changes: Record<string, string | null>) =>
      inspector.setLabels({ space: "agentos", run: `run-${n}` }, changes);
    expect(await labelsOf(inspector, "agentos", "run-1")).toEqual({});
    await set(1, { customer: "acme", plan: "free" });
    await set(1, { plan: null, "größe 🜁": ' "a=b\0' });
    await set(2, { customer: "acme" });
    await set(3, { customer: "other", __proto__: "x" });
    expect(await labelsOf(inspector, "agentos", "run-1")).toEqual({ customer: "acme", "größe 🜁": ' "a=b\0' });
    expect(await found(inspector, { label: { customer: "acme" } })).toEqual(["agentos run-2", "agentos run-1"]);
    for (const sort of ["active", "began", "size"] as const)
      expect((await found(inspector, { label: { customer: "acme" }, sort, limit: 1 })).toSorted()).toEqual([
        "agentos run-1",
        "agentos run-2",
      ]);
    expect(await found(inspector, { label: { customer: "acme", "größe 🜁": ' "a=b\0' } })).toEqual(["agentos run-1"]);
    expect(await found(inspector, { label: { customer: "acme" }, match: "n-2" })).toEqual(["agentos run-2"]);
    expect(await found(inspector, { label: { customer: "acme" }, space: "helix" })).toEqual([]);
    expect(await found(inspector, { label: { customer: "acme" }, status: "failed" })).toEqual([]);
    expect(await found(inspector, { label: { customer: "acm" } })).toEqual([]);
    expect(await found(inspector, { label: {} })).toHaveLength(4);
    // A save keeps them, a fork begins without, and a removed run loses them.
    await graphs.save(checkpoint({ id: "c1b", runId: "run-1", timestamp: 9 }));
    expect(await found(inspector, { label: { customer: "acme" } })).toEqual(["agentos run-1", "agentos run-2"]);
    const fork = await inspector.fork({ space: "agentos", run: "run-2", id: "c2" });
    expect(await labelsOf(inspector, "agentos", fork.run)).toEqual({});
    await inspector.remove({ space: "agentos", run: "run-2" });
    expect(await graphs.latest("run-2")).toBe(null);
    await graphs.save(checkpoint({ id: "c2", runId: "run-2", timestamp: 2 }));
    expect(await found(inspector, { label: { customer: "acme" } })).toEqual(["agentos run-1"]);
    expect((await inspector.verify()).findings).toEqual([]);
  });

  test("are those of the option for each run that begins", async () => {
    const labels = { service: "support", region: "eu" };
    const { store, inspector } = await opened(place(kind), { labels });
    await fill(store);
    await new Checkpointer<object>(store).put({ threadId: "t0", namespace: ["sub"], state: {} });
    const runs = await allRuns(inspector, { allNs: true });
    expect(runs).toHaveLength(31);
    for (const { run, ns, labels: own } of runs) expect(own, run).toEqual(ns === '["sub"]' ? {} : labels);
    expect(await found(inspector, { label: labels })).toHaveLength(30);
    await inspector.setLabels({ space: "agentos", run: "run-1" }, { region: "us", customer: "acme" });
    await new CheckpointStore(store).save(checkpoint({ id: "c2", runId: "run-1" }));
    expect(await labelsOf(inspector, "agentos", "run-1")).toEqual({ ...labels, region: "us", customer: "acme" });
    expect((await inspector.verify()).findings).toEqual([]);
  });

  test("of a session are those of its current state", async () => {
    const { store, inspector } = await opened(place(kind));
    const sessions = new SessionStore(store);
    const s = { space: "helix", run: "s" };
    await sessions.createSession("s", { agentType: "writer" });
    await inspector.setLabels(s, { customer: "acme" });
    await sessions.appendMessages("s", texts(1));
    await sessions.saveCheckpoint(session(1));
    expect(await found(inspector, { label: { customer: "acme" } })).toEqual(["helix s"]);
    const { status } = (await inspector.run(s))!;
    expect(await found(inspector, { status, space: "helix" })).toEqual(["helix s"]);
    await inspector.setLabels(s, { plan: "free" });
    expect(await found(inspector, { label: { customer: "acme", plan: "free" }, limit: 1 })).toEqual(["helix s"]);
    await sessions.saveCheckpoint({ ...session(2), sessionId: "orphan" });
    await inspector.setLabels({ space: "helix", run: "orphan" }, { customer: "acme" });
    expect(await found(inspector, { label: { customer: "acme" }, limit: 1 })).toEqual(["helix orphan", "helix s"]);
    await sessions.deleteSession("s");
    expect(await found(inspector, { label: { customer: "acme" } })).toEqual(["helix orphan"]);
  });

  test("are limited, and need a run", async () => {
    const { store, inspector } = await opened(place(kind));
    await new CheckpointStore(store).save(checkpoint({ id: "c1", runId: "run-1" }));
    const set = (changes: unknown, run = "run-1", ns?: string) =>
      inspector.setLabels({ space: "agentos", run, ns }, changes as Record<string, string>);
    const many = Object.fromEntries(Array.from({ length: 32 }, (_, n) => [`key ${n}`, "x"]));
    for (const [wrong, says] of [
      [{ ["k".repeat(101)]: "v" }, "more than 100 characters"],
      [{ "": "v" }, "a key is empty"],
      [{ "a=b": "v" }, '"="'],
      [{ "a\0": "v" }, "NUL"],
      [{ "\ud800": "v" }, "unpaired surrogate"],
      [{ key: "\udc00" }, "unpaired surrogate"],
      [{ key: "v".repeat(501) }, "more than 500 characters"],
      [{ key: 5 }, 'labels: "key" must be a string, but is a number'.replace("a number", "5")],
      [{ key: undefined }, "must be a string, but is undefined"],
      [["a"], "must be an object"],
      [null, "must be an object"],
      ["a=b", "must be an object"],
      [{ ...many, more: "x" }, "at most 32 labels"],
    ] as const) {
      const error = await rejection(set(wrong));
      expect(error.message).toContain(says);
      expect(error.code).toBe("INVALID_ARGUMENT");
    }
    expect(await labelsOf(inspector, "agentos", "run-1")).toEqual({});
    await set({ ["🜁".repeat(100)]: "🜁".repeat(500) });
    const error = await failure(set(many), "INVALID_ARGUMENT");
    expect(error.message).toContain("at most 32 labels");
    expect(await labelsOf(inspector, "agentos", "run-1")).toEqual({ ["🜁".repeat(100)]: "🜁".repeat(500) });
    await set({ ...many, ["🜁".repeat(100)]: null });
    expect(await labelsOf(inspector, "agentos", "run-1")).toEqual(many);
    expect((await failure(set({ a: "b" }, "none"), "NOT_FOUND")).message).toContain('"none"');
    const part = inspector.setLabels({ space: "langgraph", run: "t", ns: "sub" }, { a: "b" });
    expect((await rejection(part)).message).toContain("namespace");
    expect((await rejection(inspector.runs({ label: { "a=b": "c" } }))).message).toContain('"="');
    const looks = await openInspector(store);
    await failure(looks.setLabels({ space: "agentos", run: "run-1" }, { a: "b" }), "UNSUPPORTED");
  });
});

test("the option of a store is checked when it opens", async () => {
  for (const labels of [{ "a=b": "c" }, { a: null }, { a: "x".repeat(501) }, "a", ["a"]]) {
    const error = await rejection(openStore("memory:", { labels } as object));
    expect(error.code).toBe("INVALID_ARGUMENT");
    expect(error.message).toContain('option "labels"');
  }
});

test.each(kinds)("copies and backups of %s have the labels", async (kind) => {
  const from = place(kind);
  const { store, inspector } = await opened(from, { labels: { service: "support" } });
  await new CheckpointStore(store).save(checkpoint({ id: "c1", runId: "run-1" }));
  const to = join(folder(), "copy.db");
  const copied = async () => {
    await copyStore(store, to);
    await using copy = await openInspector(to);
    return labelsOf(copy, "agentos", "run-1");
  };
  expect(await copied()).toEqual({ service: "support" });
  // A second copy brings what has changed since.
  await inspector.setLabels({ space: "agentos", run: "run-1" }, { service: null, customer: "acme" });
  expect(await copied()).toEqual({ customer: "acme" });
  await inspector.setLabels({ space: "agentos", run: "run-1" }, { customer: null });
  expect(await copied()).toEqual({});
  // One run alone, and a backup.
  await inspector.setLabels({ space: "agentos", run: "run-1" }, { customer: "acme" });
  const one = join(folder(), "one.db");
  await copyStore(store, one, { runs: [{ space: "agentos", run: "run-1" }] });
  const files = [one];
  if (kind === "sqlite") {
    files.push(join(folder(), "backup.db"));
    await store.backup(files[1]!);
  }
  for (const file of files) {
    await using other = await openInspector(file);
    expect(await labelsOf(other, "agentos", "run-1")).toEqual({ customer: "acme" });
  }
});
