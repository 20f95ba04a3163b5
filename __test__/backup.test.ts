// Tests Store.backup: online copies of a database, verified, with programs that are really killed.
// @module-tag threads
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type BackupProgress, CheckpointStore, isForkpointError, openStore, type Store } from "forkpoint";
import { describe, expect, test } from "vitest";
import { contentOf, fill, opened } from "./contents.js";
import { checkpoint, failure, folder, place, rejection, run, windows } from "./helpers.js";
import { type Methods, wrongAnswers } from "./hostile-values.js";

/** Saves checkpoints whose states do not compress. */
async function saveNoise(store: Store, count: number, bytes = 200_000): Promise<void> {
  const graphs = new CheckpointStore(store);
  const each = Array.from({ length: count }, (_, n) => n);
  const state = () => ({ ...checkpoint().state, scratch: { noise: randomBytes(bytes) } });
  await Promise.all(
    each.map((n) => graphs.save(checkpoint({ id: `noise ${n}`, runId: `noise ${n}`, state: state() }))),
  );
}

/** The names of the files in a folder, but for those of an open database. */
const namesIn = (path: string) => readdirSync(path).filter((name) => !/-(wal|shm|reserve)$/.test(name));

describe("a backup", () => {
  test("has everything, is one private file, and can be used as a store", async () => {
    const path = folder();
    const store = await opened(join(path, "agent.db"));
    await fill(store);
    const before = await contentOf(store);
    const seen: BackupProgress[] = [];
    const to = join(path, "a backup \u{1f4be} ü'%.db");
    const result = await store.backup(to, { onProgress: (progress) => seen.push(progress) });
    const { checkpoints } = before.stats;
    expect(result).toEqual({ path: to, bytes: statSync(to).size, checkpoints, verified: true });
    expect(seen.at(-1)).toMatchObject({ phase: "verifying" });
    for (const { done, of } of seen) expect(done).toBeLessThanOrEqual(of);
    expect(seen.at(-1)!.done).toBe(seen.at(-1)!.of);
    if (!windows) expect(statSync(to).mode & 0o777).toBe(0o600);
    expect(namesIn(path).toSorted()).toEqual(["a backup \u{1f4be} ü'%.db", "agent.db"]);
    const copy = await opened(to);
    expect(await contentOf(copy)).toEqual(before);
    expect(await copy.check()).toMatchObject({ ok: true, findings: [] });
    await saveNoise(copy, 1);
    expect(await contentOf(store)).toEqual(before);
  });

  test("of an empty store is an empty store", async () => {
    const path = folder();
    const store = await opened(join(path, "agent.db"));
    expect(await store.backup(pathToFileURL(join(path, "b.db")))).toMatchObject({ checkpoints: 0, verified: true });
    expect(await (await opened(join(path, "b.db"))).stats()).toMatchObject({ checkpoints: 0 });
  });

  test("has every save that was resolved before, while others save", async () => {
    const path = folder();
    const store = await opened(join(path, "agent.db"));
    await saveNoise(store, 50);
    const args = [join(path, "agent.db"), join(path, "b.db"), "busy"];
    const { code, lines, errors } = await run("backup.mjs", args);
    expect(errors).toBe("");
    expect(code).toBe(0);
    const { during, checkpoints } = JSON.parse(lines.at(-1)!.slice("done ".length));
    expect(during).toBeGreaterThan(0);
    const copy = await opened(join(path, "b.db"));
    expect((await copy.stats()).checkpoints).toBe(checkpoints);
    expect(checkpoints).toBeGreaterThanOrEqual(50);
    // The saves of one run that it has are the first ones.
    const busy = await new CheckpointStore(copy).listByRun("busy");
    const numbers = busy.map(({ id }) => Number(id.slice("busy ".length))).toSorted((a, b) => a - b);
    expect(numbers).toEqual(numbers.map((_, n) => n));
    expect(await copy.check()).toMatchObject({ ok: true, findings: [] });
  });

  test("several at once do not disturb each other", async () => {
    const path = folder();
    const store = await opened(join(path, "agent.db"));
    await saveNoise(store, 20);
    const made = await Promise.all(["b", "c", "d"].map((name) => store.backup(join(path, `${name}.db`))));
    expect(made.map(({ checkpoints }) => checkpoints)).toEqual([20, 20, 20]);
    const same = await Promise.allSettled([1, 2, 3].map(() => store.backup(join(path, "e.db"))));
    expect(same.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(namesIn(path)).toEqual(["agent.db", "b.db", "c.db", "d.db", "e.db"]);
  });

  test("of a program that is killed leaves nothing at its path", async () => {
    const path = folder();
    const store = await opened(join(path, "agent.db"));
    await saveNoise(store, 60);
    let without = 0;
    for (const [at, delay] of [0, 0, 20, 60, 120].entries()) {
      const to = join(path, `b${at}.db`);
      const { signal } = await run("backup.mjs", [join(path, "agent.db"), to, ""], (line, child) => {
        if (line === "begin") setTimeout(() => child.kill("SIGKILL"), delay);
      });
      // A program that was faster than the kill has made its backup.
      if (existsSync(to)) {
        expect(await (await opened(to)).check()).toMatchObject({ ok: true, checked: { checkpoints: 60 } });
      } else {
        expect(signal).toBe("SIGKILL");
        without += 1;
        expect(await store.backup(to)).toMatchObject({ checkpoints: 60 });
      }
    }
    expect(without).toBeGreaterThan(0);
  });

  test("ends when its signal is aborted or the store is closed, and leaves no file", async () => {
    const path = folder();
    const store = await openStore(join(path, "agent.db"));
    await saveNoise(store, 200);
    const reason = new Error("enough");
    expect(await rejection(store.backup(join(path, "b.db"), { signal: AbortSignal.abort(reason) }))).toBe(reason);
    const controller = new AbortController();
    const aborted = store.backup(join(path, "c.db"), {
      signal: controller.signal,
      onProgress: () => controller.abort(reason),
    });
    expect([reason, undefined]).toContain(
      await aborted.then(
        () => undefined,
        (error: unknown) => error,
      ),
    );
    const thrown = store.backup(join(path, "d.db"), {
      onProgress() {
        throw reason;
      },
    });
    expect(await rejection(thrown)).toBe(reason);
    const closed = store.backup(join(path, "e.db")).catch((error: { code?: string }) => error.code);
    await store.close();
    expect(["CLOSED", undefined]).toContain(await closed.then((end) => (typeof end === "string" ? end : undefined)));
    await failure(store.backup(join(path, "f.db")), "CLOSED");
    expect(namesIn(path).filter((name) => name.endsWith(".part"))).toEqual([]);
  });
});

describe("a path", () => {
  test("that exists is left alone, unless it may be overwritten", async () => {
    const path = folder();
    const store = await opened(join(path, "agent.db"));
    await saveNoise(store, 1, 10);
    const to = join(path, "b.db");
    writeFileSync(to, "something");
    const error = await failure(store.backup(to), "CONFLICT");
    expect(error.message).toContain("b.db");
    expect(readFileSync(to, "utf8")).toBe("something");
    expect(await store.backup(to, { overwrite: true })).toMatchObject({ checkpoints: 1 });
    expect(await (await opened(to)).stats()).toMatchObject({ checkpoints: 1 });
  });

  test("of the database itself, of an open database, and beside a log is refused", async () => {
    const path = folder();
    const store = await opened(join(path, "agent.db"));
    const own = await failure(store.backup(join(path, ".", "agent.db"), { overwrite: true }), "INVALID_ARGUMENT");
    expect(own.message).toContain("the database itself");
    const other = await opened(join(path, "other.db"));
    await saveNoise(other, 1, 10);
    await failure(store.backup(join(path, "other.db"), { overwrite: true }), "CONFLICT");
    writeFileSync(join(path, "gone.db-wal"), "a log that is left");
    expect((await failure(store.backup(join(path, "gone.db")), "CONFLICT")).message).toContain("gone.db-wal");
    expect(await other.stats()).toMatchObject({ checkpoints: 1 });
  });

  test("that cannot be a file is refused", async () => {
    const path = folder();
    const store = await opened(join(path, "agent.db"));
    mkdirSync(join(path, "folder"));
    await failure(store.backup(join(path, "folder"), { overwrite: true }), "INVALID_ARGUMENT");
    await failure(store.backup(join(path, "missing", "b.db")), "UNAVAILABLE");
    if (!windows) {
      symlinkSync(join(path, "elsewhere.db"), join(path, "link.db"));
      await failure(store.backup(join(path, "link.db"), { overwrite: true }), "INVALID_ARGUMENT");
      expect(existsSync(join(path, "elsewhere.db"))).toBe(false);
    }
    for (const wrong of ["", "a\0b", "\ud800", 1, null, undefined, new URL("https://example.com/a")]) {
      expect(await rejection(store.backup(wrong as string))).toBeInstanceOf(TypeError);
    }
    expect(await rejection(store.backup("b.db", { overwrite: 1 } as object))).toBeInstanceOf(TypeError);
    expect(await rejection(store.backup("b.db", { override: true } as object))).toBeInstanceOf(TypeError);
  });
});

test("a damaged database makes no backup", async () => {
  const path = folder();
  const file = join(path, "agent.db");
  const store = await openStore(file);
  await saveNoise(store, 20, 5_000);
  await store.close();
  const bytes = readFileSync(file);
  // Most of the last pages hold noise of a state, from their beginning on.
  for (let page = bytes.length - 8 * 4_096; page < bytes.length; page += 4_096) {
    for (let at = page + 100; at < page + 200; at++) bytes[at]! ^= 0xff;
  }
  writeFileSync(file, bytes);
  const damaged = await opened(file);
  await failure(damaged.backup(join(path, "b.db")), "CORRUPT");
  expect(namesIn(path)).toEqual(["agent.db"]);
});

describe("a restore", () => {
  test("brings back what the backup has, and the store continues", async () => {
    const path = folder();
    const store = await opened(join(path, "agent.db"));
    await fill(store);
    const before = await contentOf(store);
    await store.backup(join(path, "b.db"));
    await saveNoise(store, 5);
    expect(await contentOf(store)).not.toEqual(before);
    const seen: BackupProgress[] = [];
    const restored = await store.restore(join(path, "b.db"), { onProgress: (progress) => seen.push(progress) });
    expect(restored).toMatchObject({ path: join(path, "agent.db"), checkpoints: before.stats.checkpoints });
    expect(seen.at(-1)).toMatchObject({ phase: "copying" });
    expect(seen.at(-1)!.done).toBe(seen.at(-1)!.of);
    expect(await contentOf(store)).toEqual(before);
    await saveNoise(store, 5);
    expect(await store.check()).toMatchObject({ ok: true, findings: [] });
    await store.close();
    const again = await opened(join(path, "agent.db"));
    expect((await again.stats()).checkpoints).toBe(before.stats.checkpoints + 5);
  });

  test("that is aborted changes nothing", async () => {
    const path = folder();
    const store = await opened(join(path, "agent.db"));
    await saveNoise(store, 300);
    await store.backup(join(path, "b.db"));
    await saveNoise(store, 301);
    const before = await store.stats();
    const stop = new AbortController();
    const reason = new Error("enough");
    const onProgress = () => stop.abort(reason);
    expect(await rejection(store.restore(join(path, "b.db"), { signal: stop.signal, onProgress }))).toBe(reason);
    expect(await store.stats()).toEqual(before);
    await saveNoise(store, 1);
  });

  test.each(["memory", "jsonl"] as const)(
    "and a backup of a store of kind %s say what to use instead",
    async (kind) => {
      const store = await opened(place(kind));
      for (const call of [store.backup(join(folder(), "b.db")), store.restore(join(folder(), "b.db"))])
        expect((await failure(call, "UNSUPPORTED")).message).toMatch(/copy/);
    },
  );

  test("of something else is refused", async () => {
    const path = folder();
    const store = await opened(join(path, "agent.db"));
    await fill(store);
    const before = await contentOf(store);
    writeFileSync(join(path, "letter.txt"), "Dear reader, ".repeat(100));
    await failure(store.restore(join(path, "missing.db")), "NOT_FOUND");
    await failure(store.restore(join(path, "letter.txt")), "CORRUPT");
    await store.backup(join(path, "damaged.db"));
    const bytes = readFileSync(join(path, "damaged.db"));
    writeFileSync(join(path, "damaged.db"), bytes.fill(0, bytes.length - 4_096));
    await failure(store.restore(join(path, "damaged.db")), "CORRUPT");
    await failure(store.restore(join(path, "agent.db")), "INVALID_ARGUMENT");
    await failure(store.restore(path), "INVALID_ARGUMENT");
    for (const wrong of ["", "a\0b", 1, null, undefined]) {
      expect(await rejection(store.restore(wrong as string))).toBeInstanceOf(TypeError);
    }
    expect(await rejection(store.restore("b.db", { overwrite: true } as object))).toBeInstanceOf(TypeError);
    expect(await contentOf(store)).toEqual(before);
    const args = () => [join(folder(), "b.db"), { onProgress: () => {}, signal: new AbortController().signal }];
    for (const method of ["backup", "restore"]) {
      const { calls, wrong } = await wrongAnswers(store as unknown as Methods, method, args, isForkpointError);
      expect(calls).toBeGreaterThan(20);
      expect(wrong).toEqual([]);
    }
  });
});
