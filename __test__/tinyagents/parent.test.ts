// Tests `expectedParent`: if two writers continue a thread, one of them is refused.
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failure, folder, kinds, together } from "../helpers.js";
import { type Kind, at, chain, expectSound, idsOf, make, pair } from "./helpers.js";

describe.each(kinds)("on %s", (kind: Kind) => {
  const put = (checkpointId: string, parentCheckpointId: string | null, state: unknown = checkpointId) => ({
    threadId: "t",
    checkpointId,
    parentCheckpointId,
    state,
  });

  it("a checkpoint is put if its parent is the latest of its namespace", async () => {
    const store = make(kind, { expectedParent: true });
    await chain(store, 4);
    await chain(store, 3, { namespace: ["sub"] });
    await chain(store, 2, { threadId: "u" });
    await chain(store, 2, { name: "d", namespace: ["other"] });
    expect(idsOf(await store.list("t", { namespace: [] }))).toEqual(["c0", "c1", "c2", "c3"]);
  });

  it("otherwise put rejects with CONFLICT and stores nothing", async () => {
    const store = make(kind, { expectedParent: true });
    await failure(store.put(put("a", "unknown")), "CONFLICT");
    expect(await store.listThreads()).toEqual([]);
    await chain(store, 3);
    for (const parent of [null, "c0", "c1", "unknown", "c3"]) {
      const error = await failure(store.put(put("c3", parent)), "CONFLICT");
      expect(error.message).toContain('checkpoint "c3": thread "t"');
      expect(error.message).toContain("another writer has continued");
      expect(error.retryable).toBe(false);
    }
    expect(idsOf(await store.list("t"))).toEqual(["c0", "c1", "c2"]);
    const sub = { ...put("s", "c2"), namespace: ["sub"] };
    expect((await failure(store.put(sub), "CONFLICT")).message).toContain('namespace ["sub"]');
  });

  it("the option of a put overrides the store's", async () => {
    const strict = make(kind, { expectedParent: true });
    await strict.put(put("a", "unknown"), { expectedParent: false });
    await strict.put(put("b", null), { expectedParent: false });
    await failure(strict.put(put("c", null)), "CONFLICT");
    await failure(strict.put(put("c", null), {}), "CONFLICT");
    await failure(strict.put(put("c", null), { expectedParent: undefined! }), "CONFLICT");
    const lax = make(kind);
    await lax.put(put("a", "unknown"));
    await failure(lax.put(put("b", null), { expectedParent: true }), "CONFLICT");
    await lax.put(put("b", "a"), { expectedParent: true });
    expect(idsOf(await lax.list("t"))).toEqual(["a", "b"]);
  });

  it("holds for an id that was put before", async () => {
    const store = make(kind, { expectedParent: true });
    await chain(store, 3);
    for (const parent of [null, "c0", "c1"]) await failure(store.put(put("c1", parent, "again")), "CONFLICT");
    expect((await store.get("t", "c1"))!.state).toBe(1);
    await store.put(put("c1", "c2", "again"));
    expect((await store.get("t", "c1"))!.state).toBe("again");
    // The latest checkpoint is now the second one of "c1".
    await failure(store.put(put("d", "c2")), "CONFLICT");
    await store.put(put("d", "c1"));
    await store.put(put("d", "d", "own parent"));
    await store.put(put("d", "d", "and again"));
    await store.put(put("e", "d"));
    expect(idsOf(await store.list("t"))).toEqual(["c0", "c1", "c2", "c1", "d", "d", "d", "e"]);
    expect(idsOf(await store.stateHistory("t"))).toEqual(["e", "d"]);
  });

  it("goes on where a thread was pruned, cut back or deleted", async () => {
    const store = make(kind, { expectedParent: true });
    await chain(store, 4);
    await store.prune("t", 1, { protect: "dependencies" });
    await store.put(put("c4", "c3"));
    await store.deleteCheckpoints("t", ["c4"]);
    await failure(store.put(put("c5", "c4")), "CONFLICT");
    await store.put(put("c5", "c3"));
    await store.deleteThread("t");
    await failure(store.put(put("c6", "c5")), "CONFLICT");
    await store.put(put("c6", null));
  });

  it("of two stores that continue a thread at once, one is refused", async () => {
    const [one, two] = await pair(kind);
    await chain(one, 2);
    for (let round = 0; round < 20; round++) {
      const latest = (await one.get("t"))!.checkpointId;
      const ends = await Promise.allSettled(
        [one, two].map((store, n) => store.put(put(`${round}-${n}`, latest), { expectedParent: true })),
      );
      expect(ends.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    }
    expect(await one.list("t")).toHaveLength(22);
    expect(await one.stateHistory("t")).toHaveLength(22);
  });

  it("parallel puts of one store that each continue the one before are all stored", async () => {
    const store = make(kind, { expectedParent: true });
    await Promise.all(Array.from({ length: 100 }, (_, n) => store.put(put(`c${n}`, n === 0 ? null : `c${n - 1}`))));
    expect(await store.stateHistory("t")).toHaveLength(100);
  });
});

it("two processes continue one thread, and no checkpoint of either is lost or doubled", async () => {
  const file = join(folder(), "threads.db");
  await together(
    "thread.mjs",
    ["a", "b"].map((writer) => [file, writer, "40"]),
  );
  const store = at(file);
  const history = await store.stateHistory("shared");
  expect(history).toHaveLength(80);
  const order = idsOf(history).toReversed();
  expect(idsOf(await store.list("shared"))).toEqual(order);
  expect(history[0]!.state).toEqual(order);
  for (const writer of ["a", "b"]) {
    const expected = Array.from({ length: 40 }, (_, n) => `${writer}${n}`);
    expect(order.filter((id) => id.startsWith(writer))).toEqual(expected);
  }
  await expectSound(store);
});
