/** The calls of the Claude Agent SDK's sessions. `engine/src/contract/claude_agent_sdk.rs` declares the same calls. */

import type { CallsOf } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Contract } from "../../bridge/wire.js";

export type Of = engine.claude_agent_sdk.Session;

export type Row = Omit<engine.claude_agent_sdk.Row, "seen">;

/** A session in a list. */
export type Listed = engine.claude_agent_sdk.Responses["sessions"][number];

type SessionCalls = CallsOf<engine.claude_agent_sdk.Call, engine.claude_agent_sdk.Responses>;

export const claude = new Contract<SessionCalls>("claude-agent-sdk", {
  kinds: { append: "save", truncate: "save", remove: "prune", removeSubpath: "prune" },
  subject: ({ of }) => ({ run: of?.session, ns: of?.project }),
  counts: { entries: ({ entries }) => entries.length },
});
