// Tests the calls that upgrade a database, and the option `migrate`. There is one format so far: `engine/tests/suite/sqlite/formats.rs`
// and the unit tests of `schema.rs` prove the upgrade with a made-up next one.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { openStore } from "forkpoint";
import { expect, test } from "vitest";
import { answer, json } from "./cli/run.js";
import { checkpoint, folder, kinds, open, place, rejection } from "./helpers.js";

test("the command line says that there is nothing to upgrade", async () => {
  const path = join(folder(), "agent.db");
  await open(path).save(checkpoint({ id: "a" }));
  for (const options of [[], ["--dry-run"], ["--yes"]]) {
    expect(await answer(["migrate", ...options, "--db", path])).toContain("has format 1: there is nothing to upgrade");
    expect(await json(["migrate", ...options, "--db", path])).toMatchObject({ from: 1, to: 1 });
  }
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
