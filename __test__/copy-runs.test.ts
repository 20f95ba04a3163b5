// Tests copyStore with chosen runs: by run, into stores that hold other runs, with conflicts, forks, sessions and kills.
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { CheckpointStore, type CopyProgress, type Store, copyStore, openStore } from "forkpoint";
import { SessionStore } from "forkpoint/helix";
import { type Inspector, openInspector } from "forkpoint/inspect";
import { Checkpointer } from "forkpoint/tinyagents";
import { describe, expect, onTestFinished, test } from "vitest";
import { contentOf, fill, opened } from "./contents.js";
import { texts } from "./helix/helpers.js";
import { checkpoint, damage, everyKind, failure, folder, open, place, rejection } from "./helpers.js";

const nothing = { lineages: 0, checkpoints: 0, effects: 0, writes: 0, records: 0, bytes: 0, skipped: 0 };

/** A store with the data of every framework. */
async function filled(kind: (typeof everyKind)[number] = "sqlite"): Promise<Store> {
  const store = await opened(place(kind));
  await fill(store);
  return store;
}

/** The runs that a store has, the first begun first. */
async function runsOf(store: Store): Promise<string[]> {
  const inspector: Inspector = await openInspector(store);
  const { items } = await inspector.runs({ allNs: true, limit: 1000, sort: "began" });
  return items.map(({ run, ns }) => `${run}${ns === null || ns === "" ? "" : ` in ${ns}`}`).toReversed();
}

// copy-store.test.ts copies from each kind to each.
describe.each(everyKind.map((from, at) => [from, everyKind.at(at - 1)!] as const))("run by run from %s", (from, to) => {
  test(`to ${to}: every framework finds its data`, async () => {
    const [source, destination] = [await filled(from), await opened(place(to))];
    const seen: CopyProgress[] = [];
    const result = await copyStore(source, destination, {
      onConflict: "fail",
      onProgress: (progress) => seen.push(progress),
    });
    const { checkpoints, lineages } = await source.stats();
    expect(result).toMatchObject({ checkpoints, lineages, skipped: 0 });
    expect(seen.at(-1)).toMatchObject({ ...result, ofCheckpoints: checkpoints });
    const [before, after] = [await contentOf(source), await contentOf(destination)];
    // Text files hold the values as text, and on a server a fork has copies of the records.
    for (const content of [before, after]) Object.assign(content.stats, { logicalBytes: 0, records: 0 });
    expect(after).toEqual(before);
    expect(await destination.check()).toMatchObject({ ok: true, findings: [] });
    // Nothing is new. So the same is compared, and nothing is changed.
    expect(await copyStore(source, destination, { onConflict: "fail" })).toEqual(result);
    expect(await copyStore(source, destination, { onConflict: "replace" })).toEqual(result);
    expect((await contentOf(destination)).sessions).toEqual(before.sessions);

    await new SessionStore(source).appendMessages("s", texts(1));
    await new CheckpointStore(source).save(checkpoint({ id: "new", runId: "run-1", timestamp: 99 }));
    await copyStore(source, destination, { onConflict: "fail" });
    expect(await new SessionStore(destination).getMessageCount("s")).toBe(4);
    expect((await new CheckpointStore(destination).latest("run-1"))!.id).toBe("new");
  });
});

