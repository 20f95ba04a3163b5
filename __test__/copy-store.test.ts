// Tests copyStore with the stores of all frameworks, and with programs that are really killed.
// @module-tag threads
import { randomBytes } from "node:crypto";
import { existsSync, symlinkSync } from "node:fs";
import { basename, join, relative } from "node:path";
import { pathToFileURL } from "node:url";
import { CheckpointStore, type CopyProgress, type Store, copyStore, isForkpointError, openStore } from "forkpoint";
import { ForkpointStorage } from "forkpoint/agentium";
import { SessionStore } from "forkpoint/helix";
import { Checkpointer } from "forkpoint/tinyagents";
import { describe, expect, onTestFinished, test } from "vitest";
import { contentOf, fill, opened } from "./contents.js";
import { texts } from "./helix/helpers.js";
import { type Kind, checkpoint, everyKind, failure, folder, open, place, run, windows, wrongType } from "./helpers.js";
import { type Methods, wrongAnswers } from "./hostile-values.js";

/** The numbers that differ in a copy to this kind of store. */
function changedStats(to: string): { records?: number; logicalBytes?: number } {
  // On a server, a fork has copies of the records that it shares with its source elsewhere.
  if (to === "postgres") return { records: expect.any(Number) as number };
  // Text files hold the values as text.
  return to === "jsonl" ? { logicalBytes: expect.any(Number) as number } : {};
}

describe.each(everyKind)("from %s", (from) => {
  test.each(everyKind)("to %s: every framework finds its data, and goes on", async (to) => {
    const [source, destination] = [await opened(place(from)), await opened(place(to))];
    await fill(source);
    const before = await contentOf(source);
    const seen: CopyProgress[] = [];
    const result = await copyStore(source, destination, { onProgress: (progress) => seen.push(progress) });
    const shared = changedStats(to);
    const copied = { ...before, stats: { ...before.stats, ...shared } };
    expect(await contentOf(destination)).toEqual(copied);
    expect(await contentOf(source)).toEqual(before);
    expect(await destination.check()).toMatchObject({ ok: true, findings: [] });
    const { checkpoints, lineages, ...others } = await source.stats();
    const { records } = { ...others, ...shared };
    const [writes, bytes] = [expect.any(Number) as number, expect.any(Number) as number];
    expect(result).toEqual({ checkpoints, effects: 0, lineages, records, writes, bytes, skipped: 0 });
    expect(new Set(seen.map(({ phase }) => phase))).toEqual(new Set(["copying", "verifying"]));
    expect(seen.at(-1)).toEqual({
      ...result,
      phase: "verifying",
      ofCheckpoints: checkpoints,
      ofRecords: others.records,
    });
    // A copy that has ended is compared again, and nothing else is done.
    expect(await copyStore(source, destination)).toEqual(result);
    expect(await contentOf(destination)).toEqual(copied);

    const sessions = new SessionStore(destination);
    await sessions.appendMessages("branch", texts(1));
    expect(await sessions.getMessageCount("branch")).toBe(6);
    await sessions.rewindTo("branch", (await sessions.listCheckpoints("branch")).items[0]!.id);
    expect(await sessions.getMessageCount("branch")).toBe(3);
    const graphs = new CheckpointStore(destination);
    await graphs.save(checkpoint({ id: "new", runId: "run-1", timestamp: 99 }));
    expect((await graphs.latest("run-1"))!.id).toBe("new");
    expect((await failure(copyStore(source, destination), "CONFLICT")).message).toContain("not empty");
  });
});

test.each(everyKind)("a second copy to %s has what every framework has saved since", async (to) => {
  const [source, destination] = [await opened(place("sqlite")), await opened(place(to))];
  await fill(source);
  await copyStore(source, destination);
  const sessions = new SessionStore(source);
  await sessions.updateStatus("s", "running");
  await sessions.incrementStepCount("s");
  await sessions.appendMessages("s", texts(2));
  await sessions.saveState("only messages", { ...(await sessions.loadState("only messages"))!, status: "done" });
  await sessions.createSession("new", { agentType: "a" });
  const graphs = new CheckpointStore(source);
  await graphs.save(checkpoint({ id: "new", runId: "run-1", timestamp: 99 }));
  await graphs.fork("new");
  const checkpointer = new Checkpointer<object>(source);
  const { checkpointId } = (await checkpointer.get("t1"))!;
  const place1 = { threadId: "t1", checkpointId, namespace: [] };
  await checkpointer.putWrites(place1, [{ node: "n", taskId: "new", idx: -1, channel: "c", payload: 1 }]);
  await checkpointer.put({ threadId: "t1", parentCheckpointId: checkpointId, state: { n: 7 } });
  const storage = new ForkpointStorage(source);
  await storage.set("namespace 1", "key 1", { n: "set again" });
  const before = await contentOf(source);
  const seen: CopyProgress[] = [];
  const result = await copyStore(source, destination, { onProgress: (progress) => seen.push(progress) });
  expect(await contentOf(destination)).toEqual({ ...before, stats: { ...before.stats, ...changedStats(to) } });
  expect(await destination.check()).toMatchObject({ ok: true, findings: [] });
  expect(await copyStore(source, destination)).toEqual(result);
  const phases = seen.map(({ phase }) => phase).filter((phase, at, all) => phase !== all[at - 1]);
  expect(phases).toEqual(["verifying", "copying", "verifying"]);
  const first = seen.find(({ phase }) => phase === "copying")!;
  expect(first.checkpoints).toBeGreaterThan(20);
  expect(first.checkpoints).toBeLessThan(result.checkpoints);
});

