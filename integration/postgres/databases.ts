/** Databases of the server that the suite has started. A test, or a file of tests, takes one of its own. */
import { randomBytes } from "node:crypto";
import { MessageChannel, Worker, receiveMessageOnPort } from "node:worker_threads";
import pg from "pg";
import { TestRunner, inject, onTestFinished } from "vitest";

/** A thread that runs SQL while this thread waits, because a test names its target without waiting. */
class Administrator {
  readonly #done = new Int32Array(new SharedArrayBuffer(4));
  readonly #port;

  constructor(url: string) {
    const { port1, port2 } = new MessageChannel();
    this.#port = port1;
    const worker = new Worker(new URL("administrator.mjs", import.meta.url), {
      workerData: { url, done: this.#done, port: port2 },
      transferList: [port2],
    });
    worker.unref();
    port1.unref();
  }

  /** Runs a statement, and waits for its end. */
  run(sql: string): void {
    Atomics.store(this.#done, 0, 0);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
    this.#port.postMessage({ sql, wait: true });
    if (Atomics.wait(this.#done, 0, 0, 60_000) === "timed-out") throw new Error(`the server does not answer: ${sql}`);
    const error = receiveMessageOnPort(this.#port)?.message as string | null;
    if (error !== null) throw new Error(`${sql}: ${error}`);
  }

  /** Runs a statement after those before it, and waits for nothing. */
  later(sql: string): void {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port, not a window
    this.#port.postMessage({ sql, wait: false });
  }
}

let administrator: Administrator | undefined;

/** Makes a database and returns its URL. A database that a test makes is removed when the test ends. */
export function makeDatabase(): string {
  const url = new URL(inject("postgres"));
  administrator ??= new Administrator(url.href);
  const name = `test_${randomBytes(8).toString("hex")}`;
  administrator.run(`CREATE DATABASE ${name}`);
  if (TestRunner.getCurrentTest() !== undefined) {
    onTestFinished(() => administrator!.later(`DROP DATABASE ${name} WITH (FORCE)`));
  }
  url.pathname = `/${name}`;
  return url.href;
}

/** Runs SQL on a database. Returns the rows of the last statement. */
export async function query(url: string, sql: string, values?: unknown[]): Promise<any[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const result = await client.query(sql, values);
    return (Array.isArray(result) ? result.at(-1)! : result).rows;
  } finally {
    await client.end();
  }
}

/** Makes a pool that is closed when the running test ends. Its database may be dropped while a connection is being closed. */
export function poolOf(connectionString = makeDatabase(), rest: object = {}): any {
  const pool = new pg.Pool({ connectionString, ...rest });
  pool.on("error", () => {});
  onTestFinished(() => (pool.ended ? undefined : pool.end()));
  return pool;
}
