/** Reads sessions with their items. */

import type { AgentInputItem } from "@openai/agents";
import type { Engine } from "../../store/engine.js";
import { readRecords } from "../shared/records.js";
import { waitingCall } from "./items.js";
import { type Row, sessionCalls } from "./wire.js";

/** A session. The version is 0 if there is none. */
export interface Found extends Pick<Row, "version" | "savedAt"> {
  total: number;
  items: AgentInputItem[];
}

/** Reads a session with its last items, or with all of them. */
export async function readSession(engine: Engine, session: string, limit: number | undefined): Promise<Found> {
  const fields = { session, limit };
  const found = await sessionCalls.find(engine.native, "read", fields, ({ items, ...row }, part) => ({
    ...row,
    items: items.map(part),
  }));
  if (found === null) return { version: 0, savedAt: 0, total: 0, items: [] };
  return { ...found, items: await readRecords<AgentInputItem>(found.items, engine.format, "an item of the session") };
}

/** The number of last items among which retention looks for a call without a result. */
const LAST = 200;

/** Returns true if the session ends with a call without a result: a run may wait for its approval. */
export async function waitsForResult(engine: Engine, session: string): Promise<boolean> {
  const { items } = await readSession(engine, session, LAST);
  return waitingCall(items) !== undefined;
}
