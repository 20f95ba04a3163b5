/** The questions that runs ask people, as a framework's folder reads them. */

import type { NativeStore } from "../bridge/native.js";
import type { HeldLease } from "../store/lease.js";
import type { Context } from "./context.js";
import type { Key, Row } from "./wire.js";

/** An answer, as it is stored. */
export interface Given {
  value: unknown;
  by: string | null;
  at: number;
  /** Set if a program has answered itself. */
  program?: unknown;
}

/** A question of the newest checkpoint of a run. */
export interface Live {
  id: string;
  node: string | null;
  value: unknown;
  answered: Given | null;
  /** What the question asks, if its value alone does not say it. */
  says?: { tool: string | null; args: unknown; text: string; choices: string[] };
  /** The code that answers the question. Missing: the code of the framework. */
  code?: string;
}

/** A question that was answered. */
export type Kept = Live & { answered: Given };

/** What the inspector needs of a framework to show its questions and to store answers. */
export interface Questions {
  /** Reads the questions of the newest checkpoint: without an answer, or with one that the program has not taken yet. */
  live(context: Context, key: Key, row: Row): Promise<Live[]>;
  /** Reads the answers that were stored for a checkpoint. Missing: a framework whose answers cannot be stored. */
  kept?(context: Context, key: Key, row: Row): Promise<Kept[]>;
  /** Returns the code that answers a question in a program. `answer` is what approves it. */
  code?(run: string, id: string, answer: unknown): string;
  /** Returns what approves and what rejects a question, if its framework has a form of its own. `reason` is a text that the one who answers gives. */
  usual?: { approve: unknown; reject(reason: string | undefined): unknown };
  /** Stores an answer. `native` carries the lease of the run. */
  answer?(context: Context, native: NativeStore, key: Key, id: string, answer: Given, lease: HeldLease): Promise<void>;
}
