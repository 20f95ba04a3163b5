// A research graph reads several sources at the same time. Its process is killed while one of them is still being read.
// The next process reads only this source, and comes to the same report as a run without a kill.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
// In your project: from "forkpoint/tinyagents"
import { Checkpointer, Graph, Send } from "forkpoint/tinyagents";

const [role] = process.argv.slice(2);
const sources = ["tides", "moons", "storms"];

/** A graph that plans, reads each source as a task of its own, and writes a report. */
function research(checkpointer, log) {
  return new Graph({
    name: "research",
    checkpointer,
    nodes: {
      plan: () => {
        log("plans");
        return { sources };
      },
      read: {
        effectClass: "external", // a resume uses the recorded result
        run: async (_state, { sendArg: source }) => {
          log(`reads ${source}`);
          // In the first process, the server of the last source does not answer.
          if (role === "first" && source === "storms") await sleep(20_000);
          return { notes: [`a fact about ${source}`] };
        },
      },
      write: ({ notes }) => {
        log("writes");
        return { report: notes.join(", ") };
      },
    },
    entry: "plan",
    edges: [
      ["plan", (state) => state.sources.map((source) => new Send("read", source))],
      ["read", "write"],
    ],
    reducer: (state, { notes = [], ...rest }) => ({ ...state, ...rest, notes: [...state.notes, ...notes] }),
  });
}

/** Starts this program in a role, and prints its lines. */
function start(role) {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), role], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface(child.stdout);
  lines.on("line", (line) => console.log(`${role} process: ${line}`));
  return { child, closed: Promise.all([once(child, "close"), once(lines, "close")]) };
}

/** Waits until two tasks are recorded as done, and returns what is known about all tasks. */
async function tasksWhenTwoAreDone(graph) {
  for (;;) {
    const { tasks } = (await graph.getState("report-1")) ?? { tasks: [] };
    if (tasks.filter(({ status }) => status === "done").length === 2) return tasks;
    await sleep(5);
  }
}

async function main(checkpointer) {
  for (const threadId of ["report-1", "report-2"]) await checkpointer.deleteThread(threadId);
  const lines = [];
  const graph = research(checkpointer, (line) => lines.push(line));

  const first = start("first");
  const tasks = await tasksWhenTwoAreDone(graph);
  first.child.kill("SIGKILL");
  const [[, signal]] = await first.closed;
  assert.equal(signal, "SIGKILL");
  const known = tasks.map(({ sendArg, status }) => `${sendArg} ${status}`);
  console.log(`killed: ${known.join(", ")}`);
  assert.deepEqual(known, ["tides done", "moons done", "storms pending"]);

  const [[code]] = await start("second").closed;
  assert.equal(code, 0);
  const { values, next } = await graph.getState("report-1");
  console.log(`report: ${values.report}`);
  assert.deepEqual(next, []);

  const unharmed = await graph.invoke({ notes: [] }, { threadId: "report-2" });
  assert.deepEqual(values, unharmed.state);
  assert.deepEqual(lines, ["plans", "reads tides", "reads moons", "reads storms", "writes"]);
  console.log("the same as without a kill");
}

const checkpointer = new Checkpointer("threads.db");
if (role === "first") await research(checkpointer, console.log).invoke({ notes: [] }, { threadId: "report-1" });
else if (role === "second") await research(checkpointer, console.log).resume("report-1");
else await main(checkpointer);
await checkpointer.close();
