import type {
  generateCheckpointId as generateContract,
  ParsedCheckpointId,
  parseCheckpointId as parseContract,
} from "../../../helix.js";
import { requireId } from "../../store/ids.js";
import { Tool } from "../../bridge/native.js";
import { parse } from "../../bridge/wire.js";
import { count } from "./options.js";

let tool: Tool | undefined;

/** Calls the engine's tool for checkpoint ids. */
function call(message: object): unknown {
  tool ??= new Tool("helix", JSON.stringify({ checkpointIds: {} }));
  return parse(tool.call(JSON.stringify(message)));
}

export const generateCheckpointId: typeof generateContract = (sessionId, stepCount, timestamp = Date.now()) =>
  call({
    generate: {
      sessionId: requireId(sessionId, "sessionId"),
      stepCount: count(stepCount, "stepCount"),
      timestamp: count(timestamp, "timestamp"),
    },
  }) as string;

export const parseCheckpointId: typeof parseContract = (id) => {
  if (typeof id !== "string" || !id.isWellFormed()) return null;
  return call({ parse: { id } }) as ParsedCheckpointId | null;
};
