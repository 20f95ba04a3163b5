// Runs the conformance suite that LangGraph publishes for checkpointers. The suite gets a name of this package, because
// it skips tests for some known names.
import { deltaChannelHistoryTests, validate } from "@langchain/langgraph-checkpoint-validation";
import { ForkpointSaver } from "forkpoint/langgraph";
import { type RunnerTask, describe, expect, it } from "vitest";
import { type Kind, kinds, placeIn, temporary } from "./helpers.js";

/** The number of published tests: 718 for a checkpointer, and 8 for the history of delta channels. */
const published = 718 + 8;

function conformance(kind: Kind) {
  const folders = new Map<ForkpointSaver, () => void>();
  const initializer = {
    checkpointerName: `ForkpointSaver on ${kind}`,
    createCheckpointer() {
      const { path, remove } = temporary();
      const made = new ForkpointSaver(placeIn(path, kind));
      folders.set(made, remove);
      return made;
    },
    async destroyCheckpointer(made: ForkpointSaver) {
      await made.close();
      folders.get(made)?.();
      folders.delete(made);
    },
  };
  validate(initializer);
  deltaChannelHistoryTests(initializer);
}

/** Returns the tests of a task, including those of nested suites. */
function tests(task: RunnerTask): RunnerTask[] {
  return task.type === "suite" ? task.tasks.flatMap(tests) : [task];
}

describe.each(kinds)("%s", (kind) => {
  describe("published", () => conformance(kind));

  it(`runs all ${published} tests, none of them skipped`, ({ task }) => {
    const suite = task.suite!.tasks.find(({ name }) => name === "published")!;
    const run = tests(suite).filter(({ mode, result }) => mode === "run" && result?.state === "pass");
    expect(run).toHaveLength(published);
  });
});