/** The kinds of store that an interrupted copy is tested with. */
const pairs: Array<[from: Kind, to: Kind]> = everyKind.includes("postgres")
  ? [
      ["sqlite", "postgres"],
      ["postgres", "sqlite"],
      ["jsonl", "postgres"],
    ]
  : [["sqlite", "sqlite"]];

describe.each(pairs)("an interrupted copy from %s to %s", (fromKind, toKind) => {
  /** A store whose copy takes several pages. */
  async function large(): Promise<{ from: string; ids: string[] }> {
    const from = place(fromKind);
    const store = open(from);
    const ids: string[] = [];
    for (let n = 0; n < 24; n++) {
      const state = { ...checkpoint().state, scratch: { noise: randomBytes(1 << 20) } };
      const one = checkpoint({ id: `c${n}`, runId: `run-${n % 3}`, timestamp: n, state });
      await store.save(one);
      ids.push(one.id);
    }
    return { from, ids };
  }

  test("an abort leaves what was copied, and the next call goes on", async () => {
    const { from } = await large();
    const to = place(toKind);
    const reason = new Error("enough");
    await expect(copyStore(from, to, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await failure(openStore(to, { readOnly: true }), "NOT_FOUND");
    const aborting = new AbortController();
    const stop = ({ checkpoints }: CopyProgress) => checkpoints > 10 && aborting.abort(reason);
    await expect(copyStore(from, to, { signal: aborting.signal, onProgress: stop })).rejects.toBe(reason);
    const throws = () => {
      throw reason;
    };
    await expect(copyStore(from, to, { onProgress: throws })).rejects.toBe(reason);
    // The begun copy is not given to another source.
    const other = place(fromKind);
    await open(other).save(checkpoint());
    expect((await failure(copyStore(other, to), "CONFLICT")).message).toContain("not an earlier copy");
    const seen: number[] = [];
    const goesOn = ({ phase, checkpoints }: CopyProgress) => phase === "copying" && seen.push(checkpoints);
    await copyStore(from, to, { onProgress: goesOn });
    expect(seen[0]).toBeGreaterThan(10);
    const [source, copy] = [open(from), open(to)];
    expect(await copy.runs()).toEqual(await source.runs());
    expect(await copy.check()).toMatchObject({ ok: true, findings: [], checked: { checkpoints: 24 } });
  });

  test.each([
    ["a copy", []],
    ["a copy by run, into a store with another run,", ["agentos"]],
  ])("%s that is killed again and again ends with the same runs", { timeout: 180_000 }, async (_, more) => {
    const { from, ids } = await large();
    const to = place(toKind);
    const others = more.map((runId) => checkpoint({ id: "mine", runId }));
    for (const other of others) {
      const mine = open(to);
      await mine.save(other);
      await mine.close();
    }
    let kills = 0;
    let finished = 0;
    for (let cycle = 0; cycle < 20; cycle++) {
      // The moment is random: after some pages, and some time after the last of them.
      let lines = cycle % 2;
      const wait = Math.random() * 60;
      const ended = await run("copy.mjs", [from, to, ...more], (_, child) => {
        if (lines-- === 0) setTimeout(() => child.kill("SIGKILL"), wait);
      });
      if (ended.signal === "SIGKILL") kills += 1;
      else finished += 1;
      expect(ended.errors).toBe("");
    }
    expect(kills).toBeGreaterThan(0);
    expect(kills + finished).toBe(20);
    const ended = await run("copy.mjs", [from, to, ...more]);
    expect(ended).toMatchObject({ code: 0, errors: "" });
    expect(ended.lines.at(-1)).toContain(`"checkpoints":${ids.length},`);
    const [source, copy] = [open(from), open(to)];
    for (const id of ids) {
      const [before, after] = [await source.get(id), await copy.get(id)];
      const noise = (one: typeof before) => Buffer.from((one!.state.scratch as { noise: Uint8Array }).noise);
      expect(noise(after).equals(noise(before))).toBe(true);
    }
    for (const other of others) {
      expect(await copy.get("mine")).toEqual(other);
      await copy.delete("mine");
    }
    expect(await copy.runs()).toEqual(await source.runs());
    expect(await copy.check()).toMatchObject({ ok: true, findings: [], checked: { checkpoints: ids.length } });
  });
});

describe("what is refused", () => {
  test("one store on both sides, whatever path leads to it", async () => {
    const at = folder();
    const path = join(at, "agent.db");
    const store = await opened(path);
    await new CheckpointStore(store).save(checkpoint());
    const paths = [path, `sqlite:${path}`, relative(process.cwd(), path), join(at, "..", basename(at), "agent.db")];
    if (!windows) {
      const link = join(folder(), "folder");
      symlinkSync(at, link);
      paths.push(join(link, "agent.db"));
    }
    for (const to of [...paths, store]) {
      expect((await failure(copyStore(path, to), "INVALID_ARGUMENT")).message).toContain("same store");
      expect((await failure(copyStore(store, to), "INVALID_ARGUMENT")).message).toContain("same store");
      expect((await failure(copyStore(to, path), "INVALID_ARGUMENT")).message).toContain("same store");
    }
    if (!windows) {
      // A link to the file itself is refused wherever a store is opened.
      symlinkSync(path, join(at, "link.db"));
      await failure(copyStore(path, join(at, "link.db")), "INVALID_ARGUMENT");
    }
    const memory = await opened("memory:");
    await failure(copyStore(memory, memory), "INVALID_ARGUMENT");
    const texts = await opened(`jsonl:${join(at, "runs")}`);
    for (const to of [`jsonl:${join(at, "runs")}/`, `jsonl:${relative(process.cwd(), at)}/./runs`]) {
      expect((await failure(copyStore(texts, to), "INVALID_ARGUMENT")).message).toContain("same store");
    }
  });

  test("a source that does not exist is not created", async () => {
    const path = join(folder(), "missing.db");
    const to = join(folder(), "to.db");
    for (const from of [path, `jsonl:${path}`]) {
      expect((await failure(copyStore(from, to), "NOT_FOUND")).message).toContain("missing.db");
    }
    expect([existsSync(path), existsSync(to)]).toEqual([false, false]);
    await failure(copyStore(join(folder(), "no folder", "a.db"), to), "UNAVAILABLE");
  });

  test("a store that would lose the copy", async () => {
    const source = await opened("memory:");
    await wrongType(copyStore("memory:", source));
    await wrongType(copyStore(source, "memory:"));
    for (const limits of [{ keepLastN: 3 }, { ttlMs: 1000 }, { maxBytes: 1000 }]) {
      const limited = await openStore("memory:", limits);
      onTestFinished(() => limited.close());
      expect((await failure(copyStore(source, limited), "INVALID_ARGUMENT")).message).toContain("keepLastN");
      await copyStore(limited, await opened("memory:"));
    }
  });

  test("wrong arguments and options, with the errors of the package", async () => {
    const [source, destination] = [await opened("memory:"), await opened("memory:")];
    for (const wrong of [undefined, null, 7, {}, [], () => 1, new CheckpointStore(source)]) {
      await wrongType(copyStore(wrong as Store, destination));
      await wrongType(copyStore(source, wrong as Store));
    }
    for (const options of [
      null,
      7,
      [],
      { signal: 1 },
      { onProgress: 1 },
      { onprogress: () => 1 },
      { runs: 1 },
      { since: "1d" },
      { onConflict: "ask" },
    ]) {
      await wrongType(copyStore(source, destination, options as never));
    }
    const subject = { copyStore } as unknown as Methods;
    const args = () => [source, destination, { onProgress: () => {}, signal: new AbortController().signal }];
    const { calls, wrong } = await wrongAnswers(subject, "copyStore", args, isForkpointError);
    expect(wrong).toEqual([]);
    expect(calls).toBeGreaterThan(30);
    expect(await copyStore(source, destination)).toMatchObject({ checkpoints: 0 });
  });
});

test("paths and URLs work, and what copyStore opened is closed", async () => {
  const [from, to] = [join(folder(), "from é.db"), join(folder(), "to 100%.db")];
  const source = await openStore(from);
  await fill(source);
  const before = await contentOf(source);
  await source.close();
  await copyStore(pathToFileURL(from), pathToFileURL(to));
  // The last connection to close removes the log.
  for (const path of [from, to]) expect([existsSync(path), existsSync(`${path}-wal`)]).toEqual([true, false]);
  await copyStore(to, `jsonl:${join(folder(), "runs")}`);
  expect(await contentOf(await opened(to))).toEqual(before);
});

test("a large payload that only one of the stores would take", async () => {
  const from = join(folder(), "from.db");
  const large = await openStore(from, { maxPayloadBytes: 80 * 2 ** 20 });
  const state = { ...checkpoint().state, scratch: { blob: new Uint8Array(70 * 2 ** 20).fill(7) } };
  await new CheckpointStore(large).save(checkpoint({ id: "large", state }));
  const destination = await opened(place("sqlite"));
  const error = await failure(copyStore(large, destination), "INVALID_ARGUMENT");
  expect(error.message).toContain('"large"');
  await large.close();
  expect(await copyStore(from, join(folder(), "to.db"))).toMatchObject({ checkpoints: 1 });
});

test("the leases of living processes stay behind", async () => {
  const target = place("sqlite");
  const to = place("sqlite");
  const ended = await run("copy-leases.mjs", [target, to]);
  expect(ended).toMatchObject({ code: 0, errors: "", lines: ["true", "false"] });
});
