/**
 * The part of a framework's description that needs a store, for the inspector, the command line, the studio, copies and
 * drain checks. Each member has a default, so a contract gives only what differs. {@link Traits} is plain data.
 */

import type { Engine } from "../store/engine.js";
import type { Mark } from "../store/mark.js";
import type { ProgramPosition, ProgramShape } from "../store/compare-programs.js";
import type { Context } from "./context.js";
import type { Fork } from "./fork.js";
import type { Questions } from "./questions.js";
import type { ReadValues } from "./values.js";
import type { CheckpointInfo, CheckpointRef, StoredStatus, WriteInfo } from "./views.js";
import type { FoundCheckpoint, FoundWrite, Key, Row } from "./wire.js";

type MaybePromise<T> = Promise<T> | T;

export interface Plugin {
  /** Reads the values of a checkpoint. Default: each part is its own value. */
  values?: ReadValues;
  /** Reads the pending writes of a checkpoint. Default: there are none. */
  writes?(context: Context, row: Row, found: FoundCheckpoint): MaybePromise<WriteInfo[]>;
  /** Reads the nodes that run after a checkpoint. Null: the checkpoint does not contain them. Default: null. */
  next?(context: Context, row: Row): MaybePromise<string[] | null>;
  /** Reads a short reason for the status of a run, or null. `row` is its newest checkpoint. Default: null. */
  why?(context: Context, row: Row, status: StoredStatus): MaybePromise<string | null>;
  /** Returns the label of a checkpoint whose metadata only the framework's serializer can read. */
  label?(metadata: Record<string, unknown>): unknown;
  /** Returns the program that made a checkpoint, if only the metadata tells it. */
  maker?(metadata: Record<string, unknown>): { program: unknown; shape: unknown };
  /** Finds the names of the nodes that made a checkpoint, if {@link Traits.nodes} is `"next"`. */
  made?: {
    /** Returns the node of each task. `metadata` is the checkpoint's. */
    nodes(context: Context, row: Row, metadata: CheckpointInfo["meta"], parent: Row | undefined): string[];
    /** Returns true if only the parent of a checkpoint has all of the names. */
    needsParent(row: Row): boolean;
  };
  /** Returns true for a write that records a question of the run at this checkpoint. */
  isPause?(write: FoundWrite): boolean;
  /**
   * Reads the position of a run. `known` returns the program with a hash, or the new version if the store does not know
   * the hash. Null: the run was removed.
   */
  stand?(
    context: Context,
    row: Row,
    status: StoredStatus,
    known: (hash: string | undefined) => ProgramShape,
  ): Promise<Standing | null>;
  /** The questions that runs ask people. Default: none. */
  questions?: Questions;
  /** Stores a fork. Returns the fork's first checkpoint. Default: {@link Traits.insteadOfFork} applies. */
  fork?(plan: Fork): Promise<CheckpointRef>;
  /** Copies the answers of a run to an earlier copy of it, before the data after these answers is copied. */
  copyAnswers?(from: Engine, to: Engine, key: Key): Promise<void>;
}

/** A run, as its newest checkpoint describes it. */
export interface Standing {
  status: StoredStatus;
  mark: Pick<Mark, "program" | "shape">;
  /** Returns the position of the run. `from` is the program that made it, or the new version if it is unknown. */
  position(from: ProgramShape): ProgramPosition | Promise<ProgramPosition>;
}
