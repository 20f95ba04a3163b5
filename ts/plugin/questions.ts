/** The questions of runs, as a framework's folder reads them. */

import type { NativeStore } from "../bridge/native.js";
import type { HeldLease } from "../store/lease.js";
import type { Context } from "./context.js";
import type { Key, Row } from "./wire.js";

/** An answer, as it is stored. */
export interface Given {
  value: unknown;
  by: string | null;
  at: number;
  /** Set if the answer came from a program. */
  program?: unknown;
}

/** A question of the newest checkpoint of a run. */
export interface Live {
  id: string;
  node: string | null;
  value: unknown;
  answered: Given | null;
  /** The content of the question, if its value alone does not show it. */
  says?: { tool: string | null; args: unknown; text: string; choices: string[] };
  /** The code that answers the question. Default: the framework's usual code. */
  code?: string;
}

/** A question that was answered. */
export type Kept = Live & { answered: Given };

/** The functions of a framework that the inspector needs to show questions and to store answers. */
export interface Questions {
  /** Reads the open questions of the newest checkpoint, with any answer that the program has not taken yet. */
  live(context: Context, key: Key, row: Row): Promise<Live[]>;
  /** Reads the answers that were stored for a checkpoint. Missing if the framework stores no answers. */
  kept?(context: Context, key: Key, row: Row): Promise<Kept[]>;
  /** Returns the code that answers a question in a program. `answer` is an approval. */
  code?(run: string, id: string, answer: unknown): string;
  /** Returns the framework's own values for approval and rejection, if it has any. `reason` is a text from the user. */
  usual?: { approve: unknown; reject(reason: string | undefined): unknown };
  /** Stores an answer. `native` carries the lease of the run. */
  answer?(context: Context, native: NativeStore, key: Key, id: string, answer: Given, lease: HeldLease): Promise<void>;
}
