/** AgentOS' calls on the engine: see `enum Call` in `src/contract/agentos/call.rs`. */

import type { CheckpointMetadata } from "../../index.js";
import { Contract, type PackedPart } from "../wire.js";

/** A checkpoint as the engine has it. */
interface Found extends CheckpointMetadata {
  parts: PackedPart[];
}

/** A run as the engine lists it. */
interface FoundRun {
  cursor: string;
  checkpoints: number;
  latest: CheckpointMetadata;
}

/** A listing in columns: they are read twice as fast as an object a row. */
type Columns = { [K in keyof CheckpointMetadata]: Array<CheckpointMetadata[K]> };

interface AgentosCalls {
  /** Two buffers: the state, the rest. */
  save(fields: {
    id: string;
    runId: string;
    graphId: string;
    nodeId: string;
    timestamp: number;
    hasMemorySnapshot: boolean;
    parent: string | undefined;
    savedAt: number;
    stateTag: string;
    restTag: string;
  }): null;
  /** `id` and `runId` are those of the copy. */
  fork(fields: { checkpointId: string; id: string; runId: string; timestamp: number; savedAt: number }): null;
  delete(fields: { checkpointId: string }): null;
  get(fields: { checkpointId: string }): Found | null;
  load(fields: { runId: string; nodeId: string | undefined }): Found | null;
  /** One of the ids may be missing. */
  list(fields: { graphId: string | undefined; runId: string | undefined; limit: number | undefined }): Columns;
  runs(fields: { graphIdPrefix: string; limit: number; before: number | undefined }): FoundRun[];
}

export const agentos = new Contract<AgentosCalls>("agentos");
