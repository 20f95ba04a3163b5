// "Save a checkpoint and exit" with Promise.race, as in Agentium's document. The process does not wait for the running
// step, so the next process runs that step again. resumable.mjs shows the option `{ drain }`, with which the process
// finishes the step before it exits.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
// In your project: from "forkpoint/agentium"
import { DrainController, RunDrainedError, Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";

const [role, savedRunId] = process.argv.slice(2);

const store = new WorkflowCheckpointStore("workflow.db");
const wf = new Workflow({
  name: "rollout",
  initialState: { done: [] },
  checkpointStore: store,
  steps: ["fetch", "transform", "upload", "verify"].map((name) => ({
    name,
    run: async (state) => {
      console.log(name);
      // In the first process the upload takes a long time, because its server does not answer.
      if (name === "upload" && role === "first") for (let part = 0; part < 2000; part++) await sleep(5);
      return { done: [...state.done, name] };
    },
  })),
});

const drain = new DrainController();

async function runWithDrain(input) {
  try {
    return await Promise.race([
      wf.runWithCheckpoints(input),
      drain.waitForDrain().then(() => {
        throw new RunDrainedError(input.runId ?? "unknown");
      }),
    ]);
  } catch (err) {
    if (err instanceof RunDrainedError) {
      // The latest checkpoint is already on disk. The next process can continue the run from that checkpoint.
      return;
    }
    throw err;
  }
}

/**
 * Starts this program in a role and resolves to the lines that it printed. Stops the first process during the upload.
 */
async function start(role, runId) {
  const args = [fileURLToPath(import.meta.url), role, runId];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  const lines = [];
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    if (role === "first" && line === "upload") child.kill("SIGTERM");
  }
  assert.deepEqual(await closed, [0, null]);
  console.log(`${role} process: ${lines.join(" ")}`);
  return lines;
}

if (role === "first") {
  process.on("SIGTERM", () => drain.requestDrain());
  const output = await runWithDrain({ runId: savedRunId });
  assert.equal(output, undefined);
  console.log("drained");
  // The upload and the run are still in progress. `exit` ends both.
  process.exit(0);
} else if (role === "second") {
  const cps = await wf.listCheckpoints(savedRunId);
  const last = cps[cps.length - 1];
  assert.equal(last.stepName, "transform");
  const resumed = await wf.replay(last.id);
  assert.equal(resumed.runId, savedRunId);
  assert.deepEqual(resumed.state.done, ["fetch", "transform", "upload", "verify"]);
  console.log("finished");
} else {
  const runId = `rollout-${randomUUID()}`;
  assert.deepEqual(await start("first", runId), ["fetch", "transform", "upload", "drained"]);
  assert.deepEqual(await start("second", runId), ["upload", "verify", "finished"]);

  const chain = (await wf.listCheckpoints(runId)).map((c) => c.stepName);
  console.log(`stored: ${chain.join(" ")}`);
  assert.deepEqual(chain, ["initial", "fetch", "transform", "upload", "verify"]);
}

await store.close();
