/** The calls of the OpenAI Agents SDK's sessions and run states. `engine/src/contract/openai_agents` declares the same calls. */

import type { CallsOf, Narrowed } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Contract, type PackedPart } from "../../bridge/wire.js";
import type { EffectEntry, StoredEffect } from "../../store/effect-wire.js";

export type Row = Omit<NewRow, "seen">;

/** A session in a list. `saved` is the number of its last save. Later saves have greater numbers. */
export type Listed = Row & { cursor: string; saved: number };

type NewRow = engine.openai_agents.Row;

/** The parameters of a session's change. */
export type Change = Omit<Parameters<SessionCalls["change"]>[0], "row">;

type SessionCalls = CallsOf<
  engine.openai_agents.Call,
  {
    change: null;
    fork: null;
    remove: null;
    read: (Row & { total: number; items: PackedPart[] }) | null;
    applied: string | null;
    sessions: Listed[];
  }
>;

export const sessionCalls = new Contract<SessionCalls>("openai-agents", {
  kinds: { change: "save", fork: "save", remove: "prune" },
  subject: ({ row, session }) => ({ run: row?.session ?? session }),
  counts: { read: ({ items }) => items.length },
});

/** A taken state: the effect that is written with the call. */
export type Taken = Omit<engine.openai_agents_states.Write, "entry" | "result"> & {
  entry: EffectEntry;
  result: undefined;
};

type StateCalls = CallsOf<
  Narrowed<
    engine.openai_agents_states.Call,
    { status: "waiting" | "finished" | "unfinished" | "unknown"; taken: Taken | undefined }
  >,
  {
    save: null;
    /** `now` is the time on the store's clock. */
    newest: { id: string; session: string | null; parts: PackedPart[]; now: number; effects: StoredEffect[] } | null;
    remove: null;
    runs: Array<{ cursor: string; run: string; session: string | null }>;
  }
>;

export const stateCalls = new Contract<StateCalls>("openai-agents-states", {
  kinds: { save: "save", remove: "prune" },
  subject: ({ run, id }) => ({ run, id }),
});
