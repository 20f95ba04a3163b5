// A save whose outcome is unknown may be stored. A save that was never sent is not stored, and its error says nothing of an
// unknown outcome: the program may give the work to somebody else.
import { CheckpointStore, ForkpointError, openStore } from "forkpoint";
import { expect, it, onTestFinished } from "vitest";
import { checkpoint } from "../../__test__/helpers.js";
import { makeDatabase, onServer, type Server, startProxy } from "./faults.js";

const one = (id: string, runId = "run") => checkpoint({ id, runId });

/** The error of a save. */
async function failure(save: Promise<unknown>): Promise<ForkpointError> {
  const error = await save.then(
    () => new Error("the save did not reject"),
    (error: unknown) => error,
  );
  expect(error).toBeInstanceOf(ForkpointError);
  expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
  return error as ForkpointError;
}

/** True if the error has no outcome at all. */
const known = (error: ForkpointError) => !("outcome" in error) || error.outcome === undefined;

function open(url: string): CheckpointStore {
  const store = new CheckpointStore(url, { busyTimeoutMs: 500 });
  onTestFinished(() => store.close());
  return store;
}

async function found(server: Server, database: string): Promise<string[]> {
  await using store = await openStore(server.url({ database }));
  expect((await store.check()).findings).toEqual([]);
  const agentos = new CheckpointStore(store);
  return (await Promise.all(["run", "another"].map((run) => agentos.listByRun(run)))).flat().map(({ id }) => id);
}

onServer("newest", (server) => {
  it("the server is stopped between two saves", async () => {
    const database = await makeDatabase(server());
    const store = open(server().url({ database }));
    await store.save(one("a"));
    await store.save(one("b"));
    await server().halt();
    try {
      // The first one may have been sent to a connection that was about to be closed.
      await failure(store.save(one("c")));
      for (const id of ["d", "e"]) expect(known(await failure(store.save(one(id)))), id).toBe(true);
      // Of several at once, too: to other runs, and a removal.
      const calls = [store.save(one("f", "another")), store.delete("a"), store.save(one("g"))];
      for (const error of await Promise.all(calls.map(failure))) expect(known(error)).toBe(true);
    } finally {
      await server().start();
    }
    await store.save(one("h"));
    const ids = await found(server(), database);
    expect(ids.filter((id) => id !== "c").toSorted()).toEqual(["a", "b", "h"]);
  });

  it("the server was stopped before the store was opened", async () => {
    const database = await makeDatabase(server());
    await server().halt();
    try {
      const store = open(server().url({ database }));
      for (const id of ["a", "b"]) expect(known(await failure(store.save(one(id)))), id).toBe(true);
    } finally {
      await server().start();
    }
    expect(await found(server(), database)).toEqual([]);
  });

  it("the server was stopped, and the store has noticed before the first save", async () => {
    const database = await makeDatabase(server());
    const store = open(server().url({ database }));
    await store.save(one("a"));
    expect(await store.get("a")).not.toBeNull();
    await server().halt();
    try {
      await failure(store.get("a"));
      await failure(store.save(one("b")));
      for (const id of ["c", "d"]) expect(known(await failure(store.save(one(id)))), id).toBe(true);
    } finally {
      await server().start();
    }
    expect((await found(server(), database)).filter((id) => id !== "b")).toEqual(["a"]);
  });

  it.each(["client", "server"] as const)("nothing arrives from the %s", { timeout: 120_000 }, async (from) => {
    let stalls = false;
    const proxy = await startProxy(server().port, {
      onMessage: (message) => (stalls && message.from === from ? "stall" : "pass"),
    });
    onTestFinished(() => proxy.stop());
    const database = await makeDatabase(server());
    const store = open(server().url({ database, port: proxy.port, query: "?sslmode=disable" }));
    await store.save(one("a"));
    stalls = true;
    // It was sent, and no answer came.
    expect(await failure(store.save(one("b")))).toMatchObject({ outcome: "unknown" });
    // These were not sent: no new connection was made.
    for (const id of ["c", "d"]) expect(known(await failure(store.save(one(id)))), id).toBe(true);
    stalls = false;
    await store.save(one("e"));
    const ids = await found(server(), database);
    expect(ids.filter((id) => id !== "b").toSorted()).toEqual(["a", "e"]);
    // An answer that did not arrive is an answer all the same.
    if (from === "server") expect(ids).toContain("b");
  });

  it("a connection is cut before a commit and the server does not come back", async () => {
    let [cuts, refuses] = [false, false];
    const proxy = await startProxy(server().port, {
      onMessage: ({ from, type }) => {
        if (refuses && type === "start") return "cut";
        if (!cuts || from !== "server") return "pass";
        refuses = true;
        return "cut";
      },
    });
    onTestFinished(() => proxy.stop());
    const database = await makeDatabase(server());
    const store = open(server().url({ database, port: proxy.port, query: "?sslmode=disable" }));
    await store.save(one("a"));
    cuts = true;
    // The server has got the save. Its answer is cut.
    expect(await failure(store.save(one("b")))).toMatchObject({ outcome: "unknown" });
    for (const id of ["c", "d"]) expect(known(await failure(store.save(one(id)))), id).toBe(true);
    cuts = refuses = false;
    await store.save(one("e"));
    expect((await found(server(), database)).filter((id) => id !== "b").toSorted()).toEqual(["a", "e"]);
  });
});
