// How many bytes are stored. Figures, and no verdicts.
import { expectations } from "../../suite/expectations.js";
import { measure } from "../../suite/growth.js";
import type { Trial } from "../../suite/types.js";
import { key, persist, snapshot, step } from "./helpers.js";
import type { Store } from "./store.js";

/** A text of random words, as long as given, which can't be packed to nothing. */
function words(trial: Trial<Store>, length: number): string {
  let text = "";
  while (text.length < length) text += `${trial.random(2 ** 31).toString(36)} `;
  return text.slice(0, length);
}

const over = (bytes: number) => ({ of: "over the newest snapshot as JSON", bytes });

export const growth = expectations<Store>("growth", {
  "mastra/growth-of-a-run": {
    ours: "every step persists all results before it (https://github.com/mastra-ai/mastra/issues/17284)",
    title: "takes few bytes for a run of 100 steps of 2 KB in 200 snapshots",
    async checkStore(store, trial) {
      const context: Record<string, unknown> = { input: {} };
      let newest = snapshot({ context });
      for (let n = 0; n < 200; n++) {
        const id = `s${n >> 1}`;
        context[id] =
          n % 2 === 0 ? { status: "running", payload: {}, startedAt: n } : step({ text: words(trial, 2_000) });
        newest = snapshot({ context, status: n === 199 ? "success" : "running" });
        await persist(store, { snapshot: newest });
      }
      await measure(trial, "200 snapshots of a run of 100 steps", over(JSON.stringify(newest).length));
    },
  },
  "mastra/growth-of-results": {
    ours: "a result is a small change of a snapshot",
    title: "takes few bytes for the results of 100 small steps of a run with a large input",
    async checkStore(store, trial) {
      const input = { text: words(trial, 100_000) };
      await persist(store, { snapshot: snapshot({ context: { input } }) });
      for (let n = 0; n < 100; n++)
        await store.updateWorkflowResults({ ...key, stepId: `s${n}`, result: step({ n }), requestContext: {} });
      await measure(trial, "100 small results beside an input of 100 KB", over(110_000));
    },
  },
  "mastra/growth-after-deletion": {
    ours: "what is deleted should be gone (https://github.com/mastra-ai/mastra/issues/20970)",
    title: "takes few bytes after all of 50 runs of 20 KB were deleted",
    async checkStore(store, trial) {
      for (let n = 0; n < 50; n++) {
        const context = { input: { text: words(trial, 20_000) } };
        await persist(store, { runId: `r${n}`, snapshot: snapshot({ context }) });
      }
      for (let n = 0; n < 50; n++) await store.deleteWorkflowRunById({ workflowName: "w", runId: `r${n}` });
      await measure(trial, "after the deletion of 50 runs of 20 KB");
    },
  },
});
