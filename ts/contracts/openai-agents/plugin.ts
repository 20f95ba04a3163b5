/** The plug-ins of the OpenAI Agents SDK's sessions and saved states: see {@link Plugin}. */

import { fieldsOf, listOf, readState, textOf } from "../shared/asking.js";
import type { Plugin } from "../../plugin/plugin.js";
import type { Live } from "../../plugin/questions.js";
import { readFirst, readRecords } from "../../plugin/values.js";

export const sessions: Plugin = { values: readRecords("items") };

export const states: Plugin = {
  values: readFirst,
  /** The approvals of a saved state. The SDK takes an answer only in its own program. */
  questions: {
    async live(context, { run }, row) {
      const { state } = await readState(context, row, readFirst);
      const step = fieldsOf(fieldsOf(state)["currentStep"]);
      if (step["type"] !== "next_step_interruption") return [];
      return listOf(fieldsOf(step["data"])["interruptions"]).map((item, at): Live => {
        const { rawItem, agent, toolName } = fieldsOf(item);
        const call = fieldsOf(rawItem);
        const id = textOf(call["callId"]) ?? textOf(call["id"]) ?? String(at);
        const says = {
          tool: textOf(call["name"]) ?? textOf(toolName),
          args: argumentsOf(call["arguments"]),
          text: "",
          choices: [],
        };
        const code = codeOf(run, id);
        return { id, node: textOf(fieldsOf(agent)["name"]), value: rawItem, answered: null, says, code };
      });
    },
  },
};

const codeOf = (run: string, call: string) => `import { RunState, run } from "@openai/agents";

const { text } = await states.take(${JSON.stringify(run)});
const state = await RunState.fromString(agent, text);
for (const approval of state.getInterruptions()) {
  if (approval.rawItem.callId === ${JSON.stringify(call)}) state.approve(approval); // or state.reject(approval)
}
const result = await run(agent, state);
await states.save(${JSON.stringify(run)}, result.state.toString());`;

/** The SDK stores the arguments of a call as JSON. */
function argumentsOf(stored: unknown): unknown {
  if (typeof stored !== "string") return stored ?? null;
  try {
    return JSON.parse(stored) as unknown;
  } catch {
    return stored;
  }
}
