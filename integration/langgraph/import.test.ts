// Import from LangGraph's SqliteSaver: a database that it made (fixtures/make-sqlite-saver.mjs) is copied.
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import { openStore } from "forkpoint";
import { describe, expect, it } from "vitest";
import { Program } from "../../__test__/faults/faults.js";
// @ts-expect-error The module is JavaScript, so that the script that makes the database runs without a build.
import * as graphs from "./fixtures/moving.mjs";
import { all, checkpoint, folder, kinds, metadata, open, place, rejection, saver, thread } from "./helpers.js";

const { chat } = graphs;
const database = fileURLToPath(new URL("fixtures/sqlite-saver.sqlite", import.meta.url));
const script = fileURLToPath(new URL("fixtures/import.mjs", import.meta.url));
const { checkpoints, writes } = JSON.parse(
  readFileSync(new URL("fixtures/sqlite-saver.json", import.meta.url), "utf8"),
) as {
  checkpoints: Array<
    Record<"thread_id" | "checkpoint_ns" | "checkpoint_id" | "type" | "checkpoint" | "metadata", string> & {
      parent_checkpoint_id: string | null;
    }
  >;
  writes: Array<
    Record<"thread_id" | "checkpoint_ns" | "checkpoint_id" | "task_id" | "channel" | "type" | "value", string> & {
      idx: number;
    }
  >;
};
const { serde } = new MemorySaver();
const threads = new Set([...checkpoints, ...writes].map(({ thread_id }) => thread_id));

