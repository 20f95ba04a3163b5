/** Makes and parses the ids of a session's checkpoints. */

import { requireId } from "../../store/ids.js";
import type * as engine from "../../bridge/calls.generated.js";
import { Tool } from "../../bridge/native.js";
import { parse } from "../../bridge/wire.js";
import { count } from "./options.js";

/** The parts of a checkpoint id. */
export interface ParsedCheckpointId {
  /** The version of the id's format. */
  version: 1;
  sessionId: string;
  stepCount: number;
  /** ms since the epoch. */
  timestamp: number;
  /** Six hexadecimal digits. */
  random: string;
}

let tool: Tool<engine.helix.tool.Which, engine.helix.tool.Call> | undefined;

function call(message: engine.helix.tool.Call): unknown {
  tool ??= new Tool("helix", { checkpointIds: {} });
  return parse(tool.call(message));
}

/**
 * Makes a checkpoint id: `cpv1-{sessionId}-s{stepCount}-t{timestamp}-{6 hex digits}`. The digits are random.
 *
 * @param timestamp ms since the epoch. Default: the current time.
 * @throws TypeError or RangeError for wrong arguments.
 *
 * @example const id = generateCheckpointId("session-456", 10);
 */
export function generateCheckpointId(sessionId: string, stepCount: number, timestamp: number = Date.now()): string {
  return call({
    generate: {
      sessionId: requireId(sessionId, "sessionId"),
      stepCount: count(stepCount, "stepCount"),
      timestamp: count(timestamp, "timestamp"),
    },
  }) as string;
}

/**
 * Parses a checkpoint id. Returns null for anything else. Never throws.
 *
 * @example const stepCount = parseCheckpointId("cpv1-session-123-s5-t1703123456789-a1b2c3")?.stepCount;
 */
export function parseCheckpointId(id: string): ParsedCheckpointId | null {
  if (typeof id !== "string" || !id.isWellFormed()) return null;
  return call({ parse: { id } }) as ParsedCheckpointId | null;
}
