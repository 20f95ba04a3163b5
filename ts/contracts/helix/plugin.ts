/** The plug-in of Helix: see {@link Plugin}. */

import { randomUUID } from "node:crypto";
import type { Part } from "../../bridge/wire.js";
import { type Fork, editedState } from "../../plugin/fork.js";
import type { Plugin } from "../../plugin/plugin.js";
import { type Parts, withoutBlanks } from "../../plugin/values.js";
import type { CheckpointRef } from "../../plugin/views.js";
import type { FoundCheckpoint, Row } from "../../plugin/wire.js";
import { copyEffects } from "../../store/effect-copies.js";
import { SessionStore } from "./store.js";
import { SESSIONS } from "./traits.js";
import { type Layout, unpackMessages } from "./values.js";
import { helix } from "./wire.js";

export const plugin: Plugin = {
  values: (parts, row, found) => (row.space === SESSIONS ? readCurrent : readCheckpoint)(parts, row, found),
  why: (_, { label }) => label && `the session's status is ${JSON.stringify(label)}`,
  fork: forkSession,
};

/** Reads a checkpoint of a session. Messages that it shares with the session are records of the session's log. */
function readCheckpoint(parts: Parts, _: Row, found: FoundCheckpoint): [unknown, unknown] {
  const rest = found.parts.find(({ name }) => name === "rest");
  const state = readState(parts, found.parts, found.records ?? []);
  const blanks = ["id", "sessionId", "stepCount", "timestamp", "state", "messageCount", "streamSequence"];
  return [state, rest ? withoutBlanks(parts.read(rest), blanks) : null];
}

/**
 * Reads the current state of a session, like `loadState`. The engine stores each of its parts as a write, so that a
 * part can be replaced alone. The status and the number of steps come from the row, because they can change without the
 * document.
 */
function readCurrent(parts: Parts, row: Row, found: FoundCheckpoint): [unknown, unknown] {
  const all = found.writes.map(({ part }) => part);
  const lists = all.filter(({ name }) => ["staging", "runs", "subSessions"].includes(name));
  const rest = Object.fromEntries(lists.map((part) => [part.name, parts.read(part).value]));
  // The metadata of a damaged row cannot be read.
  const now = row.meta === null ? {} : { status: row.label, stepCount: row.meta["stepCount"] };
  return [readState(parts, all, found.records ?? [], now), lists.length === 0 ? null : rest];
}

/** `now` has the current values of fields that can change without the document. */
function readState(parts: Parts, all: readonly Part[], records: readonly Part[], now: object = {}): unknown {
  const named = (name: string) => all.find((part) => part.name === name);
  const [state, custom, layout, own] = ["state", "customState", "layout", "messages"].map(named);
  const place = layout === undefined ? undefined : (parts.read(layout).value as Layout);
  const shared = records.map((record) => parts.read(record, "message").value);
  const read = state === undefined ? { value: {}, readable: true } : parts.read(state);
  if (!read.readable) return read.value;
  const fields = Object.assign(read.value as Record<string, unknown>, now);
  if (custom !== undefined) fields["customState"] = parts.read(custom).value;
  const messages = place?.messages ?? null;
  if (messages === null || "shared" in messages)
    fields["messages"] = shared.slice(0, messages?.shared ?? shared.length);
  else if (own !== undefined)
    fields["messages"] = unpackMessages({ ...messages, bytes: own.bytes }).map(
      (message) => parts.read({ name: "message", ...message }).value,
    );
  return fields;
}

async function forkSession(plan: Fork): Promise<CheckpointRef> {
  const { context, key, row, as = randomUUID(), dryRun } = plan;
  const change = editedState(plan);
  const isCurrent = row.space === SESSIONS;
  const state = change?.value ?? (isCurrent ? plan.values().state : undefined);
  if (state !== undefined) context.engine.format.serialize(state, "state");
  if (dryRun) return plan.refTo(as, as);
  const sessions = new SessionStore(context.store);
  if (isCurrent) {
    const { agentType } = (row.meta ?? {}) as { agentType?: string };
    await sessions.createSession(as, { agentType: agentType ?? "" });
    const of = { space: helix.name, run: key.run, ns: "" };
    await copyEffects(context.engine.native, of, { ...of, run: as }, { keepsIds: false });
  } else {
    await sessions.branchSession(row.id, as);
  }
  if (state !== undefined) {
    try {
      await sessions.saveState(as, state as Parameters<typeof sessions.saveState>[1]);
    } catch (error) {
      await sessions.deleteSession(as);
      throw error;
    }
  }
  return plan.refTo(as, as);
}
