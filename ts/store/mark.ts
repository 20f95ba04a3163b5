/** A mark identifies the program that made a checkpoint. `recover` resumes only runs of its own program. */

import { crypto } from "../bridge/crypto.js";

/** The maker of a checkpoint. A checkpoint that was imported, or saved with another store, has no mark. */
export interface Mark {
  /** The name of the program. */
  program?: string | undefined;
  /** The hash of the program's shape: see `stored-programs.ts`. Missing if the store did not know the shape. */
  shape?: string | undefined;
  /** The process that made the checkpoint in a run without a lease: see `processStamp`. */
  by?: string | undefined;
  /** True if the command line or the studio made the checkpoint. */
  branch?: true;
  /** Fingerprints of the thread in its original database. Only the newest imported checkpoint has them. */
  imported?: { checkpoints: string; orphans: string } | undefined;
  /** The nodes of a step, if only the mark can record them. */
  nodes?: StepNodes | undefined;
}

/** The nodes of the step that made a checkpoint, and of the next step. */
export interface StepNodes {
  /** The nodes that ran in this step because of edges. */
  ran: string[];
  /** True if `Send`s may have run more nodes in this step. The parent has their names. */
  sent?: true;
  /** The node of each task that runs next, if some tasks come from `Send`s. */
  next?: string[];
}

/** Identifies the program of a run: by its name, or by its shape if it has no name. */
export type Identity = Pick<Mark, "program" | "shape">;

export function encodeMark(mark: Mark): string | undefined {
  const text = JSON.stringify(mark);
  return text === "{}" ? undefined : text;
}

/** Reads a mark. Returns an empty mark for a text that cannot be read. */
export function decodeMark(text: string | undefined): Mark {
  try {
    const mark: unknown = JSON.parse(text ?? "{}");
    return typeof mark === "object" && mark !== null ? mark : {};
  } catch {
    return {};
  }
}

/** Returns a short hash of a value that JSON can hold. */
export function hashOf(value: unknown): string {
  return crypto().createHash("sha256").update(JSON.stringify(value)).digest("base64url").slice(0, 12);
}
