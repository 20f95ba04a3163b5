/** Declares the engine's calls for Helix sessions. See `engine/src/contract/helix/call.rs`. */

import type { CallsOf } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Contract, type Unpack, type Unpacked } from "../../bridge/wire.js";

export type Row = engine.helix.Session;

export type End = engine.helix.LogEnd;
export type Packed = engine.helix.PackedRecords;

export type FoundCheckpoint = Unpacked<engine.helix.FoundCheckpoint>;

export const openCheckpoint: Unpack<engine.helix.FoundCheckpoint> = ({ parts, messages, ...fields }, part) => ({
  ...fields,
  parts: parts.map(part),
  messages: messages && messages.map(part),
});

/** The fields of a checkpoint for the engine. */
export type CheckpointFields = Pick<
  engine.helix.Save,
  "id" | "sessionId" | "stepCount" | "timestamp" | "streamSequence"
>;

type HelixCalls = CallsOf<engine.helix.Call, engine.helix.Responses>;

export const helix = new Contract<HelixCalls>("helix", {
  kinds: { change: "save", branch: "save", append: "save", save: "save", delete: "prune", expire: "prune" },
  subject: ({ sessionId, session, id, copyId, checkpointId }) => ({
    run: sessionId ?? session?.id,
    id: id ?? copyId ?? checkpointId,
  }),
  counts: { messages: ({ messages }) => messages.length, list: ({ items }) => items.length },
});
