// A save whose outcome is unknown may be stored. A save that was never sent is not stored, and its error says nothing of an
// unknown outcome: the program may give the work to somebody else.
import { CheckpointStore, type ForkpointError, openStore } from "forkpoint";
import { expect, it } from "vitest";
import { checkpoint, failure as rejected, open } from "../../__test__/helpers.js";
import { behindProxy, makeDatabase, type Message, onServer, type Server, type Verdict } from "./faults.js";

const one = (id: string, runId = "run") => checkpoint({ id, runId });

/** The error of a save. */
async function failure(save: Promise<unknown>): Promise<ForkpointError> {
  const error = await rejected(save, "UNAVAILABLE");
  expect(error.retryable).toBe(true);
  return error;
}

/** True if the error has no outcome at all. */
const known = (error: ForkpointError) => !("outcome" in error) || error.outcome === undefined;

const opened = (url: string) => open(url, { busyTimeoutMs: 500 });

async function found(server: Server, database: string): Promise<string[]> {
  await using store = await openStore(server.url({ database }));
  expect((await store.check()).findings).toEqual([]);
  const agentos = new CheckpointStore(store);
  return (await Promise.all(["run", "another"].map((run) => agentos.listByRun(run)))).flat().map(({ id }) => id);
}

/** Saves that were never sent. Their errors say so. */
async function neverSent(store: CheckpointStore, ...ids: string[]): Promise<void> {
  for (const id of ids) expect(known(await failure(store.save(one(id)))), id).toBe(true);
}

onServer("newest", (server) => {
  it.each<[when: string, saved: string[], maybe: string[], first: (store: CheckpointStore) => Promise<unknown>]>([
    // The first save may have been sent to a connection that was about to be closed.
    ["between two saves", ["a", "b"], ["c"], (store) => failure(store.save(one("c")))],
    ["before the store was opened", [], [], async () => {}],
    [
      "and the store has noticed before the first save",
      ["a"],
      ["c"],
      async (store) => {
        await failure(store.get("a"));
        await failure(store.save(one("c")));
      },
    ],
  ])("the server is stopped %s", async (_, saved, maybe, first) => {
    const database = await makeDatabase(server());
    const start = () => opened(server().url({ database }));
    const before = saved.length > 0 ? start() : undefined;
    for (const id of saved) await before!.save(one(id));
    if (before !== undefined) expect(await before.get("a")).not.toBeNull();
    await server().halt();
    const store = before ?? start();
    try {
      await first(store);
      await neverSent(store, "d", "e");
      // Of several at once, too: to other runs, and a removal.
      const calls = [store.save(one("f", "another")), store.delete("a"), store.save(one("g"))];
      for (const error of await Promise.all(calls.map(failure))) expect(known(error)).toBe(true);
    } finally {
      await server().start();
    }
    await store.save(one("h"));
    const ids = await found(server(), database);
    expect(ids.filter((id) => !maybe.includes(id)).toSorted()).toEqual([...saved, "h"]);
  });

  /** A network that stalls or cuts when it is told to, and then makes no connection. */
  it.each<[what: string, judge: (message: Message) => Verdict, arrives: boolean]>([
    ["nothing arrives from the client", ({ from }) => (from === "client" ? "stall" : "pass"), false],
    // An answer that did not arrive is an answer all the same.
    ["nothing arrives from the server", ({ from }) => (from === "server" ? "stall" : "pass"), true],
    [
      "the connection is cut, and the server does not come back",
      ({ from, type }) => (type === "start" || from === "server" ? "cut" : "pass"),
      false,
    ],
  ])("%s", { timeout: 120_000 }, async (_, judge, arrives) => {
    let fails = false;
    const onMessage = (message: Message) => (fails ? judge(message) : "pass");
    const { database, url } = await behindProxy(server(), { onMessage });
    const store = opened(url);
    await store.save(one("a"));
    fails = true;
    // It was sent, and no answer came.
    expect(await failure(store.save(one("b")))).toMatchObject({ outcome: "unknown" });
    // No new connection was made.
    await neverSent(store, "c", "d");
    fails = false;
    await store.save(one("e"));
    const ids = await found(server(), database);
    expect(ids.filter((id) => id !== "b").toSorted()).toEqual(["a", "e"]);
    if (arrives) expect(ids).toContain("b");
  });
});
