// Tests stores that are opened with readOnly: true.
// @module-tag threads
import { chmodSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { CheckpointStore, type Store, openStore } from "forkpoint";
import { describe, expect, onTestFinished, test } from "vitest";
import { contentOf, fill, opened } from "./contents.js";
import { checkpoint, folder, kinds, place, rejection } from "./helpers.js";

async function look(target: string): Promise<Store> {
  const store = await openStore(target, { readOnly: true });
  onTestFinished(() => store.close());
  return store;
}

describe.each(kinds.filter((kind) => kind !== "memory"))("a store of %s that is only looked at", (kind) => {
  test("answers everything, sees what others save, and refuses every change", async () => {
    const target = place(kind);
    const store = await opened(target);
    await fill(store);
    const before = await contentOf(store);
    const looking = await look(target);
    expect(await contentOf(looking)).toEqual(before);
    const graphs = new CheckpointStore(looking);
    expect((await graphs.list("graph-a-1700000000000")).length).toBeGreaterThan(20);
    expect(await looking.check()).toMatchObject({ ok: true });
    for (const call of [
      () => graphs.save(checkpoint()),
      () => graphs.delete("g1"),
      () => graphs.clear("run-1"),
      () => graphs.fork("g4"),
      () => looking.prune({ keepLastN: 1 }),
      () => looking.vacuum(),
      () => looking.lease({ space: "agentos", run: "run-1" }),
    ]) {
      const error = await rejection(call());
      expect(error).toMatchObject({ code: "UNSUPPORTED", message: expect.stringContaining("readOnly") });
    }
    expect(await looking.prune({ keepLastN: 1, dryRun: true })).toMatchObject({ removed: expect.any(Number) });
    await new CheckpointStore(store).save(checkpoint({ id: "later", runId: "later" }));
    expect(await graphs.get("later")).toMatchObject({ id: "later" });
    await new CheckpointStore(store).delete("later");
    expect(await contentOf(store)).toEqual(before);
  });
});

test.each(kinds.filter((kind) => kind === "postgres"))(
  "a schema of %s without tables is not found, and stays so",
  async (kind) => {
    const target = place(kind);
    for (let n = 0; n < 2; n++) {
      expect(await rejection(openStore(target, { readOnly: true }))).toMatchObject({ code: "NOT_FOUND" });
    }
  },
);

test("a database of mode 0444 is read, and a missing one is not made", async () => {
  const path = folder();
  const store = await openStore(join(path, "agent.db"));
  await fill(store);
  const before = await contentOf(store);
  await store.close();
  chmodSync(join(path, "agent.db"), 0o444);
  const bytes = readFileSync(join(path, "agent.db"));
  expect(await contentOf(await look(join(path, "agent.db")))).toEqual(before);
  expect(readFileSync(join(path, "agent.db"))).toEqual(bytes);
  expect(readdirSync(path)).toEqual(["agent.db"]);
  for (const target of [join(path, "none.db"), `jsonl:${join(path, "none")}`]) {
    expect(await rejection(openStore(target, { readOnly: true }))).toMatchObject({ code: "NOT_FOUND" });
  }
  expect(readdirSync(path)).toEqual(["agent.db"]);
});
