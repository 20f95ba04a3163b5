// A human approves a post. Each part of the run has a process of its own, as after a restart. Nothing behind the
// question runs before the answer.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
// In your project: from "forkpoint/tinyagents"
import { Checkpointer, Command, END, Graph } from "forkpoint/tinyagents";

const threadId = "post-1";
const checkpointer = new Checkpointer("threads.db");

const graph = new Graph({
  name: "post",
  checkpointer,
  nodes: {
    draft: ({ drafts }) => {
      console.log(`drafts version ${drafts + 1}`);
      return { drafts: drafts + 1 };
    },
    approve: {
      effectClass: "human",
      run: ({ drafts }, context) => {
        const { approved, by } = context.interrupt(`Publish version ${drafts}?`);
        return new Command({ update: { approvedBy: approved ? by : null }, goto: approved ? "publish" : "draft" });
      },
    },
    publish: {
      effectClass: "write",
      run: ({ drafts }) => {
        console.log(`publishes version ${drafts}`);
        return { published: drafts };
      },
    },
  },
  entry: "draft",
  edges: [
    ["draft", "approve"],
    ["publish", END],
  ],
  reducer: (state, update) => ({ ...state, ...update }),
});

/** The work of one process. */
const roles = {
  begin: () => graph.invoke({ drafts: 0, approvedBy: null, published: null }, { threadId }),
  restart: () => graph.resume(threadId),
  no: () => graph.resume(threadId, { resume: { approved: false } }),
  yes: () => graph.resume(threadId, { resume: { approved: true, by: "Ada" } }),
};

/** Runs this program in a role, and prints and returns its lines. */
function processOf(role) {
  const output = execFileSync(process.execPath, [fileURLToPath(import.meta.url), role], { encoding: "utf8" });
  const lines = output.trimEnd().split("\n");
  for (const line of lines) console.log(`${role}: ${line}`);
  return lines;
}

async function main() {
  await checkpointer.deleteThread(threadId);
  assert.deepEqual(processOf("begin"), ["drafts version 1", "waits: Publish version 1?"]);
  // Without an answer, the question stays, and no node runs.
  assert.deepEqual(processOf("restart"), ["waits: Publish version 1?"]);
  assert.deepEqual((await graph.getState(threadId)).next, ["approve"]);
  assert.deepEqual(processOf("no"), ["drafts version 2", "waits: Publish version 2?"]);
  assert.deepEqual(processOf("yes"), ["publishes version 2", "done"]);

  const { values, interrupts } = await graph.getState(threadId);
  assert.deepEqual(values, { drafts: 2, approvedBy: "Ada", published: 2 });
  assert.deepEqual(interrupts, []);
  console.log(`version ${values.published} was approved by ${values.approvedBy}`);
}

const [role] = process.argv.slice(2);
if (role === undefined) {
  await main();
} else {
  const { status, interrupts } = await roles[role]();
  console.log(status === "done" ? "done" : `waits: ${interrupts[0].value}`);
}
await checkpointer.close();
