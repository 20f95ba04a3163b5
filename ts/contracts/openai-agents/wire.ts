/** The calls of the OpenAI Agents SDK's sessions and run states. `engine/src/contract/openai_agents` declares the same calls. */

import type { CallsOf } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Contract } from "../../bridge/wire.js";

export type Row = engine.openai_agents.FoundRow;

/** A session in a list. */
export type Listed = engine.openai_agents.Responses["sessions"][number];

/** The parameters of a session's change. */
export type Change = Omit<Parameters<SessionCalls["change"]>[0], "row">;

type SessionCalls = CallsOf<engine.openai_agents.Call, engine.openai_agents.Responses>;

export const sessionCalls = new Contract<SessionCalls>("openai-agents", {
  kinds: { change: "save", fork: "save", remove: "prune" },
  subject: ({ row, session }) => ({ run: row?.session ?? session }),
  counts: { read: ({ items }) => items.length },
});

/** A taken state: the effect that is written with the call. */
export type Taken = engine.openai_agents_states.Write;

type StateCalls = CallsOf<engine.openai_agents_states.Call, engine.openai_agents_states.Responses>;

export const stateCalls = new Contract<StateCalls>("openai-agents-states", {
  kinds: { save: "save", remove: "prune" },
  subject: ({ run, id }) => ({ run, id }),
});
