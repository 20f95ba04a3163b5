/** Reads the tables of a PostgresSaver, on a connection of the saver's own pool. */

import type { SerializerProtocol } from "@langchain/langgraph-checkpoint";
import { ForkpointError, isOwnError, quote, readingArgument, show, textOf, typeError } from "../../bridge/errors.js";
import { whole } from "../../bridge/bytes.js";
import type { Part } from "../../bridge/wire.js";
import type { CheckpointRef } from "./config.js";
import { dump } from "./serde.js";
import type { Source, SourceCheckpoint, SourceThread, SourceWrite } from "./import-source.js";

/** The number of checkpoints in one fetch, without their channels. */
const ROWS = 128;

/** A page ends after this number of bytes of channels and writes. */
const PAGE_BYTES = 2 << 20;

interface Client {
  query(sql: string, values?: unknown[]): Promise<{ rows: any[] }>;
  release(error?: boolean): void;
  on(event: "error", listener: () => void): unknown;
  off(event: "error", listener: () => void): unknown;
}

interface PostgresSaverFields {
  pool: { connect(): Promise<Client> };
  options?: { schema?: string };
}

/** A checkpoint, or a thread without checkpoints. */
interface Row {
  thread: string;
  namespace: string;
  id: string | null;
  parent: string | null;
  checkpoint: string;
  metadata: string;
  size: number;
}

export async function openPostgresSaver(serde: SerializerProtocol, from: unknown): Promise<PostgresSaver> {
  const { pool, schema, connects } = readingArgument("the saver to import", () => {
    const given = (typeof from === "object" && from !== null ? from : {}) as Partial<PostgresSaverFields>;
    const { pool, options } = given;
    return { pool, schema: options?.schema ?? "public", connects: typeof pool?.connect === "function" };
  });
  if (pool === undefined || !connects || typeof schema !== "string") {
    throw typeError(`the saver to import must be a PostgresSaver of LangGraph, and is ${show(from)}`);
  }
  const client = await pool.connect().catch((error: unknown) => {
    throw failed(error);
  });
  const saver = new PostgresSaver(serde, client, schema);
  try {
    await saver.begin();
  } catch (error) {
    await saver.close();
    throw error;
  }
  return saver;
}

export class PostgresSaver implements Source {
  readonly #serde: SerializerProtocol;
  readonly #client: Client;
  readonly #schema: string;
  #broken = false;
  #cursors = 0;
  /** Settles when the last query has ended. A client runs one query at a time. */
  #last: Promise<unknown> = Promise.resolve();

  constructor(serde: SerializerProtocol, client: Client, schema: string) {
    this.#serde = serde;
    this.#client = client;
    this.#schema = schema;
  }

  async begin(): Promise<void> {
    // Ignore a connection error between two queries, because the next query fails too.
    this.#client.on("error", ignore);
    await this.#query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    // The transaction is idle while the store saves a page, so switch the server's timeout off.
    await this.#query("SET LOCAL idle_in_transaction_session_timeout = 0");
    const tables = ["checkpoints", "checkpoint_blobs", "checkpoint_writes"];
    const found = await this.#query(
      "SELECT count(*)::int AS n FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NOT NULL",
      [tables.map((name) => this.#table(name))],
    );
    if (found[0].n === tables.length) return;
    throw new ForkpointError(
      "UNSUPPORTED",
      `the schema ${quote(this.#schema)} does not have the tables of LangGraph's PostgresSaver: give the saver that wrote them`,
    );
  }

  /** Ends the snapshot and gives the connection back to the pool. */
  async close(): Promise<void> {
    if (!this.#broken) await this.#query("ROLLBACK").catch(() => {});
    this.#client.off("error", ignore);
    this.#client.release(this.#broken);
  }

  async threads(of?: readonly string[]): Promise<string[]> {
    const where = of === undefined ? "" : "WHERE thread_id = ANY ($1::text[])";
    const rows = await this.#query(
      `SELECT thread FROM (
         SELECT thread_id AS thread, CASE WHEN checkpoint_ns = '' THEN checkpoint_id ELSE '' END AS id
         FROM ${this.#table("checkpoints")} ${where}
         UNION ALL SELECT DISTINCT thread_id, '' FROM ${this.#table("checkpoint_writes")} ${where}) AS found
       GROUP BY thread ORDER BY max(id COLLATE "C"), thread COLLATE "C"`,
      of === undefined ? [] : [of],
    );
    return rows.map(({ thread }) => thread);
  }

  async *pages(threads: string[]): AsyncGenerator<SourceThread[]> {
    let rows: Row[] = [];
    let size = 0;
    for await (const row of this.#rows(threads)) {
      // End the page only when the next row is read. That row shows whether the thread ends with the page.
      if (rows.length > 0 && (rows.length === ROWS || size + row.size > PAGE_BYTES)) {
        yield await this.#page(rows, row.thread);
        [rows, size] = [[], 0];
      }
      rows.push(row);
      size += row.size;
    }
    if (rows.length > 0) yield await this.#page(rows, undefined);
  }

  async writes({ threadId, namespace, id }: CheckpointRef): Promise<SourceWrite[]> {
    const found = await this.#writes([{ thread: threadId, namespace, id }]);
    return found.get(keyOf(threadId, namespace, id)) ?? [];
  }

  /** Yields the checkpoints of threads. A thread that has only writes yields a row without an id. */
  async *#rows(threads: string[]): AsyncGenerator<Row> {
    const cursor = `forkpoint_${(this.#cursors += 1)}`;
    await this.#query(
      `DECLARE ${cursor} NO SCROLL CURSOR FOR
       SELECT t.thread, c.checkpoint_ns AS namespace, c.checkpoint_id AS id, c.parent_checkpoint_id AS parent,
         c.checkpoint::text AS checkpoint, c.metadata::text AS metadata
       FROM unnest($1::text[]) WITH ORDINALITY AS t (thread, place)
       LEFT JOIN ${this.#table("checkpoints")} c ON c.thread_id = t.thread
       ORDER BY t.place, c.checkpoint_ns COLLATE "C", c.checkpoint_id COLLATE "C"`,
      [threads],
    );
    try {
      for (;;) {
        const rows = await this.#query(`FETCH ${ROWS} FROM ${cursor}`);
        if (rows.length === 0) return;
        const sizes = await this.#sizes(rows);
        for (const row of rows) yield { ...row, size: sizes.get(keyOf(row.thread, row.namespace, row.id)) ?? 0 };
      }
    } finally {
      if (!this.#broken) await this.#query(`CLOSE ${cursor}`);
    }
  }

