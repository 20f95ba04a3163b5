/** The calls of the Claude Agent SDK's sessions. `engine/src/contract/claude_agent_sdk.rs` declares the same calls. */

import type { CallsOf } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Contract, type Exact, type PackedPart } from "../../bridge/wire.js";

export type Of = engine.claude_agent_sdk.Session;

export type Row = Omit<NewRow, "seen">;

/** A session in a list. `saved` is the number of its last save. Later saves have greater numbers. */
export type Listed = Of & Row & { cursor: string; saved: number };

type NewRow = engine.claude_agent_sdk.Row;
type SessionCalls = CallsOf<
  engine.claude_agent_sdk.Call,
  {
    append: null;
    truncate: null;
    remove: null;
    removeSubpath: null;
    entries: { total: number; entries: PackedPart[] } | null;
    session: (Of & Row & { incarnation: Exact }) | null;
    sessions: Listed[];
    subpaths: string[];
  }
>;

export const claude = new Contract<SessionCalls>("claude-agent-sdk", {
  kinds: { append: "save", truncate: "save", remove: "prune", removeSubpath: "prune" },
  subject: ({ of }) => ({ run: of?.session, ns: of?.project }),
  counts: { entries: ({ entries }) => entries.length },
});
