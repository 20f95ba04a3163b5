/** Reads what the runs of SDKs ask. These SDKs take an answer only in their own program, so none can be stored here. */

import type { Context } from "../context.js";
import { readFound, readValues } from "../detail.js";
import type { Row } from "../wire.js";
import { codes } from "./code.js";
import type { Live, Source } from "./source.js";

type Fields = Record<string, unknown>;

const fieldsOf = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

async function read(context: Context, row: Row): Promise<{ state: unknown; rest: unknown }> {
  const found = await readFound(context, row);
  return found === null ? { state: null, rest: null } : readValues(context, row, found);
}

/** The approvals of a saved state of the OpenAI Agents SDK. */
const openaiAgentsStates: Source = {
  async live(context, { run }, row) {
    const { state } = await read(context, row);
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
      const code = codes["openai-agents-states"](run, id);
      return { id, node: textOf(fieldsOf(agent)["name"]), value: rawItem, answered: null, says, code };
    });
  },
};

/** The SDK stores the arguments of a call as JSON. */
function argumentsOf(stored: unknown): unknown {
  if (typeof stored !== "string") return stored ?? null;
  try {
    return JSON.parse(stored) as unknown;
  } catch {
    return stored;
  }
}

/** The approvals that the AI SDK asks for at the end of a chat. */
const ai: Source = {
  async live(context, { run }, row) {
    const { state } = await read(context, row);
    const messages = listOf(fieldsOf(state)["messages"]).map(fieldsOf);
    const last = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
    const parts = last.flatMap((message) => listOf(message["parts"]).map(fieldsOf));
    return parts
      .filter(({ state: of }) => of === "approval-requested")
      .map((part): Live => {
        const id = textOf(fieldsOf(part["approval"])["id"]) ?? String(part["toolCallId"]);
        const tool = textOf(part["toolName"]) ?? String(part["type"]).replace(/^tool-/, "");
        const says = { tool, args: part["input"] ?? null, text: "", choices: [] };
        return { id, node: null, value: part, answered: null, says, code: codes.ai(run, id) };
      });
  },
};

/** The suspended steps of a workflow of Mastra. */
const mastra: Source = {
  async live(context, key, row) {
    const { state, rest } = await read(context, row);
    if (fieldsOf(rest)["status"] !== "suspended") return [];
    return Object.keys(fieldsOf(fieldsOf(rest)["suspendedPaths"])).map((step): Live => {
      const result = fieldsOf(fieldsOf(state)[step]);
      const { __workflow_meta: meta, ...value } = fieldsOf(result["suspendPayload"]);
      const inner = listOf(fieldsOf(meta)["path"]).filter((each) => typeof each === "string");
      const code = codes.mastra(key.run, key.ns, [step, ...inner]);
      return { id: step, node: step, value: Object.keys(value).length === 0 ? null : value, answered: null, code };
    });
  },
};

export const sdks: Record<string, Source> = { "openai-agents-states": openaiAgentsStates, ai, mastra };