describe("chosen runs", () => {
  test("are copied into a store that holds other runs, in any order", async () => {
    const [source, destination] = [await filled(), await opened(place("sqlite"))];
    const other = new CheckpointStore(destination);
    await other.save(checkpoint({ id: "mine", runId: "mine" }));
    const run = (space: string, run: string, ns?: string) => ({ space, run, ns });
    expect(await copyStore(source, destination, { runs: [run("agentos", "run-2")] })).toMatchObject({
      checkpoints: 10,
    });
    expect(await runsOf(destination)).toEqual(["mine", "run-2"]);
    const runs = [run("agentos", "run-2"), run("agentos", "run-1"), run("storage", "key 1", "namespace 1")];
    expect(await copyStore(source, destination, { runs })).toMatchObject({ checkpoints: 21, lineages: 3 });
    expect((await runsOf(destination)).toSorted()).toEqual(["key 1 in namespace 1", "mine", "run-1", "run-2"]);
    expect(await copyStore(source, destination, { space: "agentium" })).toMatchObject({ checkpoints: 5, lineages: 1 });
    expect(await copyStore(source, destination, { since: Date.now() + 1e6 })).toEqual(nothing);
    expect(await copyStore(source, destination, { since: 0, space: "helix" })).toMatchObject({ skipped: 0 });
    expect(await destination.check()).toMatchObject({ ok: true, findings: [] });
    expect((await other.latest("mine"))!.id).toBe("mine");
    // A store that holds other runs is no copy of the whole source.
    await failure(copyStore(source, destination), "CONFLICT");
  });

  test("must exist", async () => {
    const [source, destination] = [await filled(), await opened("memory:")];
    const missing = [
      { space: "agentos", run: "run-1" },
      { space: "tinyagents", run: "no such thread" },
    ];
    const error = await failure(copyStore(source, destination, { runs: missing }), "NOT_FOUND");
    expect(error.message).toContain("no such thread");
    expect(await runsOf(destination)).toEqual([]);
    expect(await copyStore(source, destination, { runs: [] })).toEqual(nothing);
    const wrong = [{ space: "no such space", run: "run-1" }];
    await expect(copyStore(source, destination, { runs: wrong })).rejects.toThrow(TypeError);
    expect(await copyStore(await opened("memory:"), destination, { onConflict: "skip" })).toEqual(nothing);
  });

  test("have ids of any text", async () => {
    const [source, destination] = [await opened(place("sqlite")), await opened(place("jsonl"))];
    const graphs = new CheckpointStore(source);
    const ids = ["a\u2028b", "é/../\\", "%_'\"", " ", "\u{1f374}", "con", "x".repeat(900)];
    for (const id of ids) await graphs.save(checkpoint({ id: `of ${id}`, runId: id }));
    for (const id of ids) await copyStore(source, destination, { runs: [{ space: "agentos", run: id }] });
    expect(await runsOf(destination)).toEqual(ids);
    const copied = new CheckpointStore(destination);
    for (const id of ids) expect(await copied.latest(id)).toEqual(await graphs.latest(id));
  });
});

describe("a fork", () => {
  test("works without its origin, and with an origin that came before", async () => {
    const source = await filled();
    const graphs = new CheckpointStore(source);
    const fork = (await graphs.runs()).runs.find(({ runId }) => !runId.startsWith("run-"))!.runId;
    const runs = [{ space: "agentos", run: fork }];
    const alone = await opened(place("jsonl"));
    await copyStore(source, alone, { runs });
    expect(await new CheckpointStore(alone).latest(fork)).toEqual(await graphs.latest(fork));
    expect((await (await openInspector(alone)).run(runs[0]!))!.forkedFrom).toBeNull();
    // The origin comes later. The fork stays as it is.
    await copyStore(source, alone, { runs: [...runs, { space: "agentos", run: "run-1" }] });
    expect(await alone.check()).toMatchObject({ ok: true });
    // Both at once: the origin is copied first, whatever the order of the list.
    const both = await opened(place("sqlite"));
    await copyStore(source, both, { runs: [...runs, { space: "agentos", run: "run-1" }] });
    expect((await (await openInspector(both)).run(runs[0]!))!.forkedFrom).toMatchObject({ run: "run-1", id: "g4" });
  });

  test("of a session has its messages, alone or with its origin", async () => {
    const source = await filled();
    const sessions = new SessionStore(source);
    const messages = await sessions.getMessages("branch", { limit: 100 });
    for (const runs of [["branch"], ["branch", "s"]]) {
      const destination = await opened(place("sqlite"));
      await copyStore(source, destination, { runs: runs.map((run) => ({ space: "helix", run })) });
      const copied = new SessionStore(destination);
      expect(await copied.getMessages("branch", { limit: 100 })).toEqual(messages);
      expect(await copied.loadState("branch")).toEqual(await sessions.loadState("branch"));
      await copied.rewindTo("branch", (await copied.listCheckpoints("branch")).items[0]!.id);
      expect(await copied.getMessageCount("branch")).toBe(3);
      expect(await destination.check()).toMatchObject({ ok: true, findings: [] });
    }
  });
});

