/**
 * Declares the engine's calls for Agentium's checkpoints and for its storage driver, and the messages between a run and
 * its state machine in the engine. See `engine/src/contract/agentium/`.
 */

import type { CallsOf } from "../../bridge/calls.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Contract, type Unpack, type Unpacked } from "../../bridge/wire.js";

export type Found = Unpacked<engine.agentium.Found>;

/** Names a save. */
export type SaveRef = engine.agentium.Saved;

type AgentiumCalls = CallsOf<engine.agentium.Call, engine.agentium.Responses>;

export const agentium = new Contract<AgentiumCalls>("agentium", {
  kinds: { save: "save", delete: "prune", clear: "prune" },
  subject: ({ runId, id, checkpointId }) => ({ run: runId, id: id ?? checkpointId }),
});

export const openFound: Unpack<engine.agentium.Found> = (found, part) => ({
  ...found,
  parts: found.parts.map(part),
});

export type FoundValue = Unpacked<engine.storage.FoundValue>;

type StorageCalls = CallsOf<engine.storage.Call, engine.storage.Responses>;

export const storage = new Contract<StorageCalls>("storage", {
  kinds: { set: "save", delete: "prune" },
  subject: ({ namespace, key }) => ({ run: key, ns: namespace }),
});

export const openValue: Unpack<engine.storage.FoundValue> = ({ key, parts }, part) => ({
  key,
  parts: parts.map(part),
});

/** The parameters of a run for the engine. */
export type RunTool = engine.agentium.tool.Which;
export type Mode = engine.agentium.tool.Mode;
export type RunEvent = engine.agentium.tool.Event;
export type Command = engine.agentium.tool.Command;
/** The reason why a run ended without a result. */
export type Why = engine.agentium.tool.Reason;
