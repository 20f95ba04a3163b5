/** Marks: what a checkpoint says about its maker. `recover` takes only the runs of its own program. */

import { createHash } from "node:crypto";

/** Who made a checkpoint. A checkpoint of an earlier release has no mark. */
export interface Mark {
  /** The name of the program. */
  program?: string;
  /** The shape of a graph without a name. */
  shape?: string;
  /** The process that made the checkpoint in a run without a lease: see `processStamp`. */
  by?: string | undefined;
  /** True if the command line or the studio made the checkpoint. */
  branch?: true;
}

/** Which program, or which graph without a name, made a run. */
export type Identity = Pick<Mark, "program" | "shape">;

export function encodeMark(mark: Mark): string | undefined {
  const text = JSON.stringify(mark);
  return text === "{}" ? undefined : text;
}

/** Reads a mark. A mark that cannot be read says nothing. */
export function decodeMark(text: string | undefined): Mark {
  try {
    const mark: unknown = JSON.parse(text ?? "{}");
    return typeof mark === "object" && mark !== null ? mark : {};
  } catch {
    return {};
  }
}

/** Returns the shape of a graph, which is made of the names of its parts. */
export function shapeOf(...parts: string[][]): string {
  const names = JSON.stringify(parts.map((part) => part.toSorted()));
  return createHash("sha256").update(names).digest("base64url").slice(0, 12);
}