  /** Returns the size of the channels and of the writes of each checkpoint, without reading them. */
  async #sizes(rows: Array<Omit<Row, "size">>): Promise<Map<string, number>> {
    const sized = await this.#query(
      `SELECT k.thread, k.namespace, k.id,
         coalesce((SELECT sum(octet_length(b.blob)) FROM ${this.#blobsOf("c")}), 0)::float8 +
         coalesce((SELECT sum(octet_length(w.blob)) FROM ${this.#table("checkpoint_writes")} w
           WHERE (w.thread_id, w.checkpoint_ns, w.checkpoint_id) = (k.thread, k.namespace, k.id)), 0)::float8 AS size
       FROM ${KEYS} JOIN ${this.#table("checkpoints")} c
         ON (c.thread_id, c.checkpoint_ns, c.checkpoint_id) = (k.thread, k.namespace, k.id)`,
      keys(rows),
    );
    return new Map(sized.map(({ thread, namespace, id, size }) => [keyOf(thread, namespace, id), Number(size)]));
  }

  /** Reads the channels and writes of a page. `next` is the thread of the row after the page. */
  async #page(rows: Row[], next: string | undefined): Promise<SourceThread[]> {
    const found = new Map<string, SourceThread>();
    for (const { thread } of rows)
      if (!found.has(thread))
        found.set(thread, { threadId: thread, checkpoints: [], orphans: [], ended: thread !== next });
    const ended = [...found.values()].filter(({ ended: whole }) => whole).map(({ threadId }) => threadId);
    const orphans = await this.#orphans(ended);
    const [blobs, writes] = [await this.#blobs(rows), await this.#writes([...rows, ...orphans])];
    for (const row of rows) {
      const key = keyOf(row.thread, row.namespace, row.id);
      if (row.id === null) continue;
      found.get(row.thread)!.checkpoints.push(await this.#checkpoint(row, blobs.get(key) ?? [], writes.get(key) ?? []));
    }
    for (const { thread, namespace, id } of orphans)
      found.get(thread)!.orphans.push({ namespace, id, writes: writes.get(keyOf(thread, namespace, id))! });
    return [...found.values()];
  }

  async #checkpoint(row: Row, parts: Part[], writes: SourceWrite[]): Promise<SourceCheckpoint> {
    const { namespace, parent } = row;
    const id = row.id!;
    // PostgresSaver stores the values of the channels in separate rows.
    const { channel_values: _, ...rest } = JSON.parse(row.checkpoint);
    const fields = { ...rest, channel_versions: rest.channel_versions ?? {}, versions_seen: rest.versions_seen ?? {} };
    const [checkpoint, metadata] = await Promise.all([
      dump(this.#serde, fields, `checkpoint ${quote(id)}`),
      dump(this.#serde, JSON.parse(row.metadata), `the metadata of checkpoint ${quote(id)}`),
    ]);
    return {
      namespace,
      id,
      parent: parent === "" ? null : parent,
      split: true,
      parts: [part("", checkpoint.tag, whole(checkpoint.bytes)), ...parts].toSorted((a, b) =>
        a.name < b.name ? -1 : 1,
      ),
      metadata: part("", metadata.tag, whole(metadata.bytes)),
      writes,
    };
  }

  /** Reads the channels of checkpoints. A shared value is read once. */
  async #blobs(rows: Row[]): Promise<Map<string, Part[]>> {
    const joined = `${KEYS} JOIN ${this.#table("checkpoints")} c
         ON (c.thread_id, c.checkpoint_ns, c.checkpoint_id) = (k.thread, k.namespace, k.id)
       CROSS JOIN LATERAL ${this.#blobsOf("c")}`;
    const named = await this.#query(
      `SELECT k.thread, k.namespace, k.id, b.channel, b.version FROM ${joined} WHERE b.type <> 'empty'`,
      keys(rows),
    );
    const values = await this.#query(
      `SELECT DISTINCT ON (thread, namespace, channel, version) * FROM (
         SELECT k.thread, k.namespace, b.channel, b.version, b.type, b.blob FROM ${joined} WHERE b.type <> 'empty') AS found`,
      keys(rows),
    );
    const parts = new Map<string, Part>();
    for (const { thread, namespace, channel, version, type, blob } of values)
      parts.set(JSON.stringify([thread, namespace, channel, version]), part(`${channel}\0${version}`, type, blob));
    const found = new Map<string, Part[]>();
    for (const { thread, namespace, id, channel, version } of named) {
      const one = parts.get(JSON.stringify([thread, namespace, channel, version]))!;
      add(found, keyOf(thread, namespace, id), one);
    }
    return found;
  }

  /** Reads the writes to checkpoints, in the order in which PostgresSaver returns them. */
  async #writes(rows: Array<Pick<Row, "thread" | "namespace" | "id">>): Promise<Map<string, SourceWrite[]>> {
    const written = await this.#query(
      `SELECT w.thread_id AS thread, w.checkpoint_ns AS namespace, w.checkpoint_id AS id, w.task_id AS task, w.idx AS index,
         w.channel, w.type, w.blob
       FROM ${KEYS} JOIN ${this.#table("checkpoint_writes")} w
         ON (w.thread_id, w.checkpoint_ns, w.checkpoint_id) = (k.thread, k.namespace, k.id)
       ORDER BY w.task_id, w.idx`,
      keys(rows),
    );
    const found = new Map<string, SourceWrite[]>();
    for (const { thread, namespace, id, task, index, channel, type, blob } of written)
      add(found, keyOf(thread, namespace, id), { task, index, part: part(channel, type ?? "json", blob) });
    return found;
  }

  /** Lists the checkpoints of threads that have writes but do not exist. */
  async #orphans(threads: string[]): Promise<Array<{ thread: string; namespace: string; id: string }>> {
    const sql = `SELECT DISTINCT w.thread_id AS thread, w.checkpoint_ns AS namespace, w.checkpoint_id AS id
       FROM ${this.#table("checkpoint_writes")} w
       WHERE w.thread_id = ANY ($1::text[]) AND NOT EXISTS (
         SELECT FROM ${this.#table("checkpoints")} c WHERE (c.thread_id, c.checkpoint_ns, c.checkpoint_id) =
           (w.thread_id, w.checkpoint_ns, w.checkpoint_id))`;
    return (await this.#query(sql, [threads])) as Array<{ thread: string; namespace: string; id: string }>;
  }

  /** The SQL for the channels of a checkpoint, as in PostgresSaver. */
  #blobsOf(checkpoint: string): string {
    return `jsonb_each_text(${checkpoint}.checkpoint -> 'channel_versions') AS v JOIN ${this.#table("checkpoint_blobs")} b
      ON b.channel = v.key AND b.version = v.value
      AND b.thread_id = ${checkpoint}.thread_id AND b.checkpoint_ns = ${checkpoint}.checkpoint_ns`;
  }

  #table(name: string): string {
    return `"${this.#schema.replaceAll('"', '""')}".${name}`;
  }

  #query(sql: string, values?: unknown[]): Promise<any[]> {
    const rows = this.#last.then(async () => {
      try {
        return (await this.#client.query(sql, values)).rows;
      } catch (error) {
        this.#broken = true;
        throw failed(error);
      }
    });
    this.#last = rows.catch(() => {});
    return rows;
  }
}

const KEYS = "unnest($1::text[], $2::text[], $3::text[]) AS k (thread, namespace, id)";

function ignore(): void {}

function keys(rows: Array<Pick<Row, "thread" | "namespace" | "id">>): unknown[] {
  return [rows.map(({ thread }) => thread), rows.map(({ namespace }) => namespace), rows.map(({ id }) => id)];
}

function keyOf(thread: string, namespace: string, id: string | null): string {
  return JSON.stringify([thread, namespace, id]);
}

function part(name: string, tag: string, blob: Uint8Array | null): Part {
  return { name, tag, bytes: blob ?? new Uint8Array() };
}

function add<T>(to: Map<string, T[]>, key: string, one: T): void {
  const all = to.get(key);
  if (all) all.push(one);
  else to.set(key, [one]);
}

function failed(error: unknown): ForkpointError {
  if (isOwnError(error)) return error as ForkpointError;
  return new ForkpointError("UNAVAILABLE", `cannot read the tables of the PostgresSaver: ${textOf(error)}`, {
    cause: error,
  });
}
