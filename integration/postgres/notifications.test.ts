// Processes that wait for each other are notified by the server, and look only in case of a fault.
import { fileURLToPath } from "node:url";
import { WorkflowCheckpointStore } from "forkpoint/agentium";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { Program } from "../../__test__/faults/faults.js";
import { emptyUrl, makeDatabase, onServer, startPooler } from "./faults.js";

const fixture = fileURLToPath(new URL("fixtures/exclusive.mjs", import.meta.url));

/** The timer of a program that is notified: of one that waits, and of one that works. */
const [waits, works] = [{ timer: 1_000 }, { timer: 2_000 }];

/** Starts a program that works on the run alone. */
function start(url: string, whenBusy = "reject", ...rest: string[]) {
  const program = new Program([fixture, url, whenBusy, ...rest]);
  return Object.assign(program, {
    /** Waits until the program has said this so many times. */
    async says(line: object, times = 1): Promise<void> {
      const wanted = JSON.stringify(line);
      while (program.lines.filter((said) => said === wanted).length < times)
        await program.until(program.lines.length + 1);
    },
  });
}

const began = { began: true };

onServer("newest", (server) => {
  const on = (url: string, sql: string) => server().query(sql, undefined, { database: new URL(url).pathname.slice(1) });

  /** The connections of stores on this database. */
  const connections = (url: string): Promise<Array<{ pid: number; query: string; waits: boolean }>> =>
    on(
      url,
      `SELECT pid, query, wait_event_type = 'Lock' AS waits FROM pg_stat_activity
       WHERE application_name = 'forkpoint' AND datname = current_database()`,
    );
  const listening = async (url: string) => (await connections(url)).filter(({ query }) => query.startsWith("LISTEN "));

  it("a process that waits begins when another one ends, without looking", async () => {
    const url = await emptyUrl(server());
    const holder = start(url);
    await holder.says(began);
    const [waiter, next] = [start(url, "enqueue", "blind"), start(url, "enqueue", "blind")];
    for (const one of [waiter, next]) await one.says(waits);
    holder.tell("end");
    await Promise.race([waiter.says(began), next.says(began)]);
    for (const one of [waiter, next]) one.tell("end");
    // Both end by themselves, although they listen.
    for (const one of [holder, waiter, next]) await one.success();
    expect([waiter, next].map(({ said }) => said.at(-1))).toEqual([{ ended: true }, { ended: true }]);
  });

  it.each(["stop", "interrupt"] as const)(
    "a process that works hears of a request to %s, without looking",
    async (kind) => {
      const url = await emptyUrl(server());
      const holder = start(url, "reject", "blind");
      await holder.says(works);
      await using store = new WorkflowCheckpointStore(url);
      if (kind === "stop") expect(await store.stop("run", { by: "Ana" })).toMatchObject({ outcome: "stopped" });
      else await store.exclusive("run", () => {}, { whenBusy: kind, by: "Ana" });
      await holder.success();
      expect(holder.said).toContainEqual({ stopped: expect.objectContaining({ kind, by: "Ana" }) });
    },
  );

  it("a process that has lost its connection looks, and is notified again after the server's restart", async () => {
    const url = await emptyUrl(server());
    const holder = start(url);
    await holder.says(began);
    const waiter = start(url, "enqueue", "blind");
    await waiter.says(waits);
    await server().halt();
    await server().start();
    while ((await listening(url)).length === 0);
    const listen = (await listening(url))[0]!.query;
    const run = Buffer.from("agentium\0run").toString("hex");
    for (const before = waiter.lines.length; !waiter.said.slice(before).some(({ timer }) => timer === waits.timer);) {
      // The program may print its line before the query has ended.
      const known = waiter.lines.length;
      await on(url, `${listen.replace("LISTEN", "NOTIFY")}, '${run}'`);
      await waiter.until(known + 1);
    }
    holder.tell("end");
    await waiter.says(began);
    waiter.tell("end");
    for (const one of [holder, waiter]) await one.success();
    expect(waiter.said.at(-1)).toEqual({ ended: true });
  });

  it("a release is not missed while the connection is lost", async () => {
    const url = await emptyUrl(server());
    const holder = start(url);
    await holder.says(began);
    const waiter = start(url, "enqueue", "blind");
    await waiter.says(waits);
    for (const { pid } of await listening(url)) await server().query("SELECT pg_terminate_backend($1, 10000)", [pid]);
    holder.tell("end");
    await waiter.says(began);
    waiter.tell("end");
    for (const one of [holder, waiter]) await one.success();
    expect(waiter.said.at(-1)).toEqual({ ended: true });
  });

  it("a release that begins before a request is stored, and ends after it, is not missed", async () => {
    const url = await emptyUrl(server());
    const holder = start(url);
    await holder.says(began);
    const blocker = new pg.Client({ connectionString: url });
    await blocker.connect();
    onTestFinished(() => blocker.end());
    // Only the release writes to this table, after it has looked for requests.
    await blocker.query("BEGIN; LOCK TABLE forkpoint.batch IN SHARE MODE");
    const blocked = async () => (await connections(url)).filter(({ waits }) => waits).length;
    holder.tell("end");
    while ((await blocked()) < 1);
    const waiter = start(url, "enqueue", "blind");
    // The request waits for the release.
    while ((await blocked()) < 2);
    await blocker.query("COMMIT");
    await waiter.says(began);
    waiter.tell("end");
    for (const one of [holder, waiter]) await one.success();
    expect(waiter.said.at(-1)).toEqual({ ended: true });
  });

  it("behind a pooler, processes look, and notify others", async (test) => {
    const pooler = await startPooler(server());
    // Only on a machine without pgbouncer, which is an error in CI.
    if (pooler === undefined) return test.skip();
    onTestFinished(() => pooler.stop());
    const database = await makeDatabase(server());
    const [url, direct] = [server().url({ database, port: pooler.port }), server().url({ database })];
    const holder = start(url);
    await holder.says({ timer: 400 });
    const blind = start(direct, "enqueue", "blind");
    await blind.says(waits);
    const waiter = start(url, "enqueue");
    await waiter.says({ timer: 250 });
    expect(await listening(direct)).toHaveLength(1);
    holder.tell("end");
    await blind.says(began);
    blind.tell("end");
    await waiter.says(began);
    await using store = new WorkflowCheckpointStore(url);
    expect(await store.stop("run")).toMatchObject({ outcome: "stopped" });
    for (const one of [holder, blind, waiter]) await one.success();
    expect([...holder.said, ...waiter.said]).not.toContainEqual(waits);
    expect([...holder.said, ...waiter.said]).not.toContainEqual(works);
  });

  it("only a release for which a process waits, and a request, send a notification", async () => {
    const url = await emptyUrl(server());
    await using store = new WorkflowCheckpointStore<object>(url);
    await using lease = await store.lease({ space: "agentium", run: "run" });
    const waiter = store.exclusive("run", () => {}, { whenBusy: "enqueue" });
    while ((await listening(url)).length === 0);
    const listen = (await listening(url))[0]!.query;
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    onTestFinished(() => client.end());
    const heard: string[] = [];
    const ended = new Promise<void>((resolve) => {
      client.on("notification", ({ payload }: { payload: string }) => {
        if (payload === "end") resolve();
        // The store also tests whether it is notified.
        else if (!payload.startsWith("test ")) heard.push(payload);
      });
    });
    await client.query(listen);
    await lease.release();
    await waiter;
    await store.exclusive("other", async () => {
      await store.save({ id: "a", runId: "other", stepIndex: 0, stepName: "step", state: {}, createdAt: 1 });
    });
    await store.clear("other");
    const long = "x".repeat(4_000);
    await using another = await store.lease({ space: "agentium", run: long });
    const next = store.exclusive(long, () => {}, { whenBusy: "enqueue" });
    while (heard.length < 2) await client.query("SELECT");
    await another.release();
    await next;
    await client.query(`${listen.replace("LISTEN", "NOTIFY")}, 'end'`);
    await ended;
    const release = Buffer.from("agentium\0run").toString("hex");
    // The name of the last run is too long for a notification.
    expect(heard).toEqual([release, "", ""]);
  });

  it("a store that is closed listens no more", async () => {
    const url = await emptyUrl(server());
    const store = new WorkflowCheckpointStore(url);
    const other = new WorkflowCheckpointStore(url);
    const stopping = new AbortController();
    const lease = await other.lease({ space: "agentium", run: "run" });
    const waiter = store.exclusive("run", () => {}, { whenBusy: "enqueue", signal: stopping.signal });
    while ((await listening(url)).length === 0);
    stopping.abort();
    await expect(waiter).rejects.toThrow("aborted");
    await lease.release();
    expect(await listening(url)).not.toEqual([]);
    await store.close();
    await other.close();
    // The server ends a process soon after its connection is closed.
    while ((await connections(url)).length > 0);
    expect(await listening(url)).toEqual([]);
  });
});
