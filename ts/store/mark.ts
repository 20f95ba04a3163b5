/** A mark identifies the program that made a checkpoint. `recover` takes only the runs of its own program. */

import { crypto } from "../bridge/crypto.js";

/** The maker of a checkpoint. A checkpoint that was imported, or saved with another store, has no mark. */
export interface Mark {
  /** The name of the program. */
  program?: string | undefined;
  /** The hash of the program's shape, which the store knows: see `program.ts`. Missing if the store did not know it. */
  shape?: string | undefined;
  /** The process that made the checkpoint in a run without a lease: see `processStamp`. */
  by?: string | undefined;
  /** True if the command line or the studio made the checkpoint. */
  branch?: true;
  /** Fingerprints of the thread in the database that it was imported from. Only the newest imported checkpoint has them. */
  imported?: { checkpoints: string; orphans: string } | undefined;
  /** The nodes of a step, where only the mark can tell them. */
  nodes?: StepNodes | undefined;
}

/** What a checkpoint tells about the nodes of the step that made it, and of the step that follows it. */
export interface StepNodes {
  /** The nodes that edges have led to and that have run in this step. */
  ran: string[];
  /** True if `Send`s may have run more nodes in this step. The parent has their names. */
  sent?: true;
  /** The node of each task that runs next, if `Send`s are among them. */
  next?: string[];
}

/** Identifies the version of the program that made a run. A program without a name is identified by its shape. */
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
