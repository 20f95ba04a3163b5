// Tests that a database of an older format is used as it is until somebody asks for an upgrade. `engine/tests/suite/format.rs` and
// `sqlite/formats.rs` test what such files contain, and files of newer formats.
import { spawn } from "node:child_process";
import { copyFileSync, existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CheckpointStore, openStore } from "forkpoint";
import { openInspector } from "forkpoint/inspect";
import { describe, expect, test } from "vitest";
import { answer, json, refused } from "./cli/run.js";
import { checkpoint, folder, kinds, open, place, rejection, run } from "./helpers.js";

/** A database that an earlier build wrote. */
function ofFormat1(): string {
  const path = join(folder(), "agent.db");
  copyFileSync(fileURLToPath(new URL("../engine/fixtures/format/v1.sqlite", import.meta.url)), path);
  return path;
}

/** The format in the header of a file, without its log. */
const formatOf = (path: string) => readFileSync(path)[63];

async function saveOne(path: string, id: string, migrate?: "create" | "auto" | "never"): Promise<void> {
  const store = new CheckpointStore(path, migrate && { migrate });
  await store.save(checkpoint({ id, runId: "run of the test", timestamp: Date.now() }));
  await store.close();
}

describe("a database of an older format", () => {
  test("is read and written as it is, by several processes, and is upgraded on request", async () => {
    const path = ofFormat1();
    for (const migrate of [undefined, "create", "never"] as const) await saveOne(path, `${migrate}`, migrate);
    expect(await run("save-many.mjs", [path, "20"])).toMatchObject({ code: 0 });
    expect(formatOf(path)).toBe(1);

    const store = await openStore(path);
    const graphs = new CheckpointStore(store);
    // The file has a run with this name already.
    const saved = async () => (await graphs.listByRun("run")).filter(({ id }) => /^c\d+$/.test(id));
    expect((await graphs.listByRun("run of the test")).map(({ id }) => id).toSorted()).toEqual([
      "create",
      "never",
      "undefined",
    ]);
    expect(await store.check()).toMatchObject({ ok: true });
    await using inspector = await openInspector(store, { write: true });
    const label = () => inspector.setLabels({ space: "agentos", run: "run" }, { customer: "acme" });
    const error = await rejection(label());
    expect(error).toMatchObject({ code: "UNSUPPORTED" });
    expect(error.message).toContain("forkpoint migrate");

    // Another process has the file open during the upgrade, and goes on.
    const other = spawn(process.execPath, [
      fileURLToPath(new URL("fixtures/save-many.mjs", import.meta.url)),
      path,
      "300",
    ]);
    const ended = new Promise<number | null>((resolve) => void other.once("exit", resolve));
    while ((await saved()).length < 30) await new Promise((resolve) => void setTimeout(resolve, 5));
    expect(await store.migrate({ dryRun: true })).toEqual({ from: 1, to: 2 });
    expect(await store.migrate()).toEqual({ from: 1, to: 2 });
    expect(await store.migrate()).toEqual({ from: 2, to: 2 });
    expect(await ended).toBe(0);
    await label();
    expect(await store.check()).toMatchObject({ ok: true });
    expect((await saved()).length).toBe(300);
    await store.close();
    expect(formatOf(path)).toBe(2);
  });

  test("has its old format or the new one after an upgrade that was killed, and is whole", async () => {
    for (let n = 0; n < 10; n++) {
      const path = ofFormat1();
      const ended = await run("migrate.mjs", [path], (line, child) => {
        if (line === "open") setTimeout(() => child.kill("SIGKILL"), Math.random() * 40);
      });
      expect(ended.errors).toBe("");
      const store = await openStore(path);
      const { from } = await store.migrate({ dryRun: true });
      expect([1, 2]).toContain(from);
      expect(await store.check()).toMatchObject({ ok: true });
      expect(await store.migrate()).toEqual({ from, to: 2 });
      expect(await store.check()).toMatchObject({ ok: true });
      await store.close();
    }
  });

  test("is upgraded when a store opens it, if the store says so", async () => {
    const path = ofFormat1();
    await saveOne(path, "a", "auto");
    expect(formatOf(path)).toBe(2);
  });

  test("is upgraded by the command line, which asks first", async () => {
    const path = ofFormat1();
    expect(await answer(["migrate", "--dry-run", "--db", path])).toContain("from format 1 to format 2");
    expect((await refused(["migrate", "--db", path], 4)).message).toContain("--yes");
    expect(formatOf(path)).toBe(1);
    expect(await json(["migrate", "--yes", "--db", path])).toEqual({ from: 1, to: 2, dryRun: false });
    expect(formatOf(path)).toBe(2);
    expect(await json(["migrate", "--db", path])).toEqual({ from: 2, to: 2, dryRun: false });
    expect(await answer(["migrate", "--db", path])).toContain("has format 2: there is nothing to upgrade");
  });
});

test.each(kinds)("%s has the newest format, and an upgrade does nothing", async (kind) => {
  await open(place(kind), { migrate: "auto" }).save(checkpoint({ id: "a" }));
  const shared = await openStore(place(kind));
  const { from, to } = await shared.migrate();
  expect(from).toBe(to);
  expect(await shared.migrate({ dryRun: true })).toEqual({ from, to });
  await expect(shared.migrate({ dryRun: 1 as never })).rejects.toThrow("dryRun");
  await shared.close();
  expect(await rejection(shared.migrate())).toMatchObject({ code: "CLOSED" });
});

test.each(kinds.filter((kind) => kind !== "memory"))("%s is not made with migrate: never", async (kind) => {
  const target = place(kind);
  expect(await rejection(openStore(target, { migrate: "never" }))).toMatchObject({
    code: "NOT_FOUND",
    retryable: false,
  });
  if (kind !== "postgres") {
    const path = target.replace(/^jsonl:/, "");
    expect(existsSync(path)).toBe(false);
    expect(readdirSync(join(path, ".."))).toEqual([]);
  }
  await (await openStore(target)).close();
  await (await openStore(target, { migrate: "never" })).close();
});
