// Runs SQL for a thread that waits: see databases.ts.
import { workerData } from "node:worker_threads";
import pg from "pg";

const { url, done, port } = workerData;
const client = new pg.Client({ connectionString: url });
let last = client.connect();

/** Runs a statement after those before it. Returns the error, or null. */
async function run(sql) {
  try {
    await last;
    await client.query(sql);
    return null;
  } catch (error) {
    return String(error);
  }
}

port.on("message", async ({ sql, wait }) => {
  last = run(sql);
  const error = await last;
  if (!wait) return;
  port.postMessage(error);
  Atomics.store(done, 0, 1);
  Atomics.notify(done, 0);
});
