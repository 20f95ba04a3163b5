/** Makes and parses the ids of a session's checkpoints. */

import { requireId } from "../../store/ids.js";
import { Tool } from "../../bridge/native.js";
import { parse } from "../../bridge/wire.js";
import { count } from "./options.js";

/** The parts of a checkpoint id. */
export interface ParsedCheckpointId {
  /** The version of the form. */
  version: 1;
  sessionId: string;
  stepCount: number;
  /** ms since the epoch. */
  timestamp: number;
  /** Six hexadecimal digits. */
  random: string;
}

let tool: Tool | undefined;

function call(message: object): unknown {
  tool ??= new Tool("helix", JSON.stringify({ checkpointIds: {} }));
  return parse(tool.call(JSON.stringify(message)));
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
