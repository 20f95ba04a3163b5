// The limits of a server: its connections, and the size of a payload.
import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { CheckpointStore, openStore } from "forkpoint";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { checkpoint, rejection, open } from "../../__test__/helpers.js";
import { emptyUrl, long, onServer, startServer } from "./faults.js";
import { inMemory } from "./server.mjs";

it("a server without a free connection", { timeout: 120_000 }, async () => {
  const settings = { max_connections: 8, superuser_reserved_connections: 2 };
  const server = (await startServer({ version: "newest", ...inMemory, settings }))!;
  onTestFinished(() => server.stop());
  await server.query("CREATE ROLE agent LOGIN; GRANT CREATE ON DATABASE postgres TO agent");
  const url = server.url({ user: "agent" });
  const store = await openStore(url);
  onTestFinished(() => store.close());
  const agentos = new CheckpointStore(store);
  await agentos.save(checkpoint({ id: "before", runId: "run" }));

  const others: any[] = [];
  onTestFinished(async () => void (await Promise.all(others.map((one) => one.end()))));
  const take = async () => {
    const one = new pg.Client({ connectionString: url });
    one.on("error", () => {});
    await one.connect();
    others.push(one);
  };
  const full = await rejection(
    (async () => {
      for (;;) await take();
    })(),
  );
  expect(full.code).toBe("53300");

  const error = await rejection(openStore(url, { busyTimeoutMs: 300 }));
  expect(error).toMatchObject({ code: "UNAVAILABLE", retryable: true });
  expect(error.message).toMatch(/53300.*(pooler|max_connections)/);
  // A save through a connection that is open already goes on.
  await agentos.save(checkpoint({ id: "meanwhile", runId: "run" }));

  // An open that waits goes on as soon as there is room.
  const waiting = openStore(url);
  await sleep(300);
  for (const one of others.splice(0, 4)) await one.end();
  const opened = await waiting;
  expect((await new CheckpointStore(opened).listByRun("run")).map(({ id }) => id).toSorted()).toEqual([
    "before",
    "meanwhile",
  ]);
  await opened.close();
  await (await openStore(url, { busyTimeoutMs: 5_000 })).close();
});

onServer("newest", (server) => {
  /** Text of this many bytes that hardly gets smaller: six bits of each byte are random. */
  const text = (bytes: number) => {
    const parts: string[] = [];
    for (let left = bytes; left > 0; left -= 1 << 24)
      parts.push(randomBytes(Math.ceil((Math.min(left, 1 << 24) * 3) / 4)).toString("base64"));
    return parts.join("");
  };
  const holding = (id: string, scratch: string) =>
    checkpoint({ id, runId: id, state: { input: {}, scratch, artifacts: {}, diagnostics: {} as any } });

  // The long form needs several gigabytes of memory.
  it.runIf(long)("a payload of more than 256 MiB is refused, and the store goes on", { timeout: 600_000 }, async () => {
    const options = { cacheBytes: 0, maxPayloadBytes: 512 << 20 };
    const store = open(await emptyUrl(server()), options);
    const nearly = holding("nearly", text(320 << 20));
    await store.save(nearly);
    const error = await rejection(store.save(holding("large", text(400 << 20))));
    expect(error).toMatchObject({ code: "INVALID_ARGUMENT", retryable: false });
    expect(error.message).toMatch(/"large".*268435456/);
    await store.save(holding("small", "x"));
    expect(await store.get("large")).toBeNull();
    expect(await store.get("small")).not.toBeNull();
    // An assertion about equality would print both.
    expect((await store.get("nearly"))?.state.scratch === nearly.state.scratch).toBe(true);
    expect((await store.check()).findings).toEqual([]);
  });
});
