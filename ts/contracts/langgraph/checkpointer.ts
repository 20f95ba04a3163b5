/** Other checkpointers of LangGraph, for imports and exports, through their public methods. */

import type {
  BaseCheckpointSaver,
  ChannelVersions,
  Checkpoint,
  CheckpointListOptions,
  CheckpointTuple,
  Config,
  Metadata,
  PendingWrite,
} from "@langchain/langgraph-checkpoint";
import { ForkpointError, readingArgument, show, typeError } from "../../bridge/errors.js";

/** The methods of a checkpointer that an import or an export needs. */
export interface Checkpointer extends Pick<BaseCheckpointSaver, "getTuple"> {
  list(config: Config, options?: CheckpointListOptions): AsyncGenerator<CheckpointTuple>;
  put(config: Config, checkpoint: Checkpoint, metadata: Metadata, newVersions: ChannelVersions): Promise<unknown>;
  putWrites(config: Config, writes: PendingWrite[], taskId: string, taskPath?: string): Promise<void>;
}

const METHODS = ["getTuple", "list", "put", "putWrites"] as const satisfies Array<keyof Checkpointer>;

/** Checks an argument that must be a checkpointer other than `self`. */
export function checkpointerOf(value: unknown, what: string, self: object): Checkpointer {
  const lacks = readingArgument(what, () =>
    METHODS.find((method) => typeof (value as Partial<Checkpointer> | null | undefined)?.[method] !== "function"),
  );
  if (lacks !== undefined) {
    throw typeError(`${what} must be a checkpointer of LangGraph with a method ${lacks}(), but is ${show(value)}`);
  }
  if (value === self) throw new ForkpointError("INVALID_ARGUMENT", `${what} is this saver itself: pass another one`);
  return value as Checkpointer;
}