describe("a run that the destination has with another content", () => {
  /** Two stores that have gone on with the same run. */
  async function parted() {
    const [source, destination] = [await opened(place("sqlite")), await opened(place("sqlite"))];
    for (const [store, name] of [
      [source, "theirs"],
      [destination, "mine"],
    ] as const) {
      const graphs = new CheckpointStore(store);
      await graphs.save(checkpoint({ id: "same", runId: "a", timestamp: 1 }));
      await graphs.save(checkpoint({ id: name, runId: "a", timestamp: 2 }));
    }
    await new CheckpointStore(source).save(checkpoint({ id: "b1", runId: "b", timestamp: 3 }));
    return { source, destination, ids: async (id: string) => listed(destination, id) };
  }
  const listed = async (store: Store, id: string) =>
    (await new CheckpointStore(store).listByRun(id)).map((one) => one.id);

  test("is a conflict, and stays", async () => {
    const { source, destination, ids } = await parted();
    for (const options of [{ space: "agentos" }, { onConflict: "fail" as const }]) {
      const error = await failure(copyStore(source, destination, options), "CONFLICT");
      expect(error.message).toMatch(/run "a" of agentos.*another content.*onConflict/);
    }
    expect(await ids("a")).toEqual(["mine", "same"]);
  });

  test.each([
    ["skip", { checkpoints: 1, skipped: 1 }, ["mine", "same"]],
    ["replace", { checkpoints: 3, skipped: 0 }, ["theirs", "same"]],
  ] as const)("with onConflict: %s", async (onConflict, result, left) => {
    const { source, destination, ids } = await parted();
    expect(await copyStore(source, destination, { onConflict })).toMatchObject(result);
    expect([await ids("a"), await ids("b")]).toEqual([left, ["b1"]]);
    expect(await destination.check()).toMatchObject({ ok: true, findings: [] });
  });

  test("and a session, and a thread of namespaces, are replaced as a whole", async () => {
    const [source, destination] = [await filled(), await filled()];
    await new SessionStore(destination).appendMessages("s", texts(5));
    const threads = new Checkpointer<object>(destination);
    await threads.put({ threadId: "t0", namespace: ["mine"], state: { n: 9 } });
    await threads.put({ threadId: "t0", state: { n: 9 } });
    const run = (space: string, run: string) => ({ space, run });
    const runs = [run("helix", "s"), run("tinyagents", "t0")];
    await failure(copyStore(source, destination, { runs }), "CONFLICT");
    await copyStore(source, destination, { runs, onConflict: "replace" });
    const [before, after] = [new SessionStore(source), new SessionStore(destination)];
    expect(await after.getMessages("s", { limit: 100 })).toEqual(await before.getMessages("s", { limit: 100 }));
    expect(await after.loadState("s")).toEqual(await before.loadState("s"));
    expect(await threads.stateHistory("t0")).toEqual(await new Checkpointer<object>(source).stateHistory("t0"));
    expect((await runsOf(destination)).filter((name) => name.startsWith("t0"))).toEqual(["t0"]);
  });

  test("is not replaced by a damaged source", async () => {
    const [path, destination] = [join(folder(), "agent.db"), await opened(place("sqlite"))];
    const source = open(path);
    await source.save(checkpoint({ id: "theirs", runId: "a", timestamp: 1 }));
    await new CheckpointStore(destination).save(checkpoint({ id: "mine", runId: "a", timestamp: 1 }));
    const noise = randomBytes(50_000);
    const state = { ...checkpoint().state, scratch: { noise } };
    await source.save(checkpoint({ id: "damaged", runId: "b", timestamp: 2, state }));
    await source.close();
    damage(path, noise.subarray(1000, 1016));
    await failure(copyStore(path, destination, { onConflict: "replace" }), "CORRUPT");
    expect((await new CheckpointStore(destination).latest("a"))!.id).toBe("mine");
  });

  test("and a checkpoint that another run has already are told", async () => {
    const [source, destination] = [await opened("memory:"), await opened("memory:")];
    await new CheckpointStore(source).save(checkpoint({ id: "c", runId: "a" }));
    await new CheckpointStore(destination).save(checkpoint({ id: "c", runId: "another" }));
    for (const onConflict of ["fail", "skip", "replace"] as const) {
      const error = await failure(copyStore(source, destination, { onConflict }), "CONFLICT");
      expect(error.message).toMatch(/"c".*"a"/);
    }
    expect((await new CheckpointStore(destination).latest("another"))!.id).toBe("c");
  });
});

test("an abort stops a copy by run, and a closed store ends it", async () => {
  const [source, destination] = [await filled(), await opened(place("sqlite"))];
  const aborting = new AbortController();
  const reason = new Error("enough");
  const onProgress = ({ checkpoints }: CopyProgress) => checkpoints > 10 && aborting.abort(reason);
  const stopped = copyStore(source, destination, { onConflict: "fail", signal: aborting.signal, onProgress });
  await expect(stopped).rejects.toBe(reason);
  const store = await openStore(place("sqlite"));
  onTestFinished(() => store.close());
  const closing = copyStore(source, store, { onConflict: "fail", onProgress: () => void store.close() });
  expect(await rejection(closing)).toMatchObject({ code: "CLOSED" });
  await copyStore(source, destination, { onConflict: "fail" });
  expect((await contentOf(destination)).runs).toEqual((await contentOf(source)).runs);
});
