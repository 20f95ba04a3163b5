/** The calls of the OpenAI Agents SDK's sessions and run states. `engine/src/contract/openai_agents` declares the same calls. */

import { Contract, type PackedPart } from "../../bridge/wire.js";
import type { EffectAddress, EffectEntry, StoredEffect } from "../../store/effect-wire.js";
import type { PackedRecords } from "../shared/records.js";

/** The row of a session. */
export interface Row {
  session: string;
  /** A random number, and another one after each change. */
  version: number;
  /** The time of the last change, in ms since the epoch. */
  savedAt: number;
}

/** A session in a list. `saved` is the number of its last save, which is greater than those of earlier saves. */
export type Listed = Row & { cursor: string; saved: number };

/** The row that a change stores. `seen` is the version that it was made from. 0: there was no row. Undefined: any. */
type NewRow = Row & { seen: number | undefined };

/** How to change a session. The steps are applied in this order. */
export interface Change {
  /** Forgets the operations. */
  forget: boolean;
  /** Keeps the first items: this number of them. */
  keep: number | undefined;
  /** Appends items. Takes one buffer. */
  items: PackedRecords | undefined;
  /** Remembers an operation, which must not be known yet. */
  operation: { id: string; hash: string } | undefined;
}

interface SessionCalls {
  change(fields: Change & { row: NewRow }): null;
  /** Begins the session `to`. `over` is the version of the session that it replaces. */
  fork(fields: { row: NewRow; length: number; to: string; over: number; version: number; savedAt: number }): null;
  remove(fields: { session: string; seen: number | undefined }): null;
  /** Reads the row and the last items. */
  read(fields: { session: string; limit: number | undefined }): (Row & { total: number; items: PackedPart[] }) | null;
  /** Reads the hash of an operation's transaction. */
  applied(fields: { session: string; operation: string }): string | null;
  /** Lists sessions, the one that was begun last first. */
  sessions(fields: { before: number | undefined; limit: number }): Listed[];
}

export const sessionCalls = new Contract<SessionCalls>("openai-agents", {
  kinds: { change: "save", fork: "save", remove: "prune" },
  subject: ({ row, session }) => ({ run: row?.session ?? session }),
  counts: { read: ({ items }) => items.length },
});

/** What a caller has taken: the effect that is written with the call. */
export interface Taken {
  effect: EffectAddress;
  token: number;
  entry: EffectEntry;
  result: undefined;
  savedAt: number;
}

interface StateCalls {
  /** Takes one buffer: the state. */
  save(fields: {
    run: string;
    id: string;
    meta: { session: string | undefined };
    status: "waiting" | "finished" | "unfinished" | "unknown";
    part: { name: string; tag: string };
    savedAt: number;
    taken: Taken | undefined;
  }): null;
  /** `now` is the time on the store's clock. */
  newest(fields: { run: string }): {
    id: string;
    session: string | null;
    parts: PackedPart[];
    now: number;
    effects: StoredEffect[];
  } | null;
  remove(fields: { run: string; taken: Taken | undefined }): null;
  /** Lists runs, the one that was saved last first. */
  runs(fields: {
    before: number | undefined;
    limit: number;
  }): Array<{ cursor: string; run: string; session: string | null }>;
}

export const stateCalls = new Contract<StateCalls>("openai-agents-states", {
  kinds: { save: "save", remove: "prune" },
  subject: ({ run, id }) => ({ run, id }),
});