describe.each(kinds)("into %s", (kind) => {
  it("copies every checkpoint, its metadata and its writes, bytes included", async () => {
    const checkpointer = saver(kind);
    const result = await checkpointer.importSqliteSaver(database);
    expect(result).toEqual({
      threads: threads.size,
      ofThreads: threads.size,
      checkpoints: checkpoints.length,
      writes: writes.length,
      skipped: 0,
      skippedThreads: [],
    });
    for (const row of checkpoints) {
      const { thread_id, checkpoint_ns, checkpoint_id } = row;
      const config = { configurable: { thread_id, checkpoint_ns, checkpoint_id } };
      const tuple = (await checkpointer.getTuple(config))!;
      expect(tuple.config).toEqual(config);
      expect(tuple.checkpoint).toEqual(await serde.loadsTyped(row.type, row.checkpoint));
      expect(tuple.metadata).toEqual(await serde.loadsTyped(row.type, row.metadata));
      expect(tuple.parentConfig?.configurable?.["checkpoint_id"]).toBe(row.parent_checkpoint_id ?? undefined);
      const written = writes.filter(
        (write) =>
          write.thread_id === thread_id &&
          write.checkpoint_ns === checkpoint_ns &&
          write.checkpoint_id === checkpoint_id,
      );
      const expected = await Promise.all(
        written.map(async ({ task_id, channel, type, value }) => [
          task_id,
          channel,
          await serde.loadsTyped(type, new Uint8Array(Buffer.from(value, "base64"))),
        ]),
      );
      expect(new Set(tuple.pendingWrites)).toEqual(new Set(expected));
      expect(tuple.pendingWrites).toHaveLength(expected.length);
    }
    expect(await all(checkpointer.list({}))).toHaveLength(checkpoints.length);
    // Early writes wait for their checkpoint.
    const early = checkpoint({ id: "1ef00000-0000-6000-8000-000000000000" });
    const at = await checkpointer.put(thread("orphan"), early, metadata(), {});
    expect((await checkpointer.getTuple(at))!.pendingWrites).toEqual([
      ["task", "notes", ["early"]],
      ["task", "picture", new Uint8Array([1, 2, 3])],
    ]);
  });

  it("a branch of what was imported leaves what was made before it as it was", async () => {
    const checkpointer = saver(kind);
    await checkpointer.importSqliteSaver(database);
    const app = chat(checkpointer);
    const before = await all(app.getStateHistory(thread("long")));
    expect(before).toHaveLength(30);
    for (const { config } of before as Array<{ config: object }>)
      await app.updateState(config, { notes: ["branch"] }, "say");
    for (const state of before as Array<{ config: object; values: object }>)
      expect((await app.getState(state.config)).values).toEqual(state.values);
  });

  it("reports its progress, and stops if asked: complete threads stay, and there are no others", async () => {
    const checkpointer = saver(kind);
    const seen: number[] = [];
    const controller = new AbortController();
    const stopped = checkpointer.importSqliteSaver(pathToFileURL(database), {
      signal: controller.signal,
      onProgress: ({ threads: done }) => {
        seen.push(done);
        if (done === 3) controller.abort(new Error("enough"));
      },
    });
    expect((await rejection(stopped)).message).toBe("enough");
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    expect(seen.at(-1)).toBe(3);
    // Further threads may be complete.
    const here = (await checkpointer.listThreads()).threads;
    expect(here.length).toBeGreaterThanOrEqual(3);
    for (const { threadId, checkpoints: count } of here) {
      expect(count).toBe(checkpoints.filter((row) => row.thread_id === threadId && row.checkpoint_ns === "").length);
    }
    for (const { threadId } of here) await checkpointer.deleteThread(threadId);
    expect(await checkpointer.importSqliteSaver(database)).toMatchObject({ threads: threads.size });
  });

  it("threads keep the order of their last activity", async () => {
    const checkpointer = saver(kind);
    await checkpointer.importSqliteSaver(database);
    const last = new Map<string, string>();
    for (const { thread_id, checkpoint_ns, checkpoint_id } of checkpoints) {
      const known = last.get(thread_id) ?? "";
      if (checkpoint_ns === "" && checkpoint_id > known) last.set(thread_id, checkpoint_id);
    }
    const expected = [...last].toSorted(([, a], [, b]) => (a < b ? 1 : -1)).map(([id]) => id);
    expect((await checkpointer.listThreads()).threads.map(({ threadId }) => threadId)).toEqual(expected);
  });

  it("what is no such database is refused with what it is", async () => {
    const checkpointer = saver(kind);
    const here = folder();
    const refused = async (from: string | URL) => {
      const error = await rejection(checkpointer.importSqliteSaver(from));
      return `${String(error.code)}: ${error.message}`;
    };
    expect(await refused(join(here, "none.db"))).toMatch(/^NOT_FOUND: there is no file ".*none.db" to import/);
    mkdirSync(join(here, "a folder"));
    expect(await refused(join(here, "a folder"))).toMatch(/^NOT_FOUND/);
    writeFileSync(join(here, "text.db"), "this is no database at all, however long it may be: ".repeat(100));
    expect(await refused(join(here, "text.db"))).toMatch(
      /^CORRUPT: cannot read ".*text.db": SQLite: file is not a database/,
    );
    writeFileSync(join(here, "empty.db"), "");
    expect(await refused(join(here, "empty.db"))).toMatch(
      /^UNSUPPORTED: ".*empty.db" is not a database of LangGraph's SqliteSaver/,
    );
    await (await openStore(join(here, "ours.db"))).close();
    expect(await refused(join(here, "ours.db"))).toMatch(/^UNSUPPORTED/);
    for (const wrong of [undefined, null, 7, "", {}])
      expect(await refused(wrong as never)).toMatch(/^INVALID_ARGUMENT: the database to import must be/);
    expect(await refused(new URL("https://example.com/agent.db"))).toMatch(/^INVALID_ARGUMENT/);
    for (const [options, message] of [
      [{ onprogress: 1 }, /Did you mean "onProgress"/],
      [{ onConflict: "replace" }, /"onConflict" must be one of skip, fail/],
      [{ onConflict: undefined, threads: "nested" }, /"threads" must be an array of strings/],
      [{ threads: [7] }, /threads"?\[0\] must be a string/],
      [{ signal: 7 }, /"signal" must be an AbortSignal/],
    ] as Array<[object, RegExp]>) {
      const error = await rejection(checkpointer.importSqliteSaver(database, options));
      expect(error).toBeInstanceOf(TypeError);
      expect(error.message).toMatch(message);
    }
    expect((await checkpointer.listThreads()).threads).toEqual([]);
  });
});

it("an import that is killed is completed by the next one", { timeout: 120_000 }, async () => {
  const target = place("sqlite");
  let killed = 0;
  for (let wait = 1; wait <= 7; wait += 2) {
    const onLine = () => child.lines.length >= wait && child.kill();
    const child: Program = new Program([script, database, target], { onLine });
    if ((await child.ended).signal === "SIGKILL") killed += 1;
    // Each thread is there completely or not at all.
    const half = open(target);
    for (const { threadId } of (await half.listThreads()).threads) {
      const stored = checkpoints.filter(({ thread_id }) => thread_id === threadId);
      expect(await all(half.list(thread(threadId)))).toHaveLength(stored.length);
    }
    await half.close();
  }
  expect(killed).toBeGreaterThan(0);
  const checkpointer = open(target);
  const whole = await saver("memory").importSqliteSaver(database);
  expect(await checkpointer.importSqliteSaver(database)).toEqual(whole);
  expect(await all(checkpointer.list({}))).toHaveLength(checkpoints.length);
  // The old database has writes without a checkpoint.
  const { ok, findings } = await checkpointer.check();
  expect([ok, findings.filter(({ severity }) => severity !== "note")]).toEqual([true, []]);
});

it("a serializer of one's own is asked for every value", async () => {
  const asked: string[] = [];
  const own = {
    dumpsTyped: (value: unknown) => serde.dumpsTyped(value),
    loadsTyped: (type: string, data: Uint8Array | string) => {
      asked.push(type);
      return serde.loadsTyped(type, data);
    },
  };
  const checkpointer = saver("memory", { serde: own });
  const plain = saver("memory");
  expect(await checkpointer.importSqliteSaver(database)).toEqual(await plain.importSqliteSaver(database));
  expect(asked.length).toBeGreaterThan(checkpoints.length);
  expect(new Set(await all(checkpointer.list({})))).toEqual(new Set(await all(plain.list({}))));
});

it("the database that is imported is not changed, and may be in use", async () => {
  const copy = join(folder(), "copy.sqlite");
  copyFileSync(database, copy);
  const target = place("sqlite");
  await open(target).importSqliteSaver(copy);
  expect(readFileSync(copy).equals(readFileSync(database))).toBe(true);
  expect(await open(target).getTuple(thread("answered"))).toBeDefined();
});
