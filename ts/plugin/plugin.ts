/**
 * What a framework's folder says of the framework to everything outside of it: the inspector, the command line, the studio, copies and the
 * check of a drain. Each part has a default, so a small contract gives only what differs. {@link Traits} is the part that is plain data.
 */

import type { Engine } from "../store/engine.js";
import type { Mark } from "../store/mark.js";
import type { ProgramPosition, ProgramShape } from "../store/compare-programs.js";
import type { Context } from "./context.js";
import type { Fork } from "./fork.js";
import type { Questions } from "./questions.js";
import type { ReadValues } from "./values.js";
import type { CheckpointInfo, CheckpointRef, Status, WriteInfo } from "./views.js";
import type { FoundCheckpoint, FoundWrite, Key, Row } from "./wire.js";

type MaybePromise<T> = Promise<T> | T;

export interface Plugin {
  /** Reads the values of a checkpoint. Default: each part is its own value. */
  values?: ReadValues;
  /** Reads the pending writes of a checkpoint. Default: there are none. */
  writes?(context: Context, row: Row, found: FoundCheckpoint): MaybePromise<WriteInfo[]>;
  /** Reads the nodes that run next after a checkpoint. Null: the checkpoint does not contain them. Default: null. */
  next?(context: Context, row: Row): MaybePromise<string[] | null>;
  /** Reads the reason for the status of a run, in a few words. `row` is its newest checkpoint. Null: there is none. Default: null. */
  why?(context: Context, row: Row, status: Status): MaybePromise<string | null>;
  /** Returns the label of a checkpoint whose metadata only the framework's serializer can read. */
  label?(metadata: Record<string, unknown>): unknown;
  /** Returns the program that made a checkpoint, if only the metadata tells it. */
  maker?(metadata: Record<string, unknown>): { program: unknown; shape: unknown };
  /** How the names of the nodes that made a checkpoint are found, if {@link Traits.nodes} is `"next"`. */
  made?: {
    /** Returns the node of each task. `metadata` is that of the checkpoint. */
    nodes(context: Context, row: Row, metadata: CheckpointInfo["meta"], parent: Row | undefined): string[];
    /** Returns true if only the parent of a checkpoint has all of the names. */
    needsParent(row: Row): boolean;
  };
  /** Returns true for a write that says that a run has asked somebody at this checkpoint. */
  isPause?(write: FoundWrite): boolean;
  /**
   * Reads how a run stands. `known` returns the program with this hash, or the new version if the store does not know it. Null: the run was
   * removed.
   */
  stand?(
    context: Context,
    row: Row,
    status: Status,
    known: (hash: string | undefined) => ProgramShape,
  ): Promise<Standing | null>;
  /** What the runs ask people. Default: they ask nothing. */
  questions?: Questions;
  /** Stores a fork of a checkpoint. Returns the first checkpoint of the fork. Default: {@link Traits.insteadOfFork} says what to do. */
  fork?(plan: Fork): Promise<CheckpointRef>;
  /** Brings the answers of a run to an earlier copy of it, before what came after them is copied. */
  copyAnswers?(from: Engine, to: Engine, key: Key): Promise<void>;
}

/** A run, as its newest checkpoint describes it. */
export interface Standing {
  status: Status;
  mark: Pick<Mark, "program" | "shape">;
  /** Returns the position of the run. `from` is the program that made it, or this version if the program is not known. */
  position(from: ProgramShape): ProgramPosition | Promise<ProgramPosition>;
}
