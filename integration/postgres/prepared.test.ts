// Statements stay prepared on a connection to the server itself, and never behind a pooler.
import { emptyCheckpoint, uuid6 } from "@langchain/langgraph-checkpoint";
import { ForkpointSaver } from "forkpoint/langgraph";
import { expect, it, onTestFinished } from "vitest";
import { makeDatabase, onServer, startPooler, startProxy } from "./faults.js";

const thread = (thread_id: string) => ({ configurable: { thread_id, checkpoint_ns: "" } });

/** The settings of a connection that keeps statements. */
const settings = `SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off;
  SET plan_cache_mode = force_generic_plan`;

/** The text of the statement that a message parses, and the numbers of its parameters' types. */
function statementOf(bytes: Buffer) {
  const name = bytes.indexOf(0, 5);
  const end = bytes.indexOf(0, name + 1);
  const types = Array.from({ length: bytes.readInt16BE(end + 1) }, (_, at) => bytes.readInt32BE(end + 3 + 4 * at));
  return { text: bytes.toString("utf8", name + 1, end), types };
}

/** The name of the statement that a message parses, or that it binds. Empty: the unnamed one. */
function nameOf(type: string, bytes: Buffer): string {
  // A bind names a portal first. The store's portals have no name.
  const at = type === "B" ? 6 : 5;
  return bytes.toString("latin1", at, bytes.indexOf(0, at));
}

onServer("newest", (server) => {
  /** Opens a saver whose messages are counted. */
  async function watched({ port = server().port, query = "" } = {}) {
    const counted = { parsed: 0, prepared: 0, used: 0 };
    const spoil = { next: false };
    const statements: ReturnType<typeof statementOf>[] = [];
    const once: ReturnType<typeof statementOf>[] = [];
    const proxy = await startProxy(port, {
      onMessage({ from, type, bytes }) {
        if (from !== "client" || !["P", "B"].includes(type)) return;
        const name = nameOf(type, bytes);
        if (type === "P") counted[name === "" ? "parsed" : "prepared"] += 1;
        if (type === "P") (name === "" ? once : statements).push(statementOf(bytes));
        if (type === "B" && name !== "") {
          counted.used += 1;
          if (spoil.next) bytes[6] = "x".charCodeAt(0);
          spoil.next = false;
        }
      },
    });
    const database = await makeDatabase(server());
    const saver = new ForkpointSaver(server().url({ database, port: proxy.port, query: `?sslmode=disable${query}` }));
    onTestFinished(async () => {
      await saver.close();
      await proxy.stop();
    });
    let step = 0;
    const save = async () => {
      const values = { channel_values: { step: ++step }, channel_versions: { step } };
      const checkpoint = { ...emptyCheckpoint(), ...values, id: uuid6(step) };
      await saver.put(thread("a"), checkpoint, { source: "loop", step, parents: {} }, { step });
    };
    const latest = async () => (await saver.getTuple(thread("a")))?.checkpoint.channel_values["step"];
    /** Saves and reads several times, until everything that is prepared has been. */
    const work = async () => {
      for (let n = 0; n < 5; n++) {
        await save();
        expect(await latest()).toBe(step);
      }
    };
    return { counted, spoil, statements, once, saver, database, save, latest, work };
  }

  it("nothing is parsed any more after a few calls", async () => {
    const { counted, work } = await watched();
    await work();
    Object.assign(counted, { parsed: 0, prepared: 0, used: 0 });
    await work();
    expect(counted).toMatchObject({ parsed: 0, prepared: 0 });
    // Of a save, the lock, the rows and the status. Of a read, the row, the payload and the writes.
    expect(counted.used).toBe(5 * (3 + 3));
  });

  it.each(["&prepare=never", "&pgbouncer=true"])("nothing is prepared with %s", async (query) => {
    const { counted, work } = await watched({ query });
    await work();
    expect(counted).toMatchObject({ prepared: 0, used: 0 });
  });

  it("nothing is prepared behind a pooler", async (test) => {
    const pooler = await startPooler(server());
    // Only on a machine without pgbouncer, which is an error in CI.
    if (pooler === undefined) return test.skip();
    onTestFinished(() => pooler.stop());
    const { counted, work } = await watched({ port: pooler.port });
    await work();
    expect(counted).toMatchObject({ prepared: 0, used: 0 });
  });

  it.each(["save", "latest"] as const)(
    "a statement that a %s has lost costs no call, and none is prepared again",
    async (name) => {
      const { counted, spoil, work, ...calls } = await watched();
      await work();
      spoil.next = true;
      await calls[name]();
      expect(spoil.next).toBe(false);
      Object.assign(counted, { prepared: 0, used: 0 });
      await work();
      expect(counted).toMatchObject({ prepared: 0, used: 0 });
    },
  );

  it("statements are prepared again when the tables have changed", async () => {
    const { counted, database, work } = await watched();
    await work();
    // A plan that returned bytes must not return another type, although the client sees no difference.
    await server().query(
      "CREATE DOMAIN bytes AS bytea; ALTER TABLE forkpoint.checkpoint ALTER COLUMN meta TYPE bytes",
      [],
      { database },
    );
    counted.prepared = 0;
    await work();
    expect(counted.prepared).toBeGreaterThan(0);
    counted.prepared = 0;
    await work();
    expect(counted.prepared).toBe(0);
  });

  it("no plan that is kept reads a whole table, also if the tables were empty when it was made", async () => {
    const { statements, database, work } = await watched();
    await work();
    expect(statements.length).toBeGreaterThan(4);
    const tables = ["checkpoint", "payload", "lineage", "write"];
    for (const [n, { text, types }] of statements.entries()) {
      const named = types.map((type) => `${type}::oid::regtype`).join(", ");
      const [{ types: list }] = await server().query(`SELECT concat_ws(', ', ${named || "NULL"}) AS types`);
      const prepare = `PREPARE s${n} ${list === "" ? "" : `(${list})`} AS ${text}`;
      const values = types.length === 0 ? "" : `(${types.map(() => "NULL").join(", ")})`;
      const sql = `${settings}; ${prepare}; EXPLAIN EXECUTE s${n} ${values}`;
      const rows: Record<string, string>[] = await server().query(sql, undefined, { database });
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      expect(plan).toContain("cost=");
      for (const table of tables) expect(plan).not.toContain(`Seq Scan on ${table}`);
      expect(plan).not.toMatch(/Hash Join|Merge Join|JIT/);
    }
  });

  it("a check looks up its payloads, however many rows the server expects", async () => {
    const { once, saver, database, save } = await watched();
    await save();
    expect(await saver.check()).toMatchObject({ ok: true });
    const found = once.filter(({ text }) => text.includes("RECURSIVE chain") && text.includes("unnest($1)"));
    expect(found).not.toEqual([]);
    const many = `'{${Array.from({ length: 1_000 }, (_, n) => n).join(",")}}'`;
    const sql = `PREPARE chains (bigint[], bigint[]) AS ${found[0]!.text}; EXPLAIN EXECUTE chains (${many}, '{}')`;
    const rows: Record<string, string>[] = await server().query(sql, undefined, { database });
    const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
    expect(plan).toContain("payload_pkey");
    expect(plan).not.toMatch(/Hash Join|Merge Join|Seq Scan on payload/);
  });
});
