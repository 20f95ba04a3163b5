// A workflow of ten steps gets SIGTERM while step 6 runs. It finishes and stores step 6. The next process goes on with
// step 7. Both processes run the same code: pod().
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
// In your project: from "forkpoint/agentium"
import { DrainController, RunDrainedError, Workflow, WorkflowCheckpointStore } from "forkpoint/agentium";

async function pod(runId) {
  const drain = new DrainController();
  process.on("SIGTERM", () => drain.requestDrain());

  const store = new WorkflowCheckpointStore("workflow.db");
  const wf = new Workflow({
    name: "long-import",
    initialState: { done: [] },
    checkpointStore: store,
    steps: Array.from({ length: 10 }, (_, i) => ({
      name: `step-${i + 1}`,
      run: async (state, { stepName }) => {
        console.log(stepName);
        // Step 6 takes a long time, so that the signal arrives while it runs.
        if (stepName === "step-6") for (let part = 0; part < 2000 && !drain.drained; part++) await sleep(5);
        return { done: [...state.done, stepName] };
      },
    })),
  });

  try {
    const { state } = await wf.runWithCheckpoints({ runId, resume: true, drain });
    console.log(`finished ${state.done.length} steps`);
  } catch (error) {
    if (!(error instanceof RunDrainedError)) throw error;
    assert.equal(error.runId, runId);
    console.log("drained");
  }
  await store.close();
  process.exit(0);
}

/** Starts this program as a pod, sends SIGTERM at step 6, and resolves to the steps and the last line it printed. */
async function startPod(runId) {
  const args = [fileURLToPath(import.meta.url), runId];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const closed = once(child, "close");
  const lines = [];
  for await (const line of createInterface(child.stdout)) {
    lines.push(line);
    if (line === "step-6") child.kill("SIGTERM");
  }
  assert.deepEqual(await closed, [0, null]);
  return { steps: lines.filter((line) => line.startsWith("step-")), end: lines.at(-1) };
}

async function main() {
  // Both processes need the same runId. This program makes a new one at every start.
  const runId = `import-${randomUUID()}`;
  const first = await startPod(runId);
  console.log(`process 1: ${first.steps.join(" ")}, ${first.end}`);
  const second = await startPod(runId);
  console.log(`process 2: ${second.steps.join(" ")}, ${second.end}`);

  const all = Array.from({ length: 10 }, (_, i) => `step-${i + 1}`);
  assert.deepEqual(first, { steps: all.slice(0, 6), end: "drained" });
  assert.deepEqual(second, { steps: all.slice(6), end: "finished 10 steps" });
  assert.deepEqual([...first.steps, ...second.steps], all);
  console.log("each step ran exactly once");
}

const [runId] = process.argv.slice(2);
await (runId === undefined ? main() : pod(runId));
