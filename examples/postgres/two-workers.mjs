// Two workers on one Postgres server. One of them is killed in the middle of a run. The other one takes the run over and
// ends it, and nothing is done twice.
// Run: `DATABASE_URL=postgres://user:password@host:5432/database node examples/postgres/two-workers.mjs`. The tables are
// made in the schema "forkpoint" of the database.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
// In your project: from "forkpoint/tinyagents"
import { Checkpointer, END, Graph } from "forkpoint/tinyagents";

const url = process.env.DATABASE_URL;
if (!url) {
  console.error("Set DATABASE_URL, for example to postgres://user:password@localhost:5432/database");
  process.exit(1);
}
const [role] = process.argv.slice(2);
const threadId = "newsletter-1";
const checkpointer = new Checkpointer(url);

/** An agent that writes a newsletter. Each node does its work once, and says so. */
const graph = new Graph({
  name: "newsletter",
  checkpointer,
  lease: true, // one worker at a time runs the thread
  nodes: {
    search: () => done("search"),
    read: () => done("read"),
    async write() {
      // The model does not answer the first worker.
      if (role === "first") {
        console.log("waits for the model");
        await sleep(60_000);
      }
      return done("write");
    },
    review: () => done("review"),
    send: () => done("send"),
  },
  entry: "search",
  edges: [
    ["search", "read"],
    ["read", "write"],
    ["write", "review"],
    ["review", "send"],
    ["send", END],
  ],
  reducer: (state, { did }) => ({ did: [...state.did, did] }),
});

function done(did) {
  console.log(`did ${did}`);
  return { did };
}

/** Runs the thread to its end. As long as another worker has it, waits. */
async function work() {
  for (let told = false; ; await sleep(50)) {
    try {
      const isNew = (await graph.getState(threadId)) === null;
      if (isNew) await graph.invoke({ did: [] }, { threadId });
      else await graph.resume(threadId);
      return;
    } catch (error) {
      if (error.code !== "CONFLICT" || error.lease === undefined) throw error;
      if (!told) console.log(`is told that ${error.lease.holder} has the run`);
      told = true;
    }
  }
}

/** Starts a worker, which is this program in a role. Prints its lines, and collects them. */
function start(name) {
  const stdio = ["ignore", "pipe", "inherit"];
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), name], { stdio });
  process.once("exit", () => child.kill("SIGKILL")); // a worker does not outlive this program
  const output = createInterface(child.stdout);
  const lines = [];
  output.on("line", (line) => {
    lines.push(line);
    console.log(`${name} worker: ${line}`);
  });
  const closed = Promise.all([once(child, "close"), once(output, "close")]);
  return {
    child,
    lines,
    closed,
    /** Waits for a line. Fails if the worker ends before. */
    async until(pattern) {
      const ended = closed.then(() => assert.fail(`the ${name} worker has ended`));
      while (!lines.some((line) => pattern.test(line))) await Promise.race([once(output, "line"), ended]);
    },
  };
}

async function main() {
  await checkpointer.deleteThread(threadId);

  const first = start("first");
  await first.until(/waits for the model/);
  const second = start("second");
  await second.until(/is told/);
  assert.match(second.lines[0], new RegExp(`process ${first.child.pid} `));

  // The first worker cannot say goodbye. Its lease ends because its process has ended. On another machine, the lease ends
  // when it has not been renewed for 30 seconds.
  first.child.kill("SIGKILL");
  const [[, signal]] = await first.closed;
  assert.equal(signal, "SIGKILL");
  console.log("the first worker is killed");

  const [[code]] = await second.closed;
  assert.equal(code, 0);
  const { values, next } = await graph.getState(threadId);
  assert.deepEqual(next, []);
  assert.deepEqual(values.did, ["search", "read", "write", "review", "send"]);
  const effects = [...first.lines, ...second.lines].filter((line) => line.startsWith("did "));
  assert.deepEqual(
    effects,
    values.did.map((did) => `did ${did}`),
  );
  const { threads } = await checkpointer.threads();
  assert.equal(threads.find((thread) => thread.threadId === threadId).lease, null);
  console.log("nothing was done twice");
}

if (role === undefined) await main();
else await work();
await checkpointer.close();
